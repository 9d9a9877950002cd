"""A memory keyed by place that knows how long each fact stays true. It knows no particular game.

`agent_memory.py` is the interface, `manager.py` extends it for text adventures, `parts.py` builds what they use, and
`models.py` defines the values. A turn becomes memories in four steps:

1. `recording.py` records what is certain from the game state (visits, things, attempts and trials of memories) and
   makes a question.
2. `learning.py` decides whether to ask it (`asking.py`), asks a synthesizer (`synthesis.py`), and checks the answer
   against the ground truth.
3. `dedup/` compares the new memory with existing ones; the word check is in `entailment/`.
4. `writer.py` makes the change in a transaction of the store (`storage/`). All memories are one `MemoryBook`
   (`storage/book.py`), and every change of one is a `Change`, which the journal records.

`retrieval.py` selects what is shown at a place, and `search.py` searches all places. `credit.py` counts whether
memories were followed and worked. `upkeep/` audits, imports, exports and erases. `provenance.py` explains
where a memory came from.
"""
