"""NumPy, imported in one place for all code that handles vectors."""

from zorkgpt.extras import importing

with importing("embeddings"):
    import numpy as np

__all__ = ["np"]
