"""The comparison of two memories: how their texts relate, unless their titles name different facts."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from zorkgpt.memory.entailment import lexicon
from zorkgpt.memory.entailment.compare import Contrast, compare, is_plainly_open, kind_of, only_in, relation_of
from zorkgpt.memory.entailment.lexicon import forms_of
from zorkgpt.memory.entailment.text import read
from zorkgpt.memory.models import Memory
from zorkgpt.text import normalized_action

# In a title these say nothing that the text does not.
_SMALL = (
    lexicon.FUNCTION_WORDS
    - lexicon.NEGATIONS
    - lexicon.EXCEPTIONS
    - lexicon.DIRECTIONS
    - lexicon.ORDER
    - lexicon.QUANTIFIERS
)


_LONGEST = 4000
"""Characters. Who keeps longer texts, such as whole pages, waits for no comparison of them word by word."""
# A negation on one side only, in texts that share nearly all other words.
_NEARLY_ALL = 6


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a new memory relates to one that is kept."""

    known: Memory
    cosine: float | None
    """None: there are no vectors."""
    relation: Literal["same", "adds", "conflict", "unsure", "distinct"]
    reason: str
    by: Literal["words", "model"] = "words"

    def describe(self) -> str:
        """Return the reason with the evidence, for the history."""
        near = "no vectors" if self.cosine is None else f"cosine {self.cosine:.2f}"
        return f"{self.reason} ({near}, by the {self.by})"


_SAID = {"same": "says the same", "conflict": "says the contrary"}


def compared(known: Memory, new: Memory, cosine: float | None) -> Comparison:
    """Compare two memories by their words. The same text about different actions is never the same fact."""
    contrast = _contrast_of_long(known.text, new.text) or compare(known.text, new.text)
    if contrast.relation != "unsure" and _actions_differ(known, new):
        return Comparison(known, cosine, "unsure", f"the actions differ: {known.action}, {new.action}")
    other = titles_differ((known.title, new.title), (known.text, new.text)) if contrast.relation != "unsure" else []
    if other:
        return Comparison(known, cosine, "unsure", f"the titles differ in: {', '.join(other)}")
    reason = "; ".join(contrast.reasons)
    if contrast.relation in _SAID:
        reason = _SAID[contrast.relation] + (f": {reason}" if reason else "")
    return Comparison(known, cosine, contrast.relation, reason)


def is_open(known: Memory, new: Memory) -> bool:
    """Return whether `compared` would say "unsure", which it takes longer to say."""
    if is_plainly_open(known.text, new.text) or _actions_differ(known, new):
        return True
    return _is_open(known.title, known.text, new.title, new.text)


def _actions_differ(known: Memory, new: Memory) -> bool:
    return bool(known.action and new.action) and normalized_action(known.action) != normalized_action(new.action)


# At the end of each episode all of a place are compared with one another, and few of them are new.
@lru_cache(maxsize=1 << 15)
def _is_open(title: str, text: str, new_title: str, new_text: str) -> bool:
    long = _contrast_of_long(text, new_text)
    relation = relation_of(text, new_text) if long is None else long.relation
    return relation == "unsure" or bool(titles_differ((title, new_title), (text, new_text)))


def _contrast_of_long(older: str, newer: str) -> Contrast | None:
    """Return how two texts relate of which one is very long, by whether they are the very same; None: neither is."""
    if max(len(older), len(newer)) <= _LONGEST:
        return None
    return Contrast("same") if older.strip() == newer.strip() else Contrast("unsure", ("too long to be compared",))


def titles_differ(titles: tuple[str, str], texts: tuple[str, str]) -> list[str]:
    """Return the words by which two titles name different facts; none if both may head the same fact.

    Where a text says what its title says, the titles differ if each has something of its own, as in "brass key" and
    "rusty key". Where it does not ("go north": "There is no way."), and of what stands in quotes, every word counts.
    """
    said = {word for text in texts for word in read(text[:_LONGEST]).words}
    headings = [read(title[:_LONGEST]) for title in titles]
    words = [list(dict.fromkeys(heading.words)) for heading in headings]
    quoted = {word for title in headings for word, literal in zip(title.words, title.literal, strict=True) if literal}
    alone = [
        [word for word in mine if word not in theirs and word not in _SMALL and not _is_said(word, said)]
        for mine, theirs in (words, words[::-1])
    ]
    if all(_is_heading(mine, said) for mine in words) and quoted.isdisjoint((*alone[0], *alone[1])):
        kinds = [{kind_of(word) == "words" for word in mine} for mine in alone]
        if not kinds[0] & kinds[1]:
            return []
    return [*alone[0], *alone[1]]


def _is_heading(title: list[str], said: set[str]) -> bool:
    meaning = [word for word in title if word not in _SMALL]
    return 2 * sum(_is_said(word, said) for word in meaning) >= len(meaning)


def share_a_subject(one: Memory, other: Memory) -> bool:
    """Return whether any word with a meaning of its own stands in both."""
    first, second = (
        {word for text in (memory.title, memory.text) for word in read(text[:_LONGEST]).words} - lexicon.FUNCTION_WORDS
        for memory in (one, other)
    )
    return any(_is_said(word, second) for word in first)


def _is_said(word: str, said: set[str]) -> bool:
    return word in said or any(forms_of(word, other) for other in said)


def is_worth_asking(older: str, newer: str) -> bool:
    """Return whether a model is to be asked about a pair that the words leave open.

    Not where the difference is plainly one of fact: other numbers, opposites, one negation, one direction.

    A model that is right on 98 of 100 of the pairs that differ is wrong on those too, so they are not left to it.
    """
    if _contrast_of_long(older, newer) is not None:
        return False
    first, second = read(older), read(newer)
    lost, new = only_in(first, second), only_in(second, first)
    kinds = [{kind_of(word) for word in words} for words in (lost, new)]
    if all("number" in some for some in kinds):
        return False
    if any(frozenset((one, other)) in lexicon.OPPOSITES for one in lost for other in new):
        return False
    if len(lost) <= 1 and len(new) <= 1 and "words" not in kinds[0] | kinds[1]:
        return not lost and not new
    one_denies = ("negation" in kinds[0]) != ("negation" in kinds[1])
    return not (one_denies and len(lost) + len(new) <= _NEARLY_ALL)
