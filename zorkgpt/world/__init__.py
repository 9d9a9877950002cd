"""The explored world: directions, movement, the map, and whether an episode makes progress in it."""
