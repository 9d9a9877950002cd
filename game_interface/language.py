"""What a story's parser understands, and what is at hand for it to mean: plain frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Place(StrEnum):
    """What may stand at one place of a sentence."""

    WORD = "word"
    """One of certain words."""
    NOUN = "noun"
    """The name of something."""
    HELD = "held"
    """The name of something in hand; the game does not pick it up by itself."""
    IN_REACH = "in reach"
    """The name of something in hand, or of something that can be taken: the game picks it up by itself."""
    PICKED_UP = "picked up"
    """The name of something, which the game first picks up if it can."""
    PERSON = "person"
    """The name of somebody."""
    FREE = "free"
    """Anything, known to the parser or not."""


@dataclass(frozen=True, slots=True)
class Part:
    """One place of a sentence."""

    place: Place
    words: frozenset[str] = frozenset()
    """The words that may stand here; of `Place.WORD` only."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A thing that a sentence leaves out: the game takes one with this attribute for it."""

    place: Place
    attribute: int


@dataclass(frozen=True, slots=True)
class Form:
    """One way to go on after a verb."""

    parts: tuple[Part, ...]
    action: int
    """The story's own number of what is done; the same for all verbs that do it."""
    left_out: tuple["Guess", ...] = ()
    """Things that were not named, and that the game looks for by itself."""


@dataclass(frozen=True, slots=True)
class Language:
    """The words and sentences that one story's parser knows; the words are cut as its dictionary cuts them."""

    letters: int
    """How much of a word counts, in Z-characters: 6 or 9."""
    words: frozenset[str]
    verbs: Mapping[str, tuple[Form, ...] | None]
    """Every verb with all of its forms; None: they are not known."""
    names: Mapping[str, frozenset[int]]
    """A word → numbers of the objects that bear it as a name."""
    adjectives: frozenset[str] = frozenset()
    """Words that may stand before a name without being one."""
    directions: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    fillers: frozenset[str] = frozenset()
    """Words that stand for themselves: articles, conjunctions, pronouns."""
    every_word_counts: bool = False
    """A word that is in no dictionary spoils the sentence wherever it stands."""
    guesses: bool = False
    """What is left out at the end of a sentence the parser fills in, where only one thing fits."""

    def cut(self, word: str) -> str:
        """The word as the dictionary has it: letters take one Z-character, what else is printed two, the rest four."""
        left, kept = self.letters, []
        for letter in word.lower():
            left -= 1 if "a" <= letter <= "z" else 2 if letter in "0123456789.,!?_#'\"/\\-:()" else 4
            if left < 0:
                break
            kept.append(letter)
        return "".join(kept)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a sentence can be about at one moment, by object number.

    It errs on the side of more: what is not in it can't be meant, but what is in it need not be in sight.
    """

    held: frozenset[int]
    """In the player's hands, directly."""
    carried: frozenset[int]
    """Held, and all that is inside it."""
    here: frozenset[int]
    """In this room, and not carried."""
    near: frozenset[int]
    """All that may be meant: carried, here, or everywhere."""
    words: frozenset[str] = frozenset()
    """Words that this very place gives a meaning, beside the names of objects."""
    attributes: Mapping[int, Mapping[str, bool]] = field(default_factory=dict)
    """Of what is carried or here; only those whose meaning is known."""
    marks: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """The numbers of the attributes that are set, of all that is near."""
