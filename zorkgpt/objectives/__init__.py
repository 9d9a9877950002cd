"""Objectives: what the player pursues, and how to tell that it is reached.

`conditions.py` defines conditions that the game state can be checked for. `tracker.py` updates the objectives of an
episode after each turn, `finder.py` asks rules or a model for new ones, and `file.py` keeps those that outlive the
episode.
"""
