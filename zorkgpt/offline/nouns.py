"""The words for things that the parser of a story understands."""

import re
from collections.abc import Iterable, Iterator

from game_interface.models import Item, Language, Scene, spelled_direction
from zorkgpt.directions import DIRECTIONS, canonical_direction

# These words refer to something mentioned before, or to the player.
_PRONOUNS = frozenset(
    ["it", "them", "him", "her", "me", "myself", "self", "you", "yourself", "all", "everything", "one"]
)


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


class Nouns:
    """Names of things that the parser of one story understands.

    Args:
        vocabulary: The words that the parser knows, truncated as in its dictionary; empty if unknown.
        language: The words for each thing; None if unknown.
    """

    def __init__(self, vocabulary: frozenset[str] = frozenset(), language: Language | None = None) -> None:
        self._vocabulary = vocabulary
        self._language = language
        self._named: dict[tuple[int, str], str | None] = {}
        self.directions = tuple(way for way in DIRECTIONS if self.known(spelled_direction(way, self.known)))
        """The directions that the parser knows."""
        self.reading_is_examining = language is not None and _same_effect(language, "read", "examine")
        """Whether these verbs have the same effect in this story."""
        self._not_nouns = _not_nouns(language) if language else frozenset[str]()

    def known(self, word: str) -> bool:
        """Return whether the parser knows a word.

        Dictionaries keep the first 6 letters of a word in versions 1-3, the first 9 from version 4 on.
        """
        words = self._vocabulary
        return not words or word in words or word[:9] in words or word[:6] in words

    def name(self, item: Item) -> str | None:
        """Return the thing's last noun, with its last adjective if any; None if the parser knows no word for it."""
        key = item.num, item.name
        if key not in self._named:
            self._named[key] = self._name(item)
        return self._named[key]

    def names(self, items: Iterable[Item] | None) -> dict[str, int]:
        """Return the name of each thing that has one, with its number."""
        return {name: item.num for item in items or () if (name := self.name(item))}

    def mentioned(self, text: str, scene: Scene | None, beside: Iterable[Item]) -> Iterator[str]:
        """Yield words of a text for things in scope that are not in `beside`, such as scenery."""
        if self._language is None or scene is None:
            return
        if not self._language.names:
            # The words for each thing are unknown.
            words = (word for word in dict.fromkeys(words_of(text)) if word not in _PRONOUNS)
            yield from (word for word in words if canonical_direction(word) is None and word in self._vocabulary)
            return
        listed = {item.num for item in beside} | scene.carried
        for word in dict.fromkeys(words_of(text)):
            numbers = self.numbers(word) & scene.in_scope
            if (
                len(numbers) == 1
                and not numbers & listed
                and canonical_direction(word) is None
                and word not in _PRONOUNS
                and self._language.truncate(word) not in self._not_nouns
            ):
                listed |= numbers
                yield word

    def numbers(self, word: str) -> frozenset[int]:
        """Return the numbers of the things that a word refers to."""
        return self._language.names.get(self._language.truncate(word), frozenset()) if self._language else frozenset()

    def _name(self, item: Item) -> str | None:
        words = [word for word in words_of(item.name) if self.known(word)]
        if self._language is None or not self._language.names:
            # The words for each thing are unknown, so use the last known words of its name.
            return " ".join(words[-2:]) or None
        nouns = [at for at, word in enumerate(words) if item.num in self.numbers(word)]
        if not nouns:
            return None
        head = nouns[-1]
        # "Burned" is an adjective of a burned-out lantern, but "bag" and "coins" of a bag of coins are both nouns.
        adjectives = [word for word in words[:head] if self._language.truncate(word) in self._language.adjectives]
        if head and self._describes(words[head - 1], item):
            adjectives = words[head - 1 : head]
        return " ".join([*adjectives[-1:], words[head]])

    def _describes(self, word: str, item: Item) -> bool:
        # The "of" in "set of keys" refers to the thing too.
        if word == "of":
            return False
        if self._language is not None and self._language.truncate(word) in self._language.adjectives:
            return True
        return item.num in self.numbers(word)


def _same_effect(language: Language, verb: str, other: str) -> bool:
    """Return whether two verbs, each with one thing, are the same action."""
    actions = [
        {line.action for line in language.verbs.get(language.truncate(word)) or () if len(line.tokens) == 1}
        for word in (verb, other)
    ]
    return bool(actions[0]) and actions[0] == actions[1]


def _not_nouns(language: Language) -> frozenset[str]:
    """Return prepositions, directions and other words that are never used as nouns."""
    ways = frozenset[int]().union(*(language.names.get(language.truncate(way), ()) for way in DIRECTIONS))
    names = {word for word, numbers in language.names.items() if numbers & ways}
    return language.prepositions | language.buzzwords | names
