"""The Z-machine implementation of `Game`. No other package depends on the interpreter.

`jericho_interface.py` implements the protocol. `worker.py` runs the interpreter in a separate process (`child.py`),
restricted by `sandbox.py`, and replaces it if it hangs or dies. `sanitize.py` checks commands. `saved_game.py` defines
the format of saved states.

- Reading a story: `zmachine.py` reads its memory, `grammar.py` its dictionary and grammar. `profile.py` describes where
  it keeps player, location and score. `discovery.py` finds these by trying moves.
- Reading a turn: `observe.py` turns memory into observations and changes. `counterfactual.py` separates the effects
  of an action from independent changes. `causes.py` detects losses and finds their causes. `transcript.py` reads
  endings and sentences from the text. `snapshots.py` combines these, for the game and branches.
"""
