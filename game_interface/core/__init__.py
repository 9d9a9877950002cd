"""The Z-machine as a `Game`; no other package knows of the interpreter.

`jericho_interface.py` implements the protocol. `worker.py` runs the interpreter in a process of its own (`child.py`),
restricted by `sandbox.py`, and replaces it if it hangs or dies. `sanitize.py` checks every command. `saved_game.py`
has the format of a saved state.

- Reading a story: `zmachine.py` reads its memory, `grammar.py` its dictionary and grammar. `profile.py` says where it
  keeps player, location and score, which `discovery.py` finds by trying moves. `exploration.py` decides when.
- Reading a turn: `observe.py` turns memory into observations and changes. `counterfactual.py` separates the effects
  of an action from what happens by itself. `losses.py` detects losses, and `causes.py` finds their causes.
  `transcript.py` reads what only the text says. `snapshots.py` combines these for the game and its branches.
"""
