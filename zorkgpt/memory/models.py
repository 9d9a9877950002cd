"""The values that the memory is made of."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from zorkgpt.memory.claims import Claim, claims_in
from zorkgpt.memory.losses import Loss
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.text import quoted

if TYPE_CHECKING:
    # For importing it from here: see below.
    from zorkgpt.memory.answers import MemorySynthesisResponse as MemorySynthesisResponse

PlaceKey = int | str | tuple[int | str, ...]
"""The key of a place: an integer, a string such as a URL, or a tuple of these, such as ("acme", "user-7", "cart").

5 and "5" are two places. A tuple of one element is the same place as this element.
"""


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing or a creature as the subject of facts."""

    number: int
    """Its object number."""

    def __str__(self) -> str:
        return f"thing {self.number}"


class WholeGame(Enum):
    """The type of `GAME`."""

    GAME = "game"

    def __str__(self) -> str:
        return self.value


GAME: Literal[WholeGame.GAME] = WholeGame.GAME
"""The game, or the world, as the subject of facts."""

SubjectKey = PlaceKey | Thing | WholeGame
"""What a fact is about: a place, a thing or creature, or the game."""

MemoryStatusType = Literal["ACTIVE", "TENTATIVE", "SUPERSEDED"]
"""The values of `MemoryStatus`, for those who write them as strings."""

INVALIDATION_MARKER = "INVALIDATED"
"""Stands in `Memory.superseded_by` where a memory was proven wrong and nothing replaces it."""


_ID = re.compile("[0-9a-f]{8}")
_TURN_SEPARATOR = re.compile(r"→|->|-")
_LONGEST_TURN = 18
_EPISODE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


class _NamedString(StrEnum):
    """A closed set of strings, whose members are shown as the strings that they are."""

    def __repr__(self) -> str:
        return repr(self.value)


class Persistence(_NamedString):
    """For how long a memory is true, in the order in which the classes are listed."""

    CORE = "core", True, " [spawn]"
    """True at the start of every episode: seen on a first visit."""
    PERMANENT = "permanent"
    """True in every episode: how the game works."""
    EPHEMERAL = "ephemeral", False, " [session]"
    """True until the restart: what the player itself did to the world."""

    outlives_episode: bool
    """Whether it is kept in the file, and not in the cache of the running episode."""
    prompt_marker: str
    """What follows a memory's line in a prompt."""

    def __new__(cls, value: str, outlives_episode: bool = True, prompt_marker: str = "") -> "Persistence":
        member = str.__new__(cls, value)
        member._value_ = value
        member.outlives_episode = outlives_episode
        member.prompt_marker = prompt_marker
        return member


class Category(_NamedString):
    """What a memory tells about an action or a place; chosen by whoever worded it."""

    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    DISCOVERY = "DISCOVERY"
    DANGER = "DANGER"
    NOTE = "NOTE"


class MemoryKind(_NamedString):
    """What sort of fact a memory is."""

    RULE = "rule"
    """How the world works."""
    PROCEDURE = "procedure"
    """Steps that lead to something."""
    DANGER = "danger"
    INSIGHT = "insight"
    TEXT = "text"
    """What the world shows in writing: a book, a sign, an answer."""
    LOCATION = "location"
    """Where something is, or what state it is in."""


class Effect(_NamedString):
    """What an action did to the world."""

    REFUSED = "refused"
    """The parser refused the command, so it was not played as a turn."""
    ANSWERED = "answered"
    """The game replied to an action that it understood, and nothing changed."""
    NONE = "none"
    """Nothing changed, and the same action had the same response in the same state before."""
    CHANGED = "changed"


class MemoryStatus(_NamedString):
    """How far a memory is believed."""

    ACTIVE = "ACTIVE"
    TENTATIVE = "TENTATIVE"
    SUPERSEDED = "SUPERSEDED"


