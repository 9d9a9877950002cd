"""Objectives: what the player pursues, and how to tell that it is reached.

`models.py` defines objectives and their conditions, which can be checked against the game state. `tracker.py` updates
the objectives of an episode after each turn, `search.py` looks for new ones with a `finder.py`, by rules or by a model,
and `file.py` keeps those that outlive the episode.
"""
