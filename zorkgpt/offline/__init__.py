"""The roles without a language model. They follow rules that hold for any game.

`explorer.py` is the player. On each turn, the first of the `behaviors.py` that has an action decides, from what it sees
and what was recorded before (`view.py`). To explore, it takes the cheapest action among those that the places offer
(`offers.py`, `grammar_tries.py`), with the words of the story (`nouns.py`).

`memory_synthesizer.py`, `objectives.py`, `knowledge.py` and `extractor.py` are the other roles.
"""
