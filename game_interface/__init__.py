"""The game: the `Game` protocol, its values, and the Z-machine that implements it.

`game.py` defines what the rest of the code needs of a game engine, `models.py` its values.
`story.py` finds and checks story files. `core/` implements the protocol for Z-machine stories.
"""
