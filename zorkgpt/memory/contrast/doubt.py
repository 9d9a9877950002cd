"""Which of the pairs that the contrast check leaves open are worth a question to a model."""

from zorkgpt.memory.contrast import words as classes
from zorkgpt.memory.contrast.decision import kind_of, only_in
from zorkgpt.memory.contrast.text import read

# A negation on one side only, in texts that share nearly all other words.
_NEARLY_ALL = 6


def is_worth_asking(older: str, newer: str) -> bool:
    """False where the difference is plainly one of fact: other numbers, opposites, one negation, one direction.

    A model that is right on 98 of 100 of the pairs that differ is wrong on those too, so they are not left to it.
    """
    first, second = read(older), read(newer)
    lost, new = only_in(first, second), only_in(second, first)
    kinds = [{kind_of(word) for word in words} for words in (lost, new)]
    if all("number" in some for some in kinds):
        return False
    if any(frozenset((one, other)) in classes.OPPOSITES for one in lost for other in new):
        return False
    if len(lost) <= 1 and len(new) <= 1 and "words" not in kinds[0] | kinds[1]:
        return not lost and not new
    one_denies = ("negation" in kinds[0]) != ("negation" in kinds[1])
    return not (one_denies and len(lost) + len(new) <= _NEARLY_ALL)
