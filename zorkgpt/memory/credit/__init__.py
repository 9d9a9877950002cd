"""Credit assignment: which memories the player followed, and whether they turned out to be right."""
