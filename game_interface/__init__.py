"""The game: the `Game` protocol, its values, and the Z-machine that implements it."""
