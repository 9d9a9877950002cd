"""Whether two texts say the same, more, or the opposite, by the words alone."""
