"""The commands of earlier episodes, and the best of them.

`trail.py` describes an episode as commands and states. `trail_file.py` reads the trails of all episodes from their
logs. `best_line.py` finds the commands that lead to the highest score, and `line_following.py` follows them.
"""
