"""The roles without a language model. They follow rules that hold for any game.

`explorer.py` is the player. On each turn, the first of the `behaviors.py` that has an action decides. Most of them look
for the cheapest untried action (`exploring.py`) among those that the places offer (`offers.py`). `observing.py` updates
the notes (`notes.py`) that they share. `experience.py` and `scoring_plan.py` summarize earlier episodes.

`memory_synthesizer.py`, `objectives.py`, `knowledge.py` and `extractor.py` are the other roles.
"""
