"""Control flow: `turn.py` plays a turn, `zork_orchestrator_v2.py` an episode, `assembly.py` creates the real parts.

`players.py` lists the players and chooses one. `services.py` creates the parts that managers and players share.
"""
