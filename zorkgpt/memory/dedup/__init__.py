"""The same fact in other words: found, joined, kept apart, and taken back."""
