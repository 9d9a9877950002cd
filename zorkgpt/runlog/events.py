"""The events of an episode's log: one frozen value for each kind of line."""

from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, get_args

from pydantic import TypeAdapter

from game_interface.models import Transition
from session.history import TurnRecord
from zorkgpt.llm.usage import CallRecord
from zorkgpt.memory.models import MemoryEvent

SCHEMA_VERSION = 1


class EpisodeEnding(StrEnum):
    """How an episode ended."""

    VICTORY = "victory"
    DEATH = "death"
    STORY_END = "the story's end"
    TURN_LIMIT = "turn limit"
    BUDGET = "budget"
    """The models have cost as much as they may."""
    PLAYER_STOPPED = "player stopped"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    ABANDONED = "abandoned"
    """Another episode was started, or the run was closed."""


FINAL_ENDINGS = (EpisodeEnding.VICTORY, EpisodeEnding.DEATH, EpisodeEnding.STORY_END)
"""Endings after which an episode can't be resumed."""
LAST_ENDINGS = (EpisodeEnding.ERROR, EpisodeEnding.PLAYER_STOPPED, EpisodeEnding.BUDGET)
"""Endings after which the next episode of the run would end the same way."""


class PlayerKind(StrEnum):
    """The players of this package. Logs and checkpoints contain these values."""

    MODEL = "model"
    PLAIN = "plain"
    """A baseline: a model that sees only the transcript of the episode."""
    RULES = "rules"
    """No language model."""
    WALKTHROUGH = "walkthrough"
    HUMAN = "human"


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """A new episode started."""

    kind: ClassVar[str] = "episode_started"
    episode: int
    time: str
    """ISO 8601, UTC."""
    player: str
    """The run's player: usually a `PlayerKind`."""
    story: dict[str, Any]
    """title, release, serial, sha256."""
    seed: int
    max_turns: int
    opening: str
    location_id: int | None = None
    location: str = ""
    background: bool = False
    """Whether questions were asked in the background while turns were played."""
    memory: str = ""
    """The name of the memory file in the story's folder, or the address of the memory without its password."""


@dataclass(frozen=True, slots=True)
class KnowledgeUpdated:
    """The knowledge base was reviewed, or a person changed it."""

    kind: ClassVar[str] = "knowledge_updated"
    episode: int | str
    turn: int
    """The turn before the change; 0 for the start of the episode."""
    added: list[str]
    """Texts of new lines."""
    struck: list[str]
    """Texts of struck lines."""
    text: str
    """The content of the file, cut if it is very long."""
    learned_until: int | None = None
    """The last turn of the episode that was learned from. None if a person changed the knowledge base."""
    counts: dict[str, int] = field(default_factory=dict)
    """How often lines were confirmed, contradicted, replaced, and answers ignored."""


@dataclass(frozen=True, slots=True)
class ObjectivesUpdated:
    """The objectives were reviewed or changed."""

    kind: ClassVar[str] = "objectives_updated"
    episode: int
    turn: int
    """The last turn."""
    objectives: list[dict[str, Any]]
    """The pursued objectives, the most promising first, then those reached or abandoned in this episode: text,
    condition, done_when, places, origin, scope, status ("open", "stale", "reached" or "abandoned"), given_up, and
    reached, with the evidence for each time, progressed, rank, and position: the order in which they were added."""
    reviewed: int = 0
    """The turn of the last review."""
    counts: dict[str, int] = field(default_factory=dict)
    """The counts of the episode."""


@dataclass(frozen=True, slots=True)
class HistorySummarized:
    """A model summarized older turns for the player's prompt."""

    kind: ClassVar[str] = "history_summarized"
    episode: int
    turn: int
    """The turn in which it was asked."""
    text: str
    up_to: int
    """The last turn that is summarized."""


@dataclass(frozen=True, slots=True)
class DeduplicationMetrics:
    """How many duplicates were found in the episode. Written at its end."""

    kind: ClassVar[str] = "deduplication_metrics"
    timestamp: str
    episode_id: int
    duplicates_prevented: int
    metadata_updates: int
    supersessions: int
    """Memories that a near-duplicate superseded."""
    avg_check_time_ms: float
    """Without the model's time."""


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A model was asked. In the log, the fields of the call are those of the event."""

    kind: ClassVar[str] = "model_called"
    episode: int | str
    turn: int
    """The turn of the call; 0 before the first turn."""
    time: str
    call: CallRecord


@dataclass(frozen=True, slots=True)
class EpisodeResumed:
    """An interrupted episode was resumed. The turns after the checkpoint are played and logged again."""

    kind: ClassVar[str] = "episode_resumed"
    episode: int
    time: str
    turn: int
    """The last completed turn."""
    max_turns: int


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode ended or was interrupted. If it is resumed later, `EpisodeResumed` follows."""

    kind: ClassVar[str] = "episode_ended"
    episode: int
    time: str
    reason: str
    """An `EpisodeEnding`; another text in logs of later versions."""
    turns: int
    score: int | None
    max_score: int | None
    places: int
    deaths: int
    memories: dict[str, int]
    """The numbers of core, permanent and ephemeral memories at the end."""
    message: str = ""
    """The error that ended it; "" without an error."""
    metrics: dict[str, Any] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    """The background questions whose answers were applied after the last turn, as in `TurnRecord`."""
    memory_events: tuple[MemoryEvent, ...] = ()
    """The changes of the memory by these answers."""


Event = (
    EpisodeStarted
    | TurnRecord
    | KnowledgeUpdated
    | ObjectivesUpdated
    | HistorySummarized
    | DeduplicationMetrics
    | ModelCalled
    | EpisodeResumed
    | EpisodeEnded
)
_INNER: dict[type, str] = {TurnRecord: "transition", ModelCalled: "call"}
"""The field that is replaced by its own fields in the log."""
_KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in get_args(Event)}


def to_record(event: Event) -> dict[str, Any]:
    """Return the event as a JSON object. The fields of a turn's transition or a model's call are merged into it."""
    record: dict[str, Any] = {"v": SCHEMA_VERSION, "event": event.kind} | _fields(event)
    inner = _INNER.get(type(event))
    return record | _fields(record.pop(inner)) if inner else record


def from_record(record: dict[str, Any]) -> Event | None:
    """Return the event in a JSON object; None if it is of a kind that a later version added.

    Raises:
        ValidationError: If a required field is missing, or a value has the wrong type.
    """
    kind = _KINDS.get(record.get("event", ""))
    if kind is None:
        return None
    inner = _INNER.get(kind)
    return _adapter(kind.kind).validate_python(record | {inner: record} if inner else record)


def _fields(value: Event | Transition | CallRecord) -> dict[str, Any]:
    # `asdict` copies deeply, which is much slower.
    return {each.name: getattr(value, each.name) for each in fields(value)}


@cache
def _adapter(kind: str) -> TypeAdapter[Event]:
    return TypeAdapter(_KINDS[kind])
