"""The values of the `Game` protocol: states, transitions and the parser's language. All are frozen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from zorkgpt.memory.losses import Loss
from zorkgpt.memory.objects import AttributeChange, ObjectMove
from zorkgpt.text import SHORT_DIRECTIONS


@dataclass(frozen=True, slots=True)
class Location:
    """A room. The object number identifies it, and the name is for display."""

    num: int
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """An object."""

    num: int
    name: str
    parent: int = 0
    """Object number of its holder: the player, a container or the room. 0 if none or unknown."""


@dataclass(frozen=True, slots=True)
class Door:
    """A door of the room."""

    num: int
    name: str
    is_open: bool


class InputMode(StrEnum):
    """The kind of input that a story reads instead of a command."""

    KEY = "key"
    """One of several keys, as in a menu."""
    PAUSE = "pause"
    """Any key."""
    LINE = "line"
    """A line of text, such as a name, a number, or yes or no."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a story, which reads an answer instead of a command."""

    mode: InputMode
    text: str
    """The question as printed. "" if it can't be separated from the rest of the text."""
    way_back: tuple[str, ...] = ()
    """Inputs, one per turn, that lead back to commands, as tested on a saved state. () if none were found."""
    final: bool = False
    """The game is over: the tested answers restart or stop the story."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of the game. None means unknown."""

    location: Location | None
    """The room, even if the player is in a vehicle or in the dark."""
    inventory: tuple[Item, ...] | None
    """The objects that the player holds directly."""
    carried: tuple[Item, ...] | None
    """The held objects and their contents, except in closed containers."""
    visible: tuple[Item, ...] | None
    """The objects in the room, in its open or transparent containers and on its supporters, if the printed text has
    named them. Held objects are not included."""
    score: int | None
    moves: int | None
    vehicle: Location | None = None
    dark: bool = False
    """Whether it is too dark to see. False if unknown."""
    creatures: tuple[Item, ...] | None = None
    """The visible objects that are alive. None if unknown."""
    circumstances: str = ""
    """A digest of the state that affects whether an action works in this room: carried things, darkness, the vehicle,
    and which visible or carried things are open, locked or switched on."""
    doors: tuple[Door, ...] = ()
    """The doors of the room that the printed text has named. () if unknown."""
    question: Question | None = None
    """The question that the story has asked. None if it reads a command, or if unknown."""

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
        """The visible objects, then the carried ones. Empty if unknown."""
        return (*(self.visible or ()), *(self.carried or ()))


@dataclass(frozen=True, slots=True)
class Transition:
    """The effects of a command: the states before and after, and the changes between them."""

    before: Observation
    action: str
    """The command as the player gave it."""
    response: str
    after: Observation
    moved: tuple[ObjectMove, ...] = ()
    """Objects whose parent changed, except the player and the contents of closed containers."""
    changed: tuple[AttributeChange, ...] = ()
    """Attributes that were set or cleared, except the player's own and the story's bookkeeping (`visited`)."""
    unnamed_change: bool = False
    """Whether the action may have had an effect although no object, location, score or inventory changed: another
    part of the story's memory differs, chance decided, or the effect could not be determined."""
    fell_short: bool = False
    """Whether a verb such as "open" or "take" did not have its usual effect. If something else changed, the action is
    neither a success nor a failure."""
    died: bool = False
    """Whether the player died on this turn. The game may continue."""
    loss: Loss | None = None
    """The player's loss on this turn, with the cause found by counterfactuals. None if there is none, or if unknown."""
    finished: bool = False
    """Whether the game is over, for any reason."""
    victory: bool = False
    refused: str | None = None
    """Why the command was not played. `response` has the same text."""
    question_ended: str | None = None
    """How the game was returned from a question to commands, also in `response`. None if it was not."""
    fault: str | None = None
    """How the engine failed (hung, died). The game returned to `before`."""

    @property
    def is_answer(self) -> bool:
        """Whether the text was read as an answer or a key press, not as a command."""
        return self.before.question is not None

    @property
    def points(self) -> int:
        """The change of the score. 0 if the story has none."""
        before, after = self.before.score, self.after.score
        return 0 if before is None or after is None else after - before