@dataclass
class Memory:
    """One fact about one subject: a place, a thing or creature, or the game."""

    category: str
    """One of `Category`, or what a person wrote in the file."""
    title: str
    episode: int | str
    turns: str
    """ "25", "23-24", or "25→48": first seen → last seen."""
    score_change: int | None
    text: str
    persistence: Persistence
    """May be given as the string that it is."""
    status: MemoryStatus = MemoryStatus.ACTIVE
    """May be given as the string that it is."""
    superseded_by: str | None = None
    superseded_at_turn: int | None = None
    invalidation_reason: str | None = None
    observation_count: int = 1
    tried: int = 0
    """How often the player did what it speaks of, having been shown it."""
    worked: int = 0
    """How many of these times came out as it says."""
    died: int = 0
    """How many of the other times killed the player."""
    pinned: bool = False
    """A person wants it kept: no model and no rule replaces it, marks it as wrong or merges it away."""
    vetoed: bool = False
    """A person wants it never learned again: it is not shown, and what says the same is not kept."""
    action: str = ""
    """The command that it is about, taken at its location; "" where it is about none."""
    outcome: str = ""
    """What came of the command by the ground truth, see `outcome_of`; "" where that is not known."""
    claims: tuple[Claim, ...] = ()
    """What it says of things and ways."""
    when: tuple[Claim, ...] = ()
    """The state in which it holds, where it is known not to hold in another."""
    first_episode: int | str | None = None
    """In which it was seen first, where that is another one than `episode`; the first of `turns` is of it."""
    kind: MemoryKind | None = None
    """May be given as the string that it is. None if unknown, as for most memories that a person wrote by hand."""
    superseded_in_episode: int | str | None = None
    """The episode of `superseded_at_turn`, if it is not `episode`."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Values of the caller's own, as JSON has them."""
    expires_at: str | None = None
    """When it is forgotten, in UTC, as ISO 8601 with microseconds; None if never.

    What a person has edited or pinned doesn't expire.
    """
    valid_from: str | None = None
    """Since when the fact is true, as `expires_at`; None if unknown."""
    id: str = field(default="", compare=False)
    """The id, where it is not the one that follows from place and title: see `zorkgpt.memory.ids`."""
    edited_by_person: bool = field(default=False, compare=False, repr=False)
    """A person wrote or edited it. Set by the store from the history; not stored with the memory."""
    created_at: str | None = field(default=None, compare=False, repr=False)
    """When it was stored, as `expires_at`; None if unknown. Like the next two, derived from the history when read."""
    updated_at: str | None = field(default=None, compare=False, repr=False)
    """When it was last changed, other than by a count; None if unknown."""
    source: str | None = field(default=None, compare=False, repr=False)
    """Who made the last change, other than a count, as `HistoryRecord.source`; None if unknown."""

    @property
    def is_settled_by_person(self) -> bool:
        """Whether a person has pinned or edited it: no model, audit or statistic changes or replaces it."""
        return self.pinned or self.edited_by_person

    def __post_init__(self) -> None:
        if type(self.persistence) is not Persistence:
            self.persistence = _persistence_of(self.persistence, self.title)
        if type(self.status) is not MemoryStatus and isinstance(self.status, str):
            self.status = _STATUSES.get(self.status, self.status)
        if self.kind is not None and type(self.kind) is not MemoryKind:
            self.kind = _kind_of(self.kind, self.title)
        if self.id and not _ID.fullmatch(self.id):
            raise ValueError(f"The id of memory {self.title!r} is {self.id!r}; it must be eight hexadecimal digits.")
        if self.first_episode is not None and same_episode(self.first_episode, self.episode):
            self.first_episode = None
        at = self.superseded_in_episode
        if at is not None and (self.superseded_at_turn is None or same_episode(at, self.episode)):
            self.superseded_in_episode = None


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """The first and the last turn in which a memory was seen: what `Memory.turns` says.

    A person may have written anything there, so turns are texts; most are numbers.
    """

    first: str
    last: str

    @classmethod
    def parse(cls, turns: str) -> "TurnSpan":
        """Read "25", "23-24", "25->48" or "25→48"; any other text is a span of one turn."""
        return _span_of(turns)

    @property
    def first_number(self) -> int | None:
        """The first turn as a number; None if it is none."""
        return turn_number(self.first)

    @property
    def last_number(self) -> int | None:
        """The last turn as a number; None if it is none."""
        return turn_number(self.last)

    def __str__(self) -> str:
        """Return "25→48", as it is written for a memory that was seen again."""
        return f"{self.first}→{self.last}"


