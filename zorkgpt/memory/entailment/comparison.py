"""The comparison of two memories: how their texts relate, unless their titles name different facts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zorkgpt.memory.entailment import lexicon
from zorkgpt.memory.entailment.compare import (
    LONGEST,
    forms_of,
    kind_of,
    may_relate,
    only_in,
    read,
    reasons_for,
    relation_of,
)
from zorkgpt.memory.models import Memory
from zorkgpt.text import normalized_action

# Words that don't distinguish titles.
_SMALL = (
    lexicon.FUNCTION_WORDS
    - lexicon.NEGATIONS
    - lexicon.EXCEPTIONS
    - lexicon.DIRECTIONS
    - lexicon.ORDER
    - lexicon.QUANTIFIERS
)
_NEARLY_ALL = 6
"""Texts that differ in at most this number of words share nearly all words."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a new memory relates to a stored one."""

    known: Memory
    cosine: float | None
    """None without vectors."""
    relation: Literal["same", "adds", "conflict", "unsure", "distinct"]
    reason: str
    by: Literal["words", "model"] = "words"

    @property
    def merges(self) -> bool:
        """Whether the new memory says what the stored one says, or more."""
        return self.relation in ("same", "adds")

    def describe(self) -> str:
        """Return the reason with the evidence, for the history."""
        near = "no vectors" if self.cosine is None else f"cosine {self.cosine:.2f}"
        return f"{self.reason} ({near}, by the {self.by})"


ComparisonsByWords = Mapping[tuple[str, str], Comparison]
"""The judge's comparisons with one new memory, by title and text of the stored one."""

_IN_WORDS = {"same": "says the same", "conflict": "says the contrary: ", "adds": ""}


def compared(known: Memory, new: Memory, cosine: float | None = None) -> Comparison:
    """Compare two memories by their words. Texts about different actions are never the same fact."""
    if known.action and new.action and actions_differ(known, new):
        return Comparison(known, cosine, "unsure", f"the actions differ: {known.action}, {new.action}")
    if max(len(known.text), len(new.text)) > LONGEST:
        if known.text.strip() == new.text.strip():
            return Comparison(known, cosine, "same", _IN_WORDS["same"])
        return Comparison(known, cosine, "unsure", "too long to be compared")
    relation = relation_of(known.text, new.text)
    # Most pairs are unsure, and nobody reads why.
    if relation == "unsure":
        return Comparison(known, cosine, "unsure", "")
    if words := titles_differ((known.title, new.title), (known.text, new.text)):
        return Comparison(known, cosine, "unsure", f"the titles differ in: {', '.join(words)}")
    reasons = reasons_for(relation, known.text, new.text)
    return Comparison(known, cosine, relation, _IN_WORDS[relation] + "; ".join(reasons))


def related(known: Sequence[Memory], new: Memory) -> list[Memory]:
    """Return the memories that the word check can relate to a new one. `compared` leaves the others unsure."""
    if len(new.text) > LONGEST:
        return list(known)
    may_say_the_same = may_relate(new.text)
    return [memory for memory in known if len(memory.text) > LONGEST or may_say_the_same(memory.text)]


def words_of(memory: Memory) -> tuple[str, str]:
    """Return the key of a memory in `ComparisonsByWords`."""
    return memory.title, memory.text


def with_verdicts(comparisons: Iterable[Comparison], verdicts: ComparisonsByWords) -> list[Comparison]:
    """Return the comparisons, with those of the judge in place of "unsure" ones."""
    return [
        replace(verdicts[words], known=each.known)
        if each.relation == "unsure" and (words := words_of(each.known)) in verdicts
        else each
        for each in comparisons
    ]


def actions_differ(known: Memory, new: Memory) -> bool:
    """Return whether the memories are about different actions. False if one of them has no action."""
    return bool(known.action and new.action) and normalized_action(known.action) != normalized_action(new.action)


def titles_differ(titles: tuple[str, str], texts: tuple[str, str]) -> list[str]:
    """Return the words by which two titles name different facts. Empty if both can be titles of the same fact.

    If the text repeats its title, the titles differ only if each has words of the same kind that the other lacks, like
    "brass key" and "rusty key". Otherwise ("go north": "There is no way."), and for quoted words, every word counts.
    """
    text_words = {word for text in texts for word in read(text[:LONGEST]).words}
    headings = [read(title[:LONGEST]) for title in titles]
    words = [list(dict.fromkeys(heading.words)) for heading in headings]
    quoted = {word for title in headings for word, literal in zip(title.words, title.literal, strict=True) if literal}
    unique = [
        [word for word in mine if word not in theirs and word not in _SMALL and not _occurs(word, text_words)]
        for mine, theirs in (words, words[::-1])
    ]
    if all(_is_heading(mine, text_words) for mine in words) and quoted.isdisjoint((*unique[0], *unique[1])):
        kinds = [{kind_of(word) == "words" for word in mine} for mine in unique]
        if not kinds[0] & kinds[1]:
            return []
    return [*unique[0], *unique[1]]


def _is_heading(title: list[str], text_words: set[str]) -> bool:
    significant = [word for word in title if word not in _SMALL]
    return 2 * sum(_occurs(word, text_words) for word in significant) >= len(significant)


def share_a_subject(one: Memory, other: Memory) -> bool:
    """Return whether the memories share any word except function words."""
    first, second = (
        {word for text in (memory.title, memory.text) for word in read(text[:LONGEST]).words} - lexicon.FUNCTION_WORDS
        for memory in (one, other)
    )
    return any(_occurs(word, second) for word in first)


def _occurs(word: str, words: set[str]) -> bool:
    """Return whether a word, or another form of the verb, is among these words."""
    return word in words or any(forms_of(word, other) for other in words)


def is_worth_asking(older: str, newer: str) -> bool:
    """Return whether a model should judge a pair that the word check leaves unsure.

    Not if the difference is clearly one of fact: other numbers, opposites, one negation or one direction. Even a model
    that is right about 98% of different pairs would be wrong about some of these.
    """
    if max(len(older), len(newer)) > LONGEST:
        return False
    first, second = read(older), read(newer)
    lost, new = only_in(first, second), only_in(second, first)
    kinds = [{kind_of(word) for word in words} for words in (lost, new)]
    if all("number" in kinds_of_text for kinds_of_text in kinds):
        return False
    if any(frozenset((one, other)) in lexicon.OPPOSITES for one in lost for other in new):
        return False
    if len(lost) <= 1 and len(new) <= 1 and "words" not in kinds[0] | kinds[1]:
        return not lost and not new
    one_denies = ("negation" in kinds[0]) != ("negation" in kinds[1])
    return not (one_denies and len(lost) + len(new) <= _NEARLY_ALL)
