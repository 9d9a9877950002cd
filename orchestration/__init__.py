"""Puts the parts of a run together and plays it: turns in `turn`, episodes in `zork_orchestrator_v2`."""
