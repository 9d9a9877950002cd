"""What a story's parser understands, and which objects a command can refer to: frozen values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

_SHORT = {
    "north": "n",
    "south": "s",
    "east": "e",
    "west": "w",
    "northeast": "ne",
    "northwest": "nw",
    "southeast": "se",
    "southwest": "sw",
    "up": "u",
    "down": "d",
}
_OTHER_SPELLING = _SHORT | {short: direction for direction, short in _SHORT.items()}


def spelled_direction(word: str, is_known: Callable[[str], bool]) -> str:
    """Return a direction as the story's dictionary spells it; any other word as it is.

    Some dictionaries have only "ne", "nw", "se" and "sw".
    """
    other = _OTHER_SPELLING.get(word.lower())
    return other if other and not is_known(word) and is_known(other) else word


class TokenKind(StrEnum):
    """What a token of a grammar line matches."""

    WORD = "word"
    """One of certain words, usually prepositions."""
    NOUN = "noun"
    """The name of an object in scope."""
    HELD = "held"
    """The name of an object that must be held; the game does not take it implicitly."""
    IN_REACH = "in reach"
    """The name of an object that is held or can be taken: the game takes it implicitly."""
    PICKED_UP = "picked up"
    """The name of an object that the game tries to take first."""
    PERSON = "person"
    """The name of an animate object."""
    FREE = "free"
    """Any text, known to the parser or not."""


@dataclass(frozen=True, slots=True)
class GrammarToken:
    """One token of a grammar line."""

    kind: TokenKind
    words: frozenset[str] = frozenset()
    """The words that match; only for `TokenKind.WORD`."""
    attribute: int | None = None
    """The attribute of the things that are meant: the parser takes one with it where none is named; None: any."""


@dataclass(frozen=True, slots=True)
class ImpliedObject:
    """An object that a command may leave out: the parser takes one in scope that has this attribute."""

    kind: TokenKind
    attribute: int


@dataclass(frozen=True, slots=True)
class GrammarLine:
    """One syntax of a verb: the tokens that follow it."""

    tokens: tuple[GrammarToken, ...]
    action: int
    """The story's action number; the same for all synonyms."""
    implied: tuple[ImpliedObject, ...] = ()
    """Objects that this syntax does not name and that the parser looks for by itself."""


@dataclass(frozen=True, slots=True)
class Language:
    """The dictionary and grammar of one story's parser; words are truncated as in its dictionary."""

    word_length: int
    """How many Z-characters of a word the dictionary keeps: 6 or 9."""
    words: frozenset[str]
    verbs: Mapping[str, tuple[GrammarLine, ...] | None]
    """Verb → its grammar lines; None: they are not known."""
    names: Mapping[str, frozenset[int]]
    """Word → the objects that it names."""
    adjectives: frozenset[str] = frozenset()
    """Words that qualify a name without being one."""
    directions: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    buzzwords: frozenset[str] = frozenset()
    """Articles, conjunctions and pronouns."""
    rejects_unknown_words: bool = False
    """The parser refuses a command with a word that is not in the dictionary, wherever it stands."""
    infers_omitted: bool = False
    """The parser fills in a missing last noun if only one object fits."""

    def knows(self, word: str) -> bool:
        """Return whether the dictionary has a word."""
        return self.truncate(word) in self.words

    def truncate(self, word: str) -> str:
        """Return the word as the dictionary holds it.

        A letter takes one Z-character, other characters of the alphabet table two, everything else four.
        """
        left, kept = self.word_length, []
        for letter in word.lower():
            left -= 1 if "a" <= letter <= "z" else 2 if letter in "0123456789.,!?_#'\"/\\-:()" else 4
            if left < 0:
                break
            kept.append(letter)
        return "".join(kept)


@dataclass(frozen=True, slots=True)
class Scene:
    """The objects that a command can refer to now, by object number.

    It is a superset: an object that is not in scope cannot be referred to, one that is need not be visible.
    """

    held: frozenset[int]
    """Held by the player directly."""
    carried: frozenset[int]
    """Held, and everything inside what is held."""
    here: frozenset[int]
    """In this room, and not carried."""
    in_scope: frozenset[int]
    """Everything that can be referred to: carried, here, or present in every room."""
    words: frozenset[str] = frozenset()
    """Words that mean something in this room although they name no object."""
    attributes: Mapping[int, Mapping[str, bool]] = field(default_factory=dict)
    """Object → its attributes of known meaning, for everything carried or here."""
    set_attributes: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Object → the numbers of its attributes that are set, for everything in scope."""