DIRECTIONS = (*SHORT_DIRECTIONS.values(), "in", "out")
_OTHER_SPELLING = SHORT_DIRECTIONS | {direction: short for short, direction in SHORT_DIRECTIONS.items()}


def spelled_direction(word: str, is_known: Callable[[str], bool]) -> str:
    """Return a direction in the spelling of the story's dictionary. Other words are returned unchanged.

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
    """The name of an object that must be held. The game does not take it implicitly."""
    IN_REACH = "in reach"
    """The name of an object that is held, or that the game takes implicitly."""
    PICKED_UP = "picked up"
    """The name of an object that the game tries to take first."""
    PERSON = "person"
    """The name of an animate object."""
    FREE = "free"
    """Any text, whether the parser knows its words or not."""


@dataclass(frozen=True, slots=True)
class GrammarToken:
    """One token of a grammar line."""

    kind: TokenKind
    words: frozenset[str] = frozenset()
    """The words that match; only for `TokenKind.WORD`."""
    attribute: int | None = None
    """The attribute of the object. If the command omits it, the parser uses an object with this attribute. None for
    any."""


@dataclass(frozen=True, slots=True)
class ImpliedObject:
    """An object that a command may omit. The parser then uses one in scope that has this attribute."""

    kind: TokenKind
    attribute: int


@dataclass(frozen=True, slots=True)
class GrammarLine:
    """One syntax of a verb: the tokens that follow it."""

    tokens: tuple[GrammarToken, ...]
    action: int
    """The story's action number; the same for all synonyms."""
    implied: tuple[ImpliedObject, ...] = ()
    """Objects that this syntax does not name and that the parser finds by itself."""


@dataclass(frozen=True, slots=True)
class Language:
    """The dictionary and grammar of a story's parser. Words are truncated as in its dictionary."""

    word_length: int
    """The number of Z-characters of a word in the dictionary: 6 or 9."""
    words: frozenset[str]
    verbs: Mapping[str, tuple[GrammarLine, ...] | None]
    """Verb → grammar lines. None if unknown."""
    names: Mapping[str, frozenset[int]]
    """Word → the objects that it names."""
    adjectives: frozenset[str] = frozenset()
    """Words that qualify a name."""
    directions: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    buzzwords: frozenset[str] = frozenset()
    """Articles, conjunctions and pronouns."""
    rejects_unknown_words: bool = False
    """Whether the parser refuses every command with a word that is not in the dictionary."""
    infers_omitted: bool = False
    """Whether the parser adds a missing last noun if only one object fits."""

    def knows(self, word: str) -> bool:
        """Return whether the dictionary has a word."""
        return self.truncate(word) in self.words

    def truncate(self, word: str) -> str:
        """Return the word as in the dictionary.

        A letter takes one Z-character, other characters of the alphabet table two, everything else four.
        """
        if word.isascii() and word.isalpha():
            return word[: self.word_length].lower()
        room = self.word_length
        lowered = word.lower()
        for index, letter in enumerate(lowered):
            room -= 1 if "a" <= letter <= "z" else 2 if letter in "0123456789.,!?_#'\"/\\-:()" else 4
            if room < 0:
                return lowered[:index]
        return lowered


@dataclass(frozen=True, slots=True)
class Scene:
    """The objects that a command can refer to now, by object number.

    Objects in scope need not be visible. A command can't refer to an object that is not in scope.
    """

    held: frozenset[int]
    """The objects that the player holds directly."""
    carried: frozenset[int]
    """The held objects and everything inside them."""
    here: frozenset[int]
    """The objects in this room that are not carried."""
    in_scope: frozenset[int]
    """All objects that a command can refer to: carried, here, or present in every room."""
    words: frozenset[str] = frozenset()
    """Words that have a meaning in this room but name no object."""
    attributes: Mapping[int, Mapping[str, bool]] = field(default_factory=dict)
    """Object → attributes of known meaning, for everything in scope except the room and the player."""
    set_attributes: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Object → numbers of the set attributes, for everything in scope."""
