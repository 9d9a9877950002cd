"""The roles without a language model: rules that hold for any game, labeled as such wherever they are shown.

`explorer.py` is the player. On each turn, the first of the `behaviors.py` that has an action decides. Most of them look
for the cheapest action that is left to try (`exploring.py`) among those that the places offer (`offers.py`).
`observing.py` fills the notes of the episode (`notes.py`) that all of them share. `experience.py` and `scoring_plan.py`
tell what earlier episodes came to.

`memory_synthesizer.py`, `objectives.py`, `knowledge.py` and `extractor.py` are the other roles.
"""
