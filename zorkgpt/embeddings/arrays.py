"""NumPy, which everything that makes or compares vectors takes from here."""

try:
    import numpy as np
except ModuleNotFoundError as problem:
    raise ModuleNotFoundError(
        f"Vectors need {problem.name}, which is not installed: pip install 'zorkgpt[embeddings]'.", name=problem.name
    ) from None

__all__ = ["np"]
