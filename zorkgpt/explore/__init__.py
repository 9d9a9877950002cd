"""What episodes have reached, and replaying the commands that led there.

`trail.py` describes an episode as commands and states. `archive.py` reads the trails of all episodes from their logs,
and groups their states into cells. `replay.py` replays the commands that lead to one.
`best_line.py` keeps the commands that lead to the highest score.
"""
