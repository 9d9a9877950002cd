"""The knowledge base: statements about the game as a whole, with their evidence, in a file that a person can edit.

Each line is a memory about `KNOWLEDGE` (`lines.py`). `store.py` shows the memories in the file (`file.py`) and records
edits of it. `synthesis.py` asks what turns teach, and `revision.py` applies the lessons. `retrieval.py` selects the
lines to show to a player.
"""
