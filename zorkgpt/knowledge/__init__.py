"""The knowledge base: statements about the game as a whole, with their evidence, in a file that a person can edit.

Each line is a memory about `KNOWLEDGE`, which lessons revise (`lines.py`). `store.py` shows the memories in the file
(`file.py`) and records edits of it. `synthesis.py` asks what turns teach. `retrieval.py` selects the lines to show to a
player.
"""
