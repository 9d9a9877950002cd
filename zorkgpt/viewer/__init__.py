"""The page that shows a run: live, afterwards, and as it stood at any turn. It reads the run's files, nothing else."""
