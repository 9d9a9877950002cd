"""The word check: whether one text says the same as another, more, or the opposite, judged by its words.

`compare.py` compares two texts and `comparison.py` two memories. `lexicon.py` holds the English words and forms that
it knows.
"""
