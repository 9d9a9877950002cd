"""Upkeep of all memories: audit against a new world, import, export and erasure."""
