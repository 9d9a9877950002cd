"""Stores of lasting memories: a Markdown file with a journal beside it, SQLite, or PostgreSQL.

`protocol.py` defines the interface of a store. `markdown.py` and `sql_store.py` implement it. `sqlite.py` and
`postgres.py` are the two databases. `addresses.py` distinguishes paths from addresses.

- Reading: `lasting.py` defines the queries and the filters. A file is read as a whole into a `Document`. A database is
  read row by row (`rows.py`).
- Format: `document.py` parses and renders the file, `section.py` the section of a location, `entry.py` one memory, and
  `escaping.py` their texts. `damage.py` distinguishes a damaged file from an edited one.
- Changes: `changes.py` defines them, `book.py` collects those of a transaction, and `versions.py` derives the next
  version of one memory. `tables.py` keeps the journal of changes, the trials and a model's answers in any database.
  `history.py` reads journal records and replays them. `restorer.py` undoes changes since a checkpoint.
- Search: `words.py` indexes the words of memories in this process, in SQLite and on PostgreSQL. `sqlite_vectors.py` and
  `vector_table.py` keep vectors in SQLite and on PostgreSQL.
"""
