"""The explored world: directions, movement, the map, and progress.

`graph.py` is the map, with routes. `map_file.py` saves it across episodes. `movement.py` classifies a turn as a
movement. `progress.py` detects loops and a lack of progress. `export.py` and `layout.py` draw the map.
"""
