"""Texts to vectors, by whatever is installed."""
