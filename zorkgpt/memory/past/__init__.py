"""What was remembered when, and why."""
