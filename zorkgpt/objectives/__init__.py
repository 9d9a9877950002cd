"""Objectives: what the player pursues across turns and episodes, and how it is known that one is reached."""
