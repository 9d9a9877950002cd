"""The explored world: directions, movement, the map, and progress.

`graph.py` is the map, with routes; `map_file.py` keeps it across episodes. `movement.py` classifies a turn as a
movement, `progress.py` detects loops and standstill, and `export.py` draws the map (`layout.py`).
"""
