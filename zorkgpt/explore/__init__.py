"""The commands of earlier episodes, and the best of them.

`trail.py` describes an episode as commands and states. `trails.py` reads the trails of all episodes from the
record. `best_line.py` finds the commands that lead to the highest score.
"""
