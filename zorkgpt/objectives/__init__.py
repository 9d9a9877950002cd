"""Objectives: the player's goals, with conditions that show when they are reached.

`models.py` defines objectives and conditions. `tracker.py` updates the objectives of an episode after each turn.
`search.py` finds new ones with a `finder.py`, by rules or by a model. `saved.py` remembers those that outlive the
episode.
"""
