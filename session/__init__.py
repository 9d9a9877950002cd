"""What a run is made of: its configuration, its state and its history."""
