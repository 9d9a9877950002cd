"""Adapters of the game and the memory for other frameworks, one module per framework.

`tools.py` offers the memory as functions for models; `mcp.py`, `openai_agents.py` and `pydantic_ai.py` build on it.
`text_game.py` is a `Game` that knows only text; `tales.py` builds on it.
"""
