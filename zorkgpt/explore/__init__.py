"""The states that episodes have reached, and the replay of the commands that lead there.

`trail.py` describes an episode as commands and states. `archive.py` reads the trails of all episodes from their logs,
and groups their states into cells. `replay.py` replays the commands that lead to a cell. `best_line.py` finds the
commands that lead to the highest score, and `line_following.py` follows them.
"""
