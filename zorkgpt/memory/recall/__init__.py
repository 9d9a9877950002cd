"""What of a place's memories is told, and finding them by words."""
