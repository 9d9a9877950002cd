"""What came of it when the player did what a memory speaks of."""
