"""Prompt templates, one per question to a model, and `render.py`, which fills them."""
