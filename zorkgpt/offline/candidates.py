"""Candidate actions: the kinds of actions and their costs, and the words for them that the parser knows."""

import re
from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from game_interface.models import Item, Language, Scene, spelled_direction
from zorkgpt.directions import DIRECTIONS, canonical_direction
from zorkgpt.offline.grammar_tries import GrammarTry, analyzed


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


# These words refer to something mentioned before, or to the player.
_PRONOUNS = frozenset(
    ["it", "them", "him", "her", "me", "myself", "self", "you", "yourself", "all", "everything", "one"]
)


class Nouns:
    """Names of things that the parser of one story understands.

    Args:
        vocabulary: The words that the parser knows, truncated as in its dictionary; empty if unknown.
        language: The words for each thing; None if unknown.
    """

    def __init__(self, vocabulary: frozenset[str] = frozenset(), language: Language | None = None) -> None:
        self._vocabulary = vocabulary
        self.language = language
        self._named: dict[tuple[int, str], str | None] = {}
        self._analyzed: dict[str, GrammarTry] = {}
        self._words: dict[str, tuple[frozenset[str], frozenset[int]]] = {}
        """Text → its words, and the numbers of the things that an unambiguous word refers to."""
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

    def _name(self, item: Item) -> str | None:
        words = [word for word in words_of(item.name) if self.known(word)]
        if self.language is None or not self.language.names:
            # The words for each thing are unknown, so use the last known words of its name.
            return " ".join(words[-2:]) or None
        nouns = [at for at, word in enumerate(words) if item.num in self.numbers(word)]
        if not nouns:
            return None
        head = nouns[-1]
        # "Burned" is an adjective of a burned-out lantern, but "bag" and "coins" of a bag of coins are both nouns.
        adjectives = [word for word in words[:head] if self.language.truncate(word) in self.language.adjectives]
        if head and self._describes(words[head - 1], item):
            adjectives = words[head - 1 : head]
        return " ".join([*adjectives[-1:], words[head]])

    def analyzed(self, command: str) -> GrammarTry:
        """Return a command with its pattern and names, according to the story's grammar."""
        if command not in self._analyzed:
            self._analyzed[command] = analyzed(command, self.language)
        return self._analyzed[command]

    def mentioned(self, text: str, scene: Scene | None, beside: Iterable[Item]) -> Iterator[str]:
        """Yield words of a text for things in scope that are not in `beside`, such as scenery."""
        if self.language is None or scene is None:
            return
        if not self.language.names:
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
                and self.language.truncate(word) not in self._not_nouns
            ):
                listed |= numbers
                yield word

    def named_in(self, text: str, items: Iterable[Item]) -> Iterator[str]:
        """Yield the names of the things that a text mentions, by their last word or by an unambiguous word."""
        if text not in self._words:
            words = frozenset(words_of(text)) - _PRONOUNS
            unambiguous = frozenset(min(numbers) for word in words if len(numbers := self.numbers(word)) == 1)
            self._words[text] = words, unambiguous
        words, unambiguous = self._words[text]
        for item in items:
            name = self.name(item)
            if name and (item.num in unambiguous or name.split()[-1] in words):
                yield name

    def numbers(self, word: str) -> frozenset[int]:
        """Return the numbers of the things that a word refers to."""
        return self.language.names.get(self.language.truncate(word), frozenset()) if self.language else frozenset()

    def _describes(self, word: str, item: Item) -> bool:
        # The "of" in "set of keys" refers to the thing too.
        if word == "of":
            return False
        if self.language is not None and self.language.truncate(word) in self.language.adjectives:
            return True
        return item.num in self.numbers(word)


def _not_nouns(language: Language) -> frozenset[str]:
    """Return prepositions, directions and other words that are never used as nouns."""
    ways = frozenset[int]().union(*(language.names.get(language.truncate(way), ()) for way in DIRECTIONS))
    names = {word for word, numbers in language.names.items() if numbers & ways}
    return language.prepositions | language.buzzwords | names


class Tier(IntEnum):
    """The kinds of actions, the most promising first. See `COST`."""

    REWARD = 0
    """It scored or yielded something, according to a memory."""
    PREPARE = 1
    """It changed something, according to a memory. Other actions may need this."""
    GATHER = 2
    LIGHT = 3
    """Switching on a carried thing, in case of darkness."""
    OPEN = 4
    NAMED_EXIT = 5
    INSPECT = 6
    STEEP_EXIT = 7
    """Up, down, in or out, which texts often mention indirectly."""
    HANDLE = 8
    OTHER_EXIT = 9
    COMBINE = 10
    FIDDLE = 11
    ADVICE = 12
    """Suggested by a text of the game."""
    BARE_EXIT = 13
    """Any direction at a place whose text mentions no exit."""
    TOOL = 14
    """After a refusal, using a carried thing or saying a word that the refusal mentions."""
    GRAMMAR = 15
    """Any other command that the story's grammar accepts."""
    WAIT = 16
    """Waiting where something moves or changes by itself."""


COST = {
    Tier.REWARD: 0.0,
    # The same as a reward, so that memories of a place are used in the order in which they were learned. Later ones
    # often depend on earlier ones.
    Tier.PREPARE: 0.0,
    Tier.GATHER: 0.5,
    Tier.LIGHT: 0.5,
    Tier.ADVICE: 1.0,
    Tier.OPEN: 1.5,
    Tier.NAMED_EXIT: 2.0,
    Tier.BARE_EXIT: 5.0,
    Tier.STEEP_EXIT: 12.0,
    Tier.HANDLE: 8.0,
    Tier.INSPECT: 10.0,
    Tier.OTHER_EXIT: 22.0,
    Tier.COMBINE: 20.0,
    Tier.FIDDLE: 30.0,
    Tier.TOOL: 5.0,
    Tier.GRAMMAR: 75.0,
    Tier.WAIT: 5.0,
}
"""The cost of each kind of action, in steps."""


class Candidate(NamedTuple):
    """A normalized action and its kind."""

    tier: Tier
    action: str


WAIT = "wait"
STEEP = ("up", "down", "in", "out")


def exit_candidates(nouns: Nouns, named: Collection[str] | None) -> Iterator[Candidate]:
    """Yield the directions that the parser knows.

    Args:
        named: The directions in the text of the place. None if it mentions none, so any may be an exit.
    """
    for direction in DIRECTIONS:
        if nouns.known(spelled_direction(direction, nouns.known)):
            other = Tier.STEEP_EXIT if direction in STEEP else Tier.OTHER_EXIT
            if named is None:
                yield Candidate(Tier.BARE_EXIT, direction)
            else:
                yield Candidate(Tier.NAMED_EXIT if direction in named else other, direction)
