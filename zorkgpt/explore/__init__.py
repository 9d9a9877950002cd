"""Returning to states that were reached before, by playing again the commands that led there."""
