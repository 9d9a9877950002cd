"""Candidate actions: the kinds of actions and their costs, and the words for them that the parser knows."""

import re
from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from game_interface.models import Item, Language, Scene, spelled_direction
from zorkgpt.offline.grammar_tries import GrammarTry, analyzed
from zorkgpt.world.directions import DIRECTIONS, canonical_direction


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


# They refer to what was mentioned before, or to the player.
_PRONOUNS = frozenset(
    ["it", "them", "him", "her", "me", "myself", "self", "you", "yourself", "all", "everything", "one"]
)


class Nouns:
    """Names of things that the parser of one story understands.

    Args:
        vocabulary: words that the parser knows, truncated as in its dictionary; empty: not known.
        language: which words refer to which things; None: not known.
    """

    def __init__(self, vocabulary: frozenset[str] = frozenset(), language: Language | None = None) -> None:
        self._vocabulary = vocabulary
        self.language = language
        self._named: dict[tuple[int, str], str | None] = {}
        self._analyzed: dict[str, GrammarTry] = {}
        self._words: dict[str, tuple[frozenset[str], frozenset[int]]] = {}
        """Text → its words, and the numbers of the things that one of them names alone."""
        self._no_names = _no_names(language) if language else frozenset[str]()

    def known(self, word: str) -> bool:
        """Return whether the parser knows a word.

        Dictionaries keep the first 6 letters of a word in versions 1-3, the first 9 from version 4 on.
        """
        kept = self._vocabulary
        return not kept or word in kept or word[:9] in kept or word[:6] in kept

    def name(self, item: Item) -> str | None:
        """Return the last word that the parser takes for the thing, with the last one that describes it, if any."""
        known = item.num, item.name
        if known not in self._named:
            self._named[known] = self._name(item)
        return self._named[known]

    def _name(self, item: Item) -> str | None:
        words = [word for word in words_of(item.name) if self.known(word)]
        if self.language is None or not self.language.names:
            # Which words mean which thing is not known: those of its name that the parser knows.
            return " ".join(words[-2:]) or None
        naming = [at for at, word in enumerate(words) if item.num in self.numbers(word)]
        if not naming:
            return None
        head = naming[-1]
        # "burned" of a burned-out lantern; but of a bag of coins both words are nouns.
        before = [word for word in words[:head] if self.language.truncate(word) in self.language.adjectives]
        if head and self._describes(words[head - 1], item):
            before = words[head - 1 : head]
        return " ".join([*before[-1:], words[head]])

    def analyzed(self, command: str) -> GrammarTry:
        """Return a command with its pattern and names, as far as the words of the story's grammar tell them apart."""
        if command not in self._analyzed:
            self._analyzed[command] = analyzed(command, self.language)
        return self._analyzed[command]

    def mentioned(self, text: str, scene: Scene | None, beside: Iterable[Item]) -> Iterator[str]:
        """Yield words of a text that refer to other things at hand than these: scenery, parts of the place."""
        if self.language is None or scene is None:
            return
        if not self.language.names:
            # Which words mean which things is not known.
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
                and self.language.truncate(word) not in self._no_names
            ):
                listed |= numbers
                yield word

    def named_in(self, text: str, items: Iterable[Item]) -> Iterator[str]:
        """Yield the names of the things that a text names, by their last word or by a word that is theirs alone."""
        if text not in self._words:
            words = frozenset(words_of(text)) - _PRONOUNS
            own = frozenset(min(numbers) for word in words if len(numbers := self.numbers(word)) == 1)
            self._words[text] = words, own
        words, own = self._words[text]
        for item in items:
            name = self.name(item)
            if name and (item.num in own or name.split()[-1] in words):
                yield name

    def numbers(self, word: str) -> frozenset[int]:
        """Return the numbers of the things that a word refers to."""
        return self.language.names.get(self.language.truncate(word), frozenset()) if self.language else frozenset()

    def _describes(self, word: str, item: Item) -> bool:
        # The "of" of a set of keys refers to it too.
        if word == "of":
            return False
        if self.language is not None and self.language.truncate(word) in self.language.adjectives:
            return True
        return item.num in self.numbers(word)


def _no_names(language: Language) -> frozenset[str]:
    """Return the words that name no thing, whatever else they mean: prepositions, directions and the like."""
    ways = frozenset[int]().union(*(language.names.get(language.truncate(way), ()) for way in DIRECTIONS))
    names = {word for word, numbers in language.names.items() if numbers & ways}
    return language.prepositions | language.buzzwords | names


class Tier(IntEnum):
    """The kinds of actions, the most promising first; see `COST`."""

    REWARD = 0
    """A memory says that it scored or yielded something."""
    PREPARE = 1
    """A memory says that it changed something, which other actions may need."""
    GATHER = 2
    LIGHT = 3
    """Switching on a carried thing, in case of darkness."""
    OPEN = 4
    NAMED_EXIT = 5
    INSPECT = 6
    STEEP_EXIT = 7
    """Up, down, in or out, which texts describe in many ways."""
    HANDLE = 8
    OTHER_EXIT = 9
    COMBINE = 10
    FIDDLE = 11
    ADVICE = 12
    """What a text of the game suggests."""
    BARE_EXIT = 13
    """Any direction at a place whose text names no exit."""
    TOOL = 14
    """Using on what refused an action what the refusal names: a thing that is carried, a word to be said."""
    GRAMMAR = 15
    """Any other command that the story's own grammar accepts."""


COST = {
    Tier.REWARD: 0.0,
    # As good as a reward: among the memories of a place the order of learning decides, and what came first is often
    # needed for the rest.
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
}
"""The cost of each kind of action, in steps."""


class Candidate(NamedTuple):
    """A normalized action and its kind."""

    tier: Tier
    action: str


STEEP = ("up", "down", "in", "out")


def exit_candidates(nouns: Nouns, named: Collection[str] | None) -> Iterator[Candidate]:
    """Yield the directions that the parser knows.

    Args:
        named: those that the text of the place names; None: it names none, so that any may be an exit.
    """
    for direction in DIRECTIONS:
        if nouns.known(spelled_direction(direction, nouns.known)):
            other = Tier.STEEP_EXIT if direction in STEEP else Tier.OTHER_EXIT
            if named is None:
                yield Candidate(Tier.BARE_EXIT, direction)
            else:
                yield Candidate(Tier.NAMED_EXIT if direction in named else other, direction)
