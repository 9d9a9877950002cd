"""The values that the memory is made of."""

import re
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field, model_validator

MemoryStatusType = Literal["ACTIVE", "TENTATIVE", "SUPERSEDED"]
Category = Literal["SUCCESS", "FAILURE", "DISCOVERY", "DANGER", "NOTE"]
Persistence = Literal["core", "permanent", "ephemeral"]

PERSISTENCES: tuple[Persistence, ...] = get_args(Persistence)
STATUSES: tuple[MemoryStatusType, ...] = get_args(MemoryStatusType)

INVALIDATION_MARKER = "INVALIDATED"
"""Stands in `Memory.superseded_by` where a memory was proven wrong and nothing replaces it."""


_EPISODE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


class MemoryStatus:
    """How far a memory is believed."""

    ACTIVE: MemoryStatusType = "ACTIVE"
    TENTATIVE: MemoryStatusType = "TENTATIVE"
    SUPERSEDED: MemoryStatusType = "SUPERSEDED"


@dataclass
class Memory:
    """One fact about one location."""

    category: str
    title: str
    episode: int | str
    turns: str
    """ "25", "23-24", or "25→48": first seen → last seen."""
    score_change: int | None
    text: str
    persistence: Persistence
    status: MemoryStatusType = MemoryStatus.ACTIVE
    superseded_by: str | None = None
    superseded_at_turn: int | None = None
    invalidation_reason: str | None = None
    observation_count: int = 1
    tried: int = 0
    """How often the player did what it speaks of, having been shown it."""
    worked: int = 0
    """How many of these times came out as it says."""
    pinned: bool = False
    """A person wants it kept: no model and no rule replaces it, marks it as wrong or merges it away."""
    vetoed: bool = False
    """A person wants it never learned again: it is not shown, and what says the same is not kept."""
    first_episode: int | str | None = None
    """In which it was seen first, where that is another one than `episode`; the first of `turns` is of it."""

    def __post_init__(self) -> None:
        if self.persistence not in PERSISTENCES:
            valid = ", ".join(repr(kind) for kind in PERSISTENCES)
            raise ValueError(
                f"Invalid persistence {self.persistence!r} of memory {self.title!r}: must be one of {valid}."
            )
        if self.first_episode is not None and same_episode(self.first_episode, self.episode):
            self.first_episode = None


def episode_key(episode: int | str) -> int | str:
    """By which episodes are compared: "2" and 2 name the same one, "02" and "ep_2" others."""
    if isinstance(episode, str) and _EPISODE_NUMBER.fullmatch(episode := " ".join(episode.split())):
        return int(episode)
    return episode


def same_episode(one: int | str, other: int | str) -> bool:
    return one == other or episode_key(one) == episode_key(other)


def memory_of(fields: dict[str, Any]) -> Memory:
    """A memory from stored fields; those that a later version added are passed over.

    Raises:
        TypeError, ValueError: one is missing, or the persistence is none.
    """
    return Memory(**{name: value for name, value in fields.items() if name in MEMORY_FIELDS})


MEMORY_FIELDS = frozenset(field.name for field in fields(Memory))


_CONTENT = ("category", "memory_title", "memory_text", "persistence")


class MemorySynthesisResponse(BaseModel):
    """What a model says a turn teaches."""

    should_remember: bool
    category: Category | None = None
    memory_title: str | None = None
    memory_text: str | None = None
    persistence: Persistence | None = None
    status: MemoryStatusType = MemoryStatus.ACTIVE
    supersedes_memory_titles: set[str] = Field(default_factory=set, max_length=3)
    invalidate_memory_titles: set[str] = Field(default_factory=set, max_length=3)
    invalidation_reason: str | None = None
    reasoning: str = ""

    @model_validator(mode="before")
    @classmethod
    def _nothing_said_of_nothing(cls, answer: Any) -> Any:
        if not isinstance(answer, dict) or answer.get("should_remember") is not False:
            return answer
        return {name: value for name, value in answer.items() if name not in _CONTENT}

    @model_validator(mode="after")
    def _complete(self) -> "MemorySynthesisResponse":
        if self.should_remember:
            missing = [name for name in _CONTENT if not (getattr(self, name) or "").strip()]
            if missing:
                raise ValueError(f"should_remember is true, so these are required: {', '.join(missing)}")
        if self.invalidate_memory_titles and not (self.invalidation_reason or "").strip():
            raise ValueError("invalidate_memory_titles needs an invalidation_reason that is not blank")
        both = self.supersedes_memory_titles & self.invalidate_memory_titles
        if both:
            raise ValueError(f"a title may not be both superseded and invalidated: {', '.join(sorted(both))}")
        return self


@dataclass(frozen=True, slots=True)
class ObjectMoved:
    """The object tree says: this object has another parent than before the action."""

    number: int
    name: str
    origin_number: int | None
    """None: it was nowhere."""
    origin: str
    destination_number: int | None
    """None: it is nowhere now."""
    destination: str


@dataclass(frozen=True, slots=True)
class AttributeChanged:
    """The object tree says: this attribute was set or cleared by the action."""

    number: int
    name: str
    attribute: str
    value: bool


@dataclass(frozen=True, slots=True)
class ZMachineContext:
    """The ground truth of one turn, from the Z-machine."""

    score_before: int | None = None
    score_after: int | None = None
    score_delta: int = 0
    location_before: int | None = None
    location_after: int | None = None
    location_changed: bool = False
    inventory_before: tuple[str, ...] = ()
    inventory_after: tuple[str, ...] = ()
    inventory_changed: bool = False
    died: bool = False
    first_visit: bool = False
    response_length: int = 0
    turn: int = 0
    destination_name: str = ""
    """Where the player stands after the action; the key is `location_after`."""
    nothing_changed: bool = False
    """It was meant to change something; place, score, inventory, object tree and attributes are the same."""
    moved: tuple[ObjectMoved, ...] = ()
    changed: tuple[AttributeChanged, ...] = ()

    @classmethod
    def of(cls, given: "ZMachineContext | dict[str, Any] | None") -> "ZMachineContext":
        """A context from one of these, or from a dict with some of its fields; other keys are ignored."""
        if isinstance(given, cls):
            return given
        known = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in (given or {}).items() if key in known})


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """What happened to one memory: for the display, the run log and the counts."""

    kind: Literal["added", "seen again", "merged", "superseded", "contested", "invalidated", "ignored"]
    location_id: int
    title: str
    persistence: Persistence
    category: str = ""
    detail: str = ""
    """Why, where there is a reason to give: what replaced it, what was wrong."""
    text: str = ""
    """What it says."""
    status: MemoryStatusType = MemoryStatus.ACTIVE
    """After the event."""
    other: str = ""
    """What the memory says that it was compared with, where that led to the event."""
