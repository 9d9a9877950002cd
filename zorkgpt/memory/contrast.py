"""The public address of the word check: whether two texts say the same, more, or the opposite."""

from zorkgpt.memory.entailment.compare import Contrast, compare

__all__ = ["Contrast", "compare"]
