"""The page that shows a run: live, afterwards, and as it was at any turn. It reads only the run's files."""