def turn_number(turn: str) -> int | None:
    """Return a turn as a number; None if it is none."""
    return int(turn) if turn.isdecimal() and len(turn) <= _LONGEST_TURN else None


# All memories of a place are ordered by their turns whenever they are shown.
@lru_cache(maxsize=4096)
def _span_of(turns: str) -> TurnSpan:
    first, *further = _TURN_SEPARATOR.split(turns)
    return TurnSpan(first.strip(), further[-1].strip() if further else first.strip())


_PERSISTENCES = {kind.value: kind for kind in Persistence}
_STATUSES = {status.value: status for status in MemoryStatus}
_KINDS = {kind.value: kind for kind in MemoryKind}


def _persistence_of(given: object, title: str) -> Persistence:
    found = _PERSISTENCES.get(given) if isinstance(given, str) else None
    if found is None:
        valid = ", ".join(repr(kind.value) for kind in Persistence)
        raise ValueError(f"Invalid persistence {quoted(given)} of memory {quoted(title)}: must be one of {valid}.")
    return found


def _kind_of(given: object, title: str) -> MemoryKind:
    found = _KINDS.get(given) if isinstance(given, str) else None
    if found is None:
        valid = ", ".join(repr(kind.value) for kind in MemoryKind)
        raise ValueError(f"Invalid kind {quoted(given)} of memory {quoted(title)}: must be None or one of {valid}.")
    return found


def episode_key(episode: int | str) -> int | str:
    """By which episodes are compared: "2" and 2 name the same one, "02" and "ep_2" others."""
    if isinstance(episode, str) and _EPISODE_NUMBER.fullmatch(episode := " ".join(episode.split())):
        return int(episode)
    return episode


def same_episode(one: int | str, other: int | str) -> bool:
    return one == other or episode_key(one) == episode_key(other)


def memory_of(fields: dict[str, Any]) -> Memory:
    """Build a memory from stored fields; those that a later version added are passed over.

    Raises:
        TypeError, ValueError: one is missing, or the persistence is none.
    """
    known = {name: value for name, value in fields.items() if name in MEMORY_FIELDS}
    return Memory(**known | {name: claims_in(known[name]) for name in _CLAIMS if name in known})


def fields_of(memory: Memory) -> dict[str, Any]:
    """Return the fields as plain values for JSON, which `memory_of` reads back."""
    told = {name: value for name, value in vars(memory).items() if name not in _FROM_HISTORY}
    for name in _CLAIMS:
        told[name] = [str(claim) for claim in told[name]]
    return told


_FROM_HISTORY = {"edited_by_person", "created_at", "updated_at", "source"}
MEMORY_FIELDS = frozenset(each.name for each in fields(Memory)) - _FROM_HISTORY


_CLAIMS = ("claims", "when")


