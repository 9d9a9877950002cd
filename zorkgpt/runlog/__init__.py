"""What happened in a run, as data."""
