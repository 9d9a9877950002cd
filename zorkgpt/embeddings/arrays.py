"""NumPy, imported here so that an error names the extra that installs it."""

from zorkgpt.extras import importing

with importing("embeddings"):
    import numpy as np

__all__ = ["np"]
