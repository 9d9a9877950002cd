"""What the log of an episode can say: one frozen value for each kind of line."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """An episode began from a fresh world."""

    kind: ClassVar[str] = "episode_started"
    episode: int
    time: str
    """ISO 8601, UTC."""
    player: str
    """Who plays: "model", "offline", "walkthrough" or "human"; offline means rules, no language model."""
    story: dict[str, Any]
    """title, release, serial, sha256."""
    seed: int
    max_turns: int
    opening: str
    location_id: int | None = None
    location: str = ""


@dataclass(frozen=True, slots=True)
class TurnPlayed:
    """One turn."""

    kind: ClassVar[str] = "turn_played"
    episode: int
    turn: int
    player: str
    location_id: int | None
    location: str
    """Where the action was taken."""
    location_after_id: int | None
    location_after: str
    action: str
    reasoning: str
    response: str
    score_before: int | None
    score: int | None
    moves: int | None
    inventory: list[str]
    died: bool
    finished: bool
    victory: bool
    failed: bool
    """It came to nothing: the whole state of the game is what it would be without it; looking and waiting never
    count."""
    refused: str | None = None
    fault: str | None = None
    memory_shown: str = ""
    memory_events: list[dict[str, Any]] = field(default_factory=list)
    duration_s: float = 0.0
    rejections: list[dict[str, Any]] = field(default_factory=list)
    """Proposals that were turned down before the action: action, reason, judge, score, obeyed."""
    critic_score: float | None = None
    """Of the action itself, -1 to 1; None: no model judged it."""
    effective: bool = True
    """The action itself changed something beside the player's place; so are turns of which nobody wrote it down."""
    extraction: dict[str, Any] | None = None
    """What was read in the response: is_room_description, exits, combat, enemies, by; None: nobody read it."""
    notices: list[str] = field(default_factory=list)
    """What the player was told about its own play before it chose: that it goes in a circle, that it is stuck."""
    carried_before: list[list[Any]] | None = None
    """What was held before the action, and all that was inside it: [number, name, number of what holds it]; None: not
    known."""
    visible_before: list[list[Any]] | None = None
    """What was in sight before the action and not carried, in the same form; None: not known."""
    dark: bool = False
    """Nothing could be seen before the action."""
    vehicle_id: int | None = None
    """What the player sat in before the action; None: nothing."""
    changed: list[list[Any]] = field(default_factory=list)
    """Attributes that were set or cleared meanwhile: [number of the thing, its name, attribute, whether it is set]."""


@dataclass(frozen=True, slots=True)
class KnowledgeUpdated:
    """The knowledge base is another than before."""

    kind: ClassVar[str] = "knowledge_updated"
    episode: int | str
    turn: int
    """After this one; 0: as the episode began."""
    added: list[str]
    """Texts of new lines."""
    struck: list[str]
    """Texts of lines that are not believed any more."""
    text: str
    """The whole file, or as much of its beginning as a line of the log should hold."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The commands that were to lead back to an earlier state are played, or led elsewhere; the player goes on."""

    kind: ClassVar[str] = "returned"
    episode: int
    turn: int
    """The last one that was played again."""
    from_episode: int
    """Whose commands they were."""
    from_turn: int
    """The last one of them, in that episode."""
    commands: int
    """How many there were to play."""
    shortened: bool
    """What changed nothing was left out."""
    arrived: bool
    difference: str
    """Where the way led elsewhere, what was other than expected; "" otherwise."""
    at_turn: int
    """Where it led elsewhere, the turn of that episode whose command did; 0 otherwise, and for commands put before."""
    place: int | None
    """What it was to lead to: place, score and inventory."""
    place_name: str
    score: int | None
    inventory: list[str]


@dataclass(frozen=True, slots=True)
class ObjectivesUpdated:
    """The objectives are others than before, or what became of them is."""

    kind: ClassVar[str] = "objectives_updated"
    episode: int
    turn: int
    """The last one that had been played."""
    objectives: list[dict[str, Any]]
    """Those that are pursued, the most promising first, then those that this episode reached or gave up: text,
    condition, done_when, places, origin, scope, status ("open", "stale", "reached" or "abandoned"), given_up, and
    reached: each time, with what shows it."""


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A question to a model, and its answer."""

    kind: ClassVar[str] = "model_called"
    episode: int | str
    turn: int
    """The one that it was asked for; 0: before the first."""
    time: str
    role: str
    model: str
    messages: list[dict[str, str]]
    """{speaker, content}, in order."""
    answer: str
    reasoning: str
    prompt_tokens: int | None
    """None: the server did not say; so for `completion_tokens`."""
    completion_tokens: int | None
    cost: float | None
    """None: not known."""
    latency_s: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class EpisodeResumed:
    """An episode that was cut short goes on; the turns after the checkpoint are played, and written, again."""

    kind: ClassVar[str] = "episode_resumed"
    episode: int
    time: str
    turn: int
    """The last one that was over."""
    max_turns: int


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode is over, or was cut short: one that goes on after that has `EpisodeResumed` next."""

    kind: ClassVar[str] = "episode_ended"
    episode: int
    time: str
    reason: str
    """ "victory", "death", "turn limit", "budget", "interrupted" or "error"."""
    turns: int
    score: int | None
    max_score: int | None
    places: int
    deaths: int
    memories: dict[str, int]
    """core, permanent, ephemeral, as they stood at the end."""
    message: str = ""
    """What ended it, where that was an error."""
    metrics: dict[str, Any] = field(default_factory=dict)


Event = (
    EpisodeStarted
    | TurnPlayed
    | Returned
    | KnowledgeUpdated
    | ObjectivesUpdated
    | ModelCalled
    | EpisodeResumed
    | EpisodeEnded
)
_KINDS: dict[str, type[Event]] = {
    kind.kind: kind
    for kind in (
        EpisodeStarted,
        TurnPlayed,
        Returned,
        KnowledgeUpdated,
        ObjectivesUpdated,
        ModelCalled,
        EpisodeResumed,
        EpisodeEnded,
    )
}
_FIELDS = {kind: tuple(field.name for field in fields(kind)) for kind in _KINDS.values()}
"""Their values are plain already."""


def to_record(event: Event) -> dict[str, Any]:
    """The event as a JSON object."""
    return {"v": SCHEMA_VERSION, "event": event.kind} | {name: getattr(event, name) for name in _FIELDS[type(event)]}


def from_record(record: dict[str, Any]) -> Event | None:
    """The event that a JSON object holds; None if it is of a kind that a later version added.

    Raises:
        TypeError: a field that every such event has is missing.
    """
    kind = _KINDS.get(record.get("event", ""))
    if kind is None:
        return None
    return kind(**{name: record[name] for name in _FIELDS[kind] if name in record})
