"""Returning to states of earlier episodes by replaying their commands.

`archive.py` groups the states of all episodes into cells and chooses one, `replay.py` replays the commands that lead
to it, and `trail.py` and `trail_file.py` read episodes from their logs.
"""
