"""Objectives: the player's goals, with conditions that show when they are reached.

`models.py` defines objectives and conditions. `tracker.py` updates the objectives of an episode after each turn.
`finder.py` finds new ones, by the player's own lines or a model. `saved.py` remembers those that outlive the episode.
"""
