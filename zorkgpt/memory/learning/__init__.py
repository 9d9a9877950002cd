"""What becomes of a turn: whether it is asked about, what is asked, and what of the answer is kept."""
