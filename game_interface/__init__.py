"""The Z-machine: what it shows, what it knows, and how to talk to it safely."""
