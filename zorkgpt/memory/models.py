"""The values of the memory."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from zorkgpt.memory.claims import Claim, claims_in
from zorkgpt.memory.kinds import Category as Category
from zorkgpt.memory.kinds import Effect as Effect
from zorkgpt.memory.kinds import MemoryKind as MemoryKind
from zorkgpt.memory.kinds import MemoryStatus as MemoryStatus
from zorkgpt.memory.kinds import MemoryStatusType as MemoryStatusType
from zorkgpt.memory.kinds import Persistence as Persistence
from zorkgpt.memory.losses import Loss
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.text import quoted

if TYPE_CHECKING:
    # Re-exported: see `__getattr__` below.
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
    """The type of `GAME`, `KNOWLEDGE` and `OBJECTIVES`."""

    GAME = "game"
    KNOWLEDGE = "knowledge"
    OBJECTIVES = "objectives"

    def __str__(self) -> str:
        return self.value


GAME: Literal[WholeGame.GAME] = WholeGame.GAME
"""The game, or the world, as the subject of facts."""

KNOWLEDGE: Literal[WholeGame.KNOWLEDGE] = WholeGame.KNOWLEDGE
"""The game as the subject of the knowledge base, which has a file of its own.

Such memories are only found by their subject: searches and the journal as a whole don't have them.
"""

OBJECTIVES: Literal[WholeGame.OBJECTIVES] = WholeGame.OBJECTIVES
"""The game as the subject of the player's objectives. They are only found by their subject, too."""

SubjectKey = PlaceKey | Thing | WholeGame
"""What a fact is about: a place, a thing or creature, or the game."""

INVALIDATION_MARKER = "INVALIDATED"
"""The value of `Memory.superseded_by` if a memory was marked as wrong and nothing replaces it."""


_ID = re.compile("[0-9a-f]{8}([0-9a-f]{8})?")
_TURN_SEPARATOR = re.compile(r"→|->|-")
_LONGEST_TURN = 18
_EPISODE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Memory:
    """One fact about one subject: a place, a thing or creature, or the game."""

    category: str
    """One of `Category`, or a word that a person wrote in the file."""
    title: str
    episode: int | str
    turns: str = field(compare=False)
    """ "25", "23-24", or "25→48": first seen → last seen. Kept as numbers: see `first_turn` and `last_turn`."""
    score_change: int | None
    text: str
    persistence: Persistence
    """Can be given as a string."""
    status: MemoryStatus = MemoryStatus.ACTIVE
    """Can be given as a string."""
    superseded_by: str | None = None
    superseded_at_turn: int | None = None
    invalidation_reason: str | None = None
    observation_count: int = 1
    tried: int = 0
    """How often the player followed the memory after seeing it."""
    worked: int = 0
    """How many of these trials had the stated outcome."""
    died: int = 0
    """How many of the other trials killed the player."""
    pinned: bool = False
    """A person pinned it: no model and no rule replaces, invalidates or merges it."""
    vetoed: bool = False
    """A person hid it: it is not shown, and new memories that say the same are not stored."""
    action: str = ""
    """The command that it is about, taken at its location; "" if none."""
    outcome: str = ""
    """The outcome of the command by the ground truth. See `outcome_of`. "" if unknown."""
    claims: tuple[Claim, ...] = ()
    """Checkable statements about things and exits."""
    when: tuple[Claim, ...] = ()
    """The conditions under which it holds."""
    first_episode: int | str | None = None
    """The episode of the first observation, if it is not `episode`. The first of `turns` belongs to it."""
    kind: MemoryKind | None = None
    """Can be given as a string. None if unknown, as for most handwritten memories."""
    superseded_in_episode: int | str | None = None
    """The episode of `superseded_at_turn`, if it is not `episode`."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """The caller's own values. They must be JSON values."""
    expires_at: str | None = None
    """The time of expiry in UTC, as ISO 8601 with microseconds. None if never.

    Memories that a person edited or pinned don't expire.
    """
    valid_from: str | None = None
    """The time since when the fact is true, in the same format. None if unknown."""
    id: str = field(default="", compare=False)
    """The id, if it can't be derived from place and title. See `zorkgpt.memory.ids`."""
    edited_by_person: bool = field(default=False, compare=False, repr=False)
    """A person wrote or edited it. Set by the store from the history, and not stored with the memory."""
    created_at: str | None = field(default=None, compare=False, repr=False)
    """The time when it was stored. None if unknown. Like the next two, derived from the history."""
    updated_at: str | None = field(default=None, compare=False, repr=False)
    """The time of the last change other than a count. None if unknown."""
    source: str | None = field(default=None, compare=False, repr=False)
    """The `HistoryRecord.source` of the last change other than a count. None if unknown."""
    first_turn: int | None = field(init=False, repr=False)
    """The turn of the first observation. None if `turns` has no number for it."""
    last_turn: int | None = field(init=False, repr=False)
    """The turn of the last observation. None if `turns` has no number for it."""
    _other_turns: str | None = field(init=False, repr=False)
    """`turns` if it is not composed of the two numbers, for instance because a person wrote it. Otherwise None."""

    @property
    def first_seen_in(self) -> int | str:
        """The episode of the first observation."""
        return self.episode if self.first_episode is None else self.first_episode

    @property
    def scored(self) -> bool:
        """Whether the score rose."""
        return self.score_change is not None and self.score_change > 0

    @property
    def is_settled_by_person(self) -> bool:
        """Whether a person pinned or edited it, so that no model, audit or statistic changes or replaces it."""
        return self.pinned or self.edited_by_person

    def __post_init__(self) -> None:
        if type(self.persistence) is not Persistence:
            _set(self, "persistence", _member_of(Persistence, self.persistence, "persistence", self.title))
        if type(self.status) is not MemoryStatus and isinstance(self.status, str):
            _set(self, "status", _STATUSES.get(self.status, self.status))
        if self.kind is not None and type(self.kind) is not MemoryKind:
            _set(self, "kind", _member_of(MemoryKind, self.kind, "kind", self.title))
        if self.id and not _ID.fullmatch(self.id):
            raise ValueError(f"The id of memory {self.title!r} is {self.id!r}; it must be 16 hexadecimal digits.")
        if self.first_episode is not None and same_episode(self.first_episode, self.episode):
            _set(self, "first_episode", None)
        at = self.superseded_in_episode
        if at is not None and (self.superseded_at_turn is None or same_episode(at, self.episode)):
            _set(self, "superseded_in_episode", None)


