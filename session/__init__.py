"""The data of a run: settings, game state, the record of a turn, and the checkpoint.

`sections.py` defines every setting and `game_configuration.py` loads them. `history.py` defines `TurnRecord`, the one
record of a turn. `ground_truth.py` translates the game's facts for the memory. `checkpoint.py` defines what
a resumed episode needs.
"""
