"""The prompt of the agent and the critic: sections in a fixed order, each with a token budget.

`view.py` composes the player's context. `prompt.py` puts the sections of `sections.py` in order. `navigation.py`
computes exits, routes and dangers from the map. `turns.py` shows recent turns, and summarizes older ones.
`prompt_section.py` fits items into a budget.
"""
