"""An episode as a way that can be walked again: its commands, and where each of them led."""

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from zorkgpt.runlog.events import EpisodeStarted, Event, TurnPlayed


@dataclass(frozen=True, slots=True)
class ObservedState:
    """Where a game stands, as far as a player could tell: what a cell of the archive is known by."""

    place: int | None
    """Number of the room; None if the story does not tell."""
    inventory: tuple[str, ...]
    """Names of what is held, in alphabetical order."""
    score: int | None
    """None: not known, or of no matter."""


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A command, and what stood after it."""

    action: str
    standing: ObservedState
    place_name: str
    said: int
    """A checksum of the response."""
    effective: bool
    """The action itself changed something, or nobody wrote down whether it did."""


@dataclass(frozen=True, eq=False)
class Trail:
    """The steps of one episode, up to its first death."""

    episode: int
    start: int | None
    """Number of the room in which the story begins."""
    steps: tuple[TrailStep, ...]
    deadly: bool
    """The player died after the last step."""


def checksum(response: str) -> int:
    return crc32(response.encode("utf-8", "replace"))


def observed_state(place: int | None, inventory: Iterable[str], score: int | None) -> ObservedState:
    return ObservedState(place, tuple(sorted(inventory)), score)


def trail_of(started: EpisodeStarted, events: Iterable[Event]) -> Trail:
    """The way of an episode; commands that never reached the game are left out."""
    steps: list[TrailStep] = []
    deadly = False
    for turn in events:
        if not isinstance(turn, TurnPlayed) or turn.refused or turn.fault:
            continue
        if turn.died or (turn.finished and not turn.victory):
            deadly = True
            break
        steps.append(
            TrailStep(
                turn.action,
                observed_state(turn.location_after_id, turn.inventory, turn.score),
                turn.location_after,
                checksum(turn.response),
                turn.effective,
            )
        )
        if turn.finished:
            # Nothing can be done after the end.
            steps.pop()
            break
    return Trail(started.episode, started.location_id, tuple(steps), deadly)
