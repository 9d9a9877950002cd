"""Where a memory goes: into the file, or into the episode; and where the player has been."""
