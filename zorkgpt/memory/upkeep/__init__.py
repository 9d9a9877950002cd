"""Upkeep of a whole memory file: audit against a fresh world, classification, import and export."""
