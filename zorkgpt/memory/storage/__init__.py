"""Stores of lasting memories: SQLite or PostgreSQL, and a Markdown file that shows the memories of a SQLite file.

`sql_store.py` implements a store, and `markdown.py` extends it by the file. `sqlite.py` and `postgres.py` are the two
databases. `addresses.py` distinguishes paths from addresses.

- Reading: `rows.py` reads the memories row by row, and `lasting.py` defines the filters.
- The file: `merging.py` compares an edited file with the record, and `file_messages.py` tells the user about the file.
- Format: `document.py` parses and renders the file, `section.py` the section of a location, `entry.py` one memory, and
  `escaping.py` their texts. `damage.py` distinguishes a damaged file from an edited one.
- Changes: `changes.py` defines them, `book.py` collects those of a transaction, and `versions.py` derives the next
  version of one memory. `tables.py` keeps the journal of changes and a model's answers in any database.
  `history.py` reads journal records and replays them, and finds the trials among them. `reverting.py` returns to an
  earlier position.
- Search: `words.py` indexes the words of memories in this process, in SQLite and on PostgreSQL. `sqlite_vectors.py` and
  `vector_table.py` keep vectors in SQLite and on PostgreSQL.
"""
