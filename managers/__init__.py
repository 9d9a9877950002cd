"""Managers connect engines with the life of an episode: reset, turn, periodic update, status."""
