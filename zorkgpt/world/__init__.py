"""The explored world: directions, movement, the map, and progress.

`graph.py` is the map, with routes. `learning.py` learns it from turns, which `movement.py` classifies. `map_file.py`
keeps it across episodes, and `export.py` draws it (`layout.py`). `progress.py` detects loops and standstill.
"""
