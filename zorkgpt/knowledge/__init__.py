"""What is known beyond places and episodes: lines with their evidence, in a file that a person can edit."""
