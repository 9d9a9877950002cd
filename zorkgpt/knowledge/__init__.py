"""The knowledge base: statements about the game as a whole, with their evidence, in a file that a person can edit.

`updater.py` reviews turns and episodes (`synthesis.py`), and `revision.py` applies the answers. `document.py` and
`line.py` are the file format. `claims.py` checks lines in a fixed form against later turns. `retrieval.py` selects the
lines to show to a player.
"""
