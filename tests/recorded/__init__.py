"""Recorded runs: fixed commands and scripted answers, with everything that they leave."""
