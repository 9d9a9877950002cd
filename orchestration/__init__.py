"""Control flow: `turn.py` plays a turn, `zork_orchestrator_v2.py` an episode, `assembly.py` creates the real parts.

`player_choice.py` chooses a player, and `players.py` creates it. `services.py` creates the parts that managers and
players share.
"""
