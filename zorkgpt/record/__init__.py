"""The record of what happened: `experience.py` answers what actions led to."""
