"""Evaluation: frozen protocols, ablations, and what the runs of both come to."""
