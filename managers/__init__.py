"""Lifecycles over engines: reset, turn, periodic update, status."""
