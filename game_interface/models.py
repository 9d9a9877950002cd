"""The values that a game reports: states, transitions, and what its parser understands. All are frozen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from zorkgpt.memory.losses import Loss
from zorkgpt.memory.objects import AttributeChange, ObjectMove
from zorkgpt.text import SHORT_DIRECTIONS


@dataclass(frozen=True, slots=True)
class Location:
    """A room, known by its object number; its name is for people."""

    num: int
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """An object."""

    num: int
    name: str
    parent: int = 0
    """Object number of its holder: the player, a container, the room; 0 if none or unknown."""


@dataclass(frozen=True, slots=True)
class Door:
    """A door of the room, which may lie between it and another one."""

    num: int
    name: str
    is_open: bool


class InputMode(StrEnum):
    """What a story reads instead of a command."""

    KEY = "key"
    """One of several keys, such as those of a menu."""
    PAUSE = "pause"
    """Any key: they all do the same."""
    LINE = "line"
    """A line of text: a name, a number, yes or no."""


@dataclass(frozen=True, slots=True)
class Question:
    """A place in a story where it reads no command."""

    mode: InputMode
    text: str
    """The question as printed; "" if it can't be told apart from the rest of the text."""
    way_back: tuple[str, ...] = ()
    """Inputs, one a turn, that lead back to commands, as tried on a saved state. () if none were found."""
    final: bool = False
    """The game is over: by trial, the answers begin the story again or stop it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of the game. None means that the story does not tell."""

    location: Location | None
    """The room, also if the player is in a vehicle or in the dark."""
    inventory: tuple[Item, ...] | None
    """What the player holds directly."""
    carried: tuple[Item, ...] | None
    """What is held and everything inside it, except in closed containers."""
    visible: tuple[Item, ...] | None
    """In the room, in open or transparent containers and on supporters there, as far as the printed text has named it;
    never what the player holds."""
    score: int | None
    moves: int | None
    vehicle: Location | None = None
    dark: bool = False
    """It is too dark to see; False also if the story does not tell."""
    creatures: tuple[Item, ...] | None = None
    """The visible objects that are alive; None if unknown."""
    circumstances: str = ""
    """A digest of what decides, beside the location, whether an action works: what is carried, darkness, the vehicle,
    and which things at hand are open, locked or switched on."""
    doors: tuple[Door, ...] = ()
    """The doors of the room that the printed text has named; () also if the story does not tell which things are."""
    question: Question | None = None
    """What the story reads instead of a command. None if it reads a command, or this is unknown."""

    @property
    def location_id(self) -> int | None:
        """The number of the room. None if unknown."""
        return self.location.num if self.location else None

    @property
    def location_name(self) -> str:
        """The name of the room. "" if unknown."""
        return self.location.name if self.location else ""

    @property
    def at_hand(self) -> tuple[Item, ...]:
        """What is visible, then what is carried. Empty if unknown."""
        return (*(self.visible or ()), *(self.carried or ()))


@dataclass(frozen=True, slots=True)
class Transition:
    """What one command did: the states before and after, and the changes between them."""

    before: Observation
    action: str
    """The command as the player gave it."""
    response: str
    after: Observation
    moved: tuple[ObjectMove, ...] = ()
    """Objects that changed parent, except the player and what is in closed containers."""
    changed: tuple[AttributeChange, ...] = ()
    """Attributes that were set or cleared, except the player's own and the story's bookkeeping (`visited`)."""
    unnamed_change: bool = False
    """The action changed no object above, nor location, score or inventory, and yet it may have had an effect: another
    part of the story's memory differs, chance decided, or it could not be determined."""
    fell_short: bool = False
    """The verb means a change that the story would show, such as opening or taking, and no such thing changed. Where
    something else did, that is neither a success nor a failure of the action."""
    died: bool = False
    """The player died on this turn; the game may go on."""
    loss: Loss | None = None
    """What the player lost on this turn, with the cause by counterfactuals. None if nothing, or if unknown."""
    finished: bool = False
    """The game is over, in whatever way."""
    victory: bool = False
    refused: str | None = None
    """Why the command was not played; `response` holds the same text."""
    put_back: str | None = None
    """How a question that the player did not get out of was ended. None if none was; `response` holds the same text."""
    fault: str | None = None
    """How the engine failed on the command (hung, died); the game was put back to `before`."""

    @property
    def is_answer(self) -> bool:
        """Whether the text was read as an answer or a key press: it says nothing about the same text as a command."""
        return self.before.question is not None

    @property
    def points(self) -> int:
        """The change of the score. 0 if the story has none."""
        before, after = self.before.score, self.after.score
        return 0 if before is None or after is None else after - before


_OTHER_SPELLING = SHORT_DIRECTIONS | {direction: short for short, direction in SHORT_DIRECTIONS.items()}


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
    """The attribute of the things that are meant: the parser takes one with it where none is named; None for any."""


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
    """Verb → its grammar lines; None if unknown."""
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
        if word.isascii() and word.isalpha():
            return word[: self.word_length].lower()
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
    """Object → its attributes of known meaning, for everything in scope but the room and the player."""
    set_attributes: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Object → the numbers of its attributes that are set, for everything in scope."""
