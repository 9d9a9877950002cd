"""The memory file: how it is written and read, changed and kept whole, and the history beside it."""
