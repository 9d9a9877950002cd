"""The `Game` protocol, its values, and an implementation for the Z-machine.

`game.py` defines the protocol and `models.py` its values. `story.py` finds and checks story files. `core/` implements
the protocol for Z-machine stories.
"""
