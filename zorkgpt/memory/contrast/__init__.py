"""Whether two texts say the same, more, or the opposite, by the words alone."""

from zorkgpt.memory.contrast.decision import Contrast, compare

__all__ = ["Contrast", "compare"]
