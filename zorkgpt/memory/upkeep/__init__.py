"""What is done to the whole file: held against a fresh world, marked, carried over."""
