"""Stores of lasting memories: a Markdown file with a journal beside it, SQLite, or PostgreSQL.

`protocol.py` says what the memory needs of a store. `markdown.py` and `sql_store.py` implement it; `sqlite.py` and
`postgres.py` are the two databases. `addresses.py` tells paths from addresses.

- Format: `document.py` parses and renders the file, `section.py` the section of a location, `entry.py` one memory, and
  `escaping.py` their texts. `damage.py` tells a damaged file from an edit.
- Changes: `book.py` holds all memories and applies changes to them, and `versions.py` derives the next version of one
  memory. `tables.py` keeps the journal of changes, the trials and a model's judgments in any database. `history.py`
  reads journal records and replays them. `restore_point.py` undoes changes since a checkpoint.
- Search: `word_index.py` searches by words, and `vector_table.py` keeps vectors on PostgreSQL.
"""
