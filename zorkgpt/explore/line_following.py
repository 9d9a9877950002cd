"""Follow the best line: the position of an episode on it, and the part being followed."""

from dataclasses import asdict, dataclass
from typing import Any

from game_interface.models import Observation, Transition
from zorkgpt.directions import exit_name
from zorkgpt.explore.best_line import BestLine, LineAhead, state_digest
from zorkgpt.world.graph import MapGraph


@dataclass
class FollowedPart:
    """The part of the best line that is followed, with its progress."""

    actions: tuple[str, ...]
    done: int = 0
    """The number of played commands."""
    difference: str = ""
    """Why following stopped early. "" if it did not."""

    @property
    def next(self) -> str | None:
        """The next command. None if nothing is left, or following has stopped."""
        return self.actions[self.done] if not self.difference and self.done < len(self.actions) else None


class LineFollower:
    """Follows the best line in one episode.

    Args:
        line: The line; None if there is none.
        graph: The map, which knows the deadly actions.
    """

    def __init__(self, line: BestLine | None, graph: MapGraph) -> None:
        self.line = line
        self._graph = graph
        self._reached = 0
        """The position on the line: the number of its steps that were taken."""
        self.followed: FollowedPart | None = None
        """The part that was followed last; None if there was none."""

    @property
    def is_following(self) -> bool:
        """Whether the followed part has steps left."""
        return self.followed is not None and self.followed.next is not None

    def ahead(self, now: Observation, turns: int) -> LineAhead | None:
        """Return the rest of the line; None if this state is not on it or nothing is left.

        Args:
            turns: The number of turns played.
        """
        line, at = self.line, self._position(now)
        return line.ahead(at, self._safe_end(line, at, turns)) if line and at is not None else None

    def follow(self, now: Observation, turns: int, most: int | None = None) -> FollowedPart | None:
        """Start to follow the line and return the part to follow; None if this state is not on it.

        Args:
            turns: The number of turns played.
            most: Maximum steps to follow. Defaults to all.
        """
        line, at = self.line, self._position(now)
        if line is None or at is None:
            return None
        steps = line.steps[at : self._safe_end(line, at, turns)][:most]
        if not steps:
            return None
        self._reached = at
        self.followed = FollowedPart(tuple(step.action for step in steps))
        return self.followed

    def process(self, turn: Transition) -> None:
        """Compare a turn with the line. Continue with the next step if the result is the same."""
        planned = self.followed.next if self.followed else None
        if self.line is not None and self.followed is not None and planned is not None:
            self._compare(self.line, self.followed, planned, turn)
        elif (at := self._position(turn.after)) is not None:
            self._reached = at

    def snapshot(self) -> dict[str, Any]:
        """Return the followed part and the position on the line, as JSON values."""
        return {"followed": asdict(self.followed) if self.followed else None, "reached": self._reached}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""
        followed = state["followed"]
        self.followed = FollowedPart(**followed | {"actions": tuple(followed["actions"])}) if followed else None
        self._reached = state["reached"]

    def _compare(self, line: BestLine, followed: FollowedPart, planned: str, turn: Transition) -> None:
        followed.done += 1
        if turn.action != planned:
            followed.difference = f"{turn.action!r} was played instead of {planned!r}"
        elif state_digest(turn.after) != line.digests[self._reached + 1]:
            followed.difference = f"{planned!r} led to another state than before"
        else:
            self._reached += 1

    def _position(self, now: Observation) -> int | None:
        """Return the position of this state on the line; None if it is not on it."""
        return self.line.position(now, self._reached) if self.line else None

    def _safe_end(self, line: BestLine, at: int, turns: int) -> int:
        """Return the position from `at` on where the line ends or the next step has killed the player.

        If the episode has played only the line, random events are the same as before, so every step is safe.
        """
        steps = line.steps
        if turns == at:
            return len(steps)
        places = [line.start, *(step.location_id for step in steps)]
        for position in range(at, len(steps)):
            if (places[position], exit_name(steps[position].action)) in self._graph.moves.deadly:
                return position
        return len(steps)
