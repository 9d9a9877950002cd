"""One template per question."""
