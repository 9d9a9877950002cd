"""Managers connect engines with episodes and turns.

Each derives from `base.BaseManager`. After every turn, `orchestration/turn.py` passes the `TurnRecord` to all of them.
When an episode is resumed, they are restored from the checkpoint or process its turns again.
"""
