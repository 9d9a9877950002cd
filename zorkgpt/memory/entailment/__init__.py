"""The word check: whether one text says the same as another, more, or the opposite."""
