"""Evaluation: fixed protocols with and without parts of the memory, and the figures of both.

- What is played: `protocols.py`, `ablations.py`.
- Playing: `campaign.py` plays all runs with an executor (`executor.py`, or `ray_executor.py` on a cluster). `runs.py`
  plays one run, `generations.py` one with parallel episodes, whose results it merges.
- Measuring: `truth.py` compares memories with the object tree during play. Everything else reads the files of a run:
  `metrics.py` and `results.py`.
- Reporting: `report.py`; `storage.py` copies results to a remote store.
"""
