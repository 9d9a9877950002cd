"""NumPy, which everything that makes or compares vectors takes from here."""

from zorkgpt.extras import importing

with importing("embeddings"):
    import numpy as np

__all__ = ["np"]