_set = object.__setattr__


def _turns(memory: Memory) -> str:
    other, first, last = memory._other_turns, memory.first_turn, memory.last_turn
    # Most memories were seen once.
    return other if other is not None else str(last) if first == last else _composed(first, last)


def _set_turns(memory: Memory, turns: str) -> None:
    # Another type than a string is refused when the memory is stored.
    first, last, other = _parsed_turns(turns) if isinstance(turns, str) else (None, None, turns)
    _set(memory, "first_turn", first)
    _set(memory, "last_turn", last)
    _set(memory, "_other_turns", other)


# `turns` is an argument of the constructor and of `dataclasses.replace`, like any field. Only `__init__` can set it.
setattr(Memory, "turns", property(_turns, _set_turns))  # noqa: B010


# Cached, because every copy of a memory parses its turns.
@lru_cache(maxsize=4096)
def _parsed_turns(text: str) -> tuple[int | None, int | None, str | None]:
    """Return `first_turn`, `last_turn` and `_other_turns`."""
    first, last = (turn if isinstance(turn, int) else None for turn in turns_in(text))
    return first, last, None if text == _composed(first, last) else text


def _composed(first: int | None, last: int | None) -> str:
    return str(last) if first == last else f"{first}→{last}"


def turns_in(text: str) -> tuple[int | str, int | str]:
    """Return the first and the last turn in "25", "23-24", "25->48" or "25→48". Any other text is a single turn.

    A turn that is not a number, because a person wrote it, is returned as a string.
    """
    first, *further = map(str.strip, _TURN_SEPARATOR.split(text))
    return _turn_in(first), _turn_in(further[-1] if further else first)


