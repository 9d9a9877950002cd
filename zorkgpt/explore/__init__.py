"""Returning to states of earlier episodes by replaying their commands.

`trail.py` describes an episode as commands and states. `archive.py` reads the trails of all episodes from their logs,
groups their states into cells and chooses one. `replay.py` replays the commands that lead to it.
`best_line.py` keeps the commands that lead to the highest score.
"""
