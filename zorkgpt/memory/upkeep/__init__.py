"""Upkeep of all memories: audit against a new world, classification, import, export and erasure."""
