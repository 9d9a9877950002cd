"""Deduplication: recognize the same fact in other words, and contradictions.

`deduplicator.py` compares a new memory with those of its place by vectors (`embedding_index.py`), by words and by a
model (`judge.py`). `decision.py` decides what to do with it. `consolidation.py` merges duplicates in the whole file
and reverts merges.
"""