@dataclass(frozen=True, slots=True)
class ZMachineContext:
    """The ground truth of one turn, from the Z-machine."""

    score_before: int | None = None
    score_after: int | None = None
    score_delta: int = 0
    location_before: PlaceKey | None = None
    location_after: PlaceKey | None = None
    location_changed: bool = False
    inventory_before: tuple[str, ...] = ()
    inventory_after: tuple[str, ...] = ()
    inventory_changed: bool = False
    died: bool = False
    first_visit: bool = False
    first_look: bool = False
    """The response holds the first look of the episode at the place that the action led to."""
    response_length: int = 0
    turn: int = 0
    destination_name: str = ""
    """Where the player stands after the action; the key is `location_after`."""
    nothing_changed: bool = False
    """It was meant to change something, and the whole state of the game is as it would be without it."""
    refused_by_parser: bool = False
    """The command took no move, and nothing changed. False also if the game counts no moves."""
    repeated: bool = False
    """The same action had the same response before, in the same state. Completed by the memory."""
    fell_short: bool = False
    """Nothing changed that the action's verb can mean: whatever else did is no success of it."""
    moved: tuple[ObjectMove, ...] = ()
    changed: tuple[AttributeChange, ...] = ()
    things: tuple[ThingState, ...] = ()
    """What is at hand after the action, and what was before it and stayed where it was."""
    all_in_sight: bool = False
    """There is light after the action, and whatever lies openly at the place is among `things`."""
    state: tuple[Claim, ...] = ()
    """In which state the action was taken: what was open, closed, locked, lit or carried, and whether it was dark."""
    known_way: bool = False
    """The action is a walk, and the map or the text of the place knew of this way."""
    failed_before: bool = False
    """The action is a walk that led nowhere when it was tried last."""
    loss: Loss | None = None
    """What the player lost on this turn, with the cause by counterfactuals. None if nothing, or if unknown."""
    moves_before: int | None = None
    """The story's count of moves; None if it has none."""
    moves_after: int | None = None
    unnamed_change: bool = False
    """Nothing that has a name was changed by it, yet it can't be said that nothing was: no failure."""

    @property
    def acted(self) -> bool:
        """Whether the action itself moved or changed an object."""
        return any(not one.by_itself for one in self.moved) or any(not one.by_itself for one in self.changed)

    def loses_sight_of(self, move: ObjectMove) -> bool:
        """Return whether a thing moved to where the player does not see it. False if what is at hand is not known."""
        at_hand = {thing.number for thing in self.things}
        return (bool(at_hand) or self.all_in_sight) and at_hand.isdisjoint({move.number, move.destination_number})

    @property
    def effect(self) -> Effect | None:
        """What the action did. None if unknown."""
        if not self.nothing_changed:
            return Effect.CHANGED if self.unnamed_change or outcome_of(self) else None
        if self.refused_by_parser:
            return Effect.REFUSED
        return Effect.NONE if self.repeated else Effect.ANSWERED

    @classmethod
    def of(cls, given: "ZMachineContext | Mapping[str, object] | None") -> "ZMachineContext":
        """Return a context from one of these, or from a dict with some of its fields; other keys are ignored.

        What a dict leaves out and its values before and after tell is derived: the deltas and the flags.
        """
        if isinstance(given, ZMachineContext):
            return given
        names = {each.name for each in fields(cls)}
        told = {name: value for name, value in (given or {}).items() if name in names}
        return cls(**_derived(told) | told)


def _derived(told: dict[str, Any]) -> dict[str, Any]:
    """Return what values before and after say of the change between them."""
    before, after = told.get("score_before"), told.get("score_after")
    derived: dict[str, Any] = {}
    if before is not None and after is not None:
        derived["score_delta"] = after - before
    if "location_before" in told and "location_after" in told:
        derived["location_changed"] = told["location_before"] != told["location_after"]
    if "inventory_before" in told and "inventory_after" in told:
        derived["inventory_changed"] = Counter(told["inventory_before"]) != Counter(told["inventory_after"])
    return derived


def outcome_of(turn: ZMachineContext) -> str:
    """Return what came of an action: "died", "to 12" (a place), "changed", "nothing", or "" where that is not known."""
    if turn.died:
        return "died"
    if turn.location_changed and turn.location_after is not None:
        place = turn.location_after
        return f"to {json.dumps(place) if isinstance(place, tuple) else place}"
    if turn.score_delta or turn.inventory_changed or (turn.acted and not turn.fell_short):
        return "changed"
    return "nothing" if turn.nothing_changed else ""


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """What happened to one memory: for the display, the run log and the counts."""

    kind: str
    """Added, seen again, merged, superseded, contested, qualified, invalidated or ignored."""
    location_id: PlaceKey | None
    """None if the memory is about no place."""
    title: str
    persistence: Persistence
    category: str = ""
    detail: str = ""
    """Why, where there is a reason to give: what replaced it, what was wrong."""
    text: str = ""
    """What it says."""
    status: MemoryStatus = MemoryStatus.ACTIVE
    """After the event."""
    other: str = ""
    """What the memory says that it was compared with, where that led to the event."""
    subject: str = ""
    """The thing, or the game, that the memory is about, as `render_place` writes it; "" if it is about a place."""
    turn: int | None = None
    """The earlier turn that it is about, if the answer came later. None for the turn whose record it is in."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # A public name of this module that needs pydantic, which is loaded with it.
        if name != "MemorySynthesisResponse":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("zorkgpt.memory.answers"), name)
