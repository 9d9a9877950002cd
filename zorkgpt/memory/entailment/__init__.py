"""The word check: decides from the words of two texts whether one repeats, extends or contradicts the other.

`compare.py` compares two texts, `comparison.py` two memories. `lexicon.py` lists the English words it knows.
"""
