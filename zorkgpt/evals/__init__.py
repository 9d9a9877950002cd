"""Evaluation: fixed protocols, played with and without parts of the memory, and their results.

- Definition: `protocols.py`, `ablations.py`.
- Play: `executor.py` plays all runs in processes of this machine, `ray_executor.py` on a cluster. `runs.py` plays one
  run.
- Measurement: `truth.py` compares memories with the object tree during play. `metrics.py` and `results.py` read the
  files of a run.
- Report: `report.py` writes the report, and `storage.py` copies results to a remote store.
"""
