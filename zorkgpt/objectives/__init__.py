"""Objectives: the player's goals, with conditions that show when they are reached.

`models.py` defines objectives and conditions. `tracker.py` updates the objectives of an episode after each turn.
`finder.py` asks a model for new ones. `saved.py` remembers those that outlive the episode.
"""
