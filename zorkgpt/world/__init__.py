"""The world as it was walked: directions, movement, the map."""
