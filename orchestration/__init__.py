"""The order of things: one turn, one episode, one run."""
