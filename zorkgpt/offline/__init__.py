"""The roles without a language model: rules that hold for any game, labeled as such wherever they are shown.

`explorer.py` is the player: it follows `scoring_plan.py`, then tries `candidates.py` in the order of their cost.
`memory_synthesizer.py`, `objectives.py`, `knowledge.py` and `extractor.py` are the other roles.
"""