def _turn_in(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_TURN else text


_STATUSES = {status.value: status for status in MemoryStatus}
# Calling an enumeration is slow in CPython 3.11.
_MEMBERS = {str(member): member for kind in (Persistence, MemoryKind) for member in kind}


def _member_of(kind: "type[Persistence] | type[MemoryKind]", given: Any, field_name: str, title: str) -> Any:
    member = _MEMBERS.get(given) if isinstance(given, str) else None
    try:
        return member if isinstance(member, kind) else kind(given)
    except ValueError:
        valid = ", ".join(repr(member.value) for member in kind)
        none = "None or " if kind is MemoryKind else ""
        message = f"Invalid {field_name} {quoted(given)} of memory {quoted(title)}: must be {none}one of {valid}."
        raise ValueError(message) from None


def episode_key(episode: int | str) -> int | str:
    """Return the key for comparing episodes: "2" and 2 are the same episode, "02" and "ep_2" are others."""
    if isinstance(episode, str) and _EPISODE_NUMBER.fullmatch(episode := " ".join(episode.split())):
        return int(episode)
    return episode


def same_episode(one: int | str, other: int | str) -> bool:
    return one == other or episode_key(one) == episode_key(other)


def memory_of(fields: dict[str, Any]) -> Memory:
    """Build a memory from stored fields. Unknown fields, from later versions, are ignored.

    Raises:
        TypeError, ValueError: If a field is missing or invalid.
    """
    known = {name: fields[name] for name in MEMORY_FIELDS if name in fields}
    for name in ("category", "title", "text"):
        if not isinstance(known.get(name), str):
            raise TypeError(f"The {name} of a memory is {quoted(known.get(name))}; it must be a string.")
    return Memory(**known | {name: claims_in(known[name]) for name in _CLAIMS if name in known})


def fields_of(memory: Memory) -> dict[str, Any]:
    """Return the fields as JSON values, for `memory_of`."""
    values = dict(zip(MEMORY_FIELDS, _values_of(memory), strict=True))
    for name in _CLAIMS:
        values[name] = list(map(str, values[name]))
    return values


_FROM_HISTORY = {"edited_by_person", "created_at", "updated_at", "source"}
MEMORY_FIELDS = tuple(each.name for each in fields(Memory) if each.init and each.name not in _FROM_HISTORY)
_values_of = attrgetter(*MEMORY_FIELDS)
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
    """The response has the first look of the episode at the action's destination."""
    response_length: int = 0
    turn: int = 0
    destination_name: str = ""
    """The name of the location after the action."""
    nothing_changed: bool = False
    """The action was meant to change something, but the state of the game is the same as without it."""
    refused_by_parser: bool = False
    """The command took no move, and nothing changed. False if the game counts no moves."""
    repeated: bool = False
    """The same action had the same response in the same state before. Set by the memory."""
    fell_short: bool = False
    """The action didn't have the effect that its verb means. Other changes don't make it a success."""
    moved: tuple[ObjectMove, ...] = ()
    changed: tuple[AttributeChange, ...] = ()
    things: tuple[ThingState, ...] = ()
    """The things present after the action, and those that are out of sight but stayed where they were."""
    all_in_sight: bool = False
    """There is light after the action, and `things` has every visible thing at the place."""
    state: tuple[Claim, ...] = ()
    """The state before the action: what was open, closed, locked, lit or carried, and whether it was dark."""
    known_way: bool = False
    """The action is a walk, and the map or the text of the place already had this way."""
    failed_before: bool = False
    """The action is a walk that led nowhere when it was last tried."""
    loss: Loss | None = None
    """The player's loss on this turn, with its cause by counterfactuals. None if there is none or it is unknown."""
    moves_before: int | None = None
    """The story's count of moves. None if it has none."""
    moves_after: int | None = None
    unnamed_change: bool = False
    """No named object changed, but something else may have, so the action is not a failure."""

    @property
    def acted(self) -> bool:
        """Whether the action itself moved or changed an object."""
        moved = any(not move.by_itself for move in self.moved)
        return moved or any(not change.by_itself for change in self.changed)

    @property
    def had_effect(self) -> bool:
        """Whether the action had an effect other than a move of the player."""
        return bool(self.acted or self.unnamed_change or self.inventory_changed or self.score_delta or self.died)

    def loses_sight_of(self, move: ObjectMove) -> bool:
        """Return whether a thing moved out of the player's sight. False if unknown."""
        present = {thing.number for thing in self.things}
        return (bool(present) or self.all_in_sight) and present.isdisjoint({move.number, move.destination_number})

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
        """Return a context, or make one from a dict with some of its fields. Other keys are ignored.

        Missing deltas and flags are derived from the values before and after.
        """
        if isinstance(given, ZMachineContext):
            return given
        names = {each.name for each in fields(cls)}
        values = {name: value for name, value in (given or {}).items() if name in names}
        return cls(**_derived(values) | values)


def _derived(values: dict[str, Any]) -> dict[str, Any]:
    """Return the deltas and flags that follow from values before and after."""
    before, after = values.get("score_before"), values.get("score_after")
    derived: dict[str, Any] = {}
    if before is not None and after is not None:
        derived["score_delta"] = after - before
    if "location_before" in values and "location_after" in values:
        derived["location_changed"] = values["location_before"] != values["location_after"]
    if "inventory_before" in values and "inventory_after" in values:
        derived["inventory_changed"] = Counter(values["inventory_before"]) != Counter(values["inventory_after"])
    return derived


DIED = "died"
NO_EFFECT = "nothing"
"""Outcomes of an action: see `outcome_of`."""


def outcome_of(turn: ZMachineContext) -> str:
    """Return the outcome of an action: "died", "to 12" (a place), "changed", "nothing", or "" if unknown."""
    if turn.died:
        return DIED
    if turn.location_changed and turn.location_after is not None:
        place = turn.location_after
        return f"to {json.dumps(place) if isinstance(place, tuple) else place}"
    if turn.score_delta or turn.inventory_changed or (turn.acted and not turn.fell_short):
        return "changed"
    return NO_EFFECT if turn.nothing_changed else ""


def destination_in(outcome: str) -> str | None:
    """Return the place in an outcome such as "to 12". None for other outcomes."""
    return outcome.removeprefix("to ") if outcome.startswith("to ") else None


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """A change of one memory, for display, the run log and statistics."""

    kind: str
    """Added, seen again, merged, superseded, contested, qualified, invalidated or ignored."""
    location_id: PlaceKey | None
    """None if the subject is not a place."""
    title: str
    persistence: Persistence
    category: str = ""
    detail: str = ""
    """The reason, or the title of the replacement; "" if there is none."""
    text: str = ""
    status: MemoryStatus = MemoryStatus.ACTIVE
    """The status after the event."""
    other: str = ""
    """The text of the memory that it was compared with, if this led to the event."""
    subject: str = ""
    """The subject if it is a thing or the game, as written by `render_place`; "" if it is a place."""
    turn: int | None = None
    """The turn that the event belongs to, if the answer came later. None for the turn whose record it is in."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # Import on use, because this public name needs pydantic.
        if name != "MemorySynthesisResponse":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("zorkgpt.memory.answers"), name)
