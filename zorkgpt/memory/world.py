"""The vocabulary of the world in which the memory is used, and which facts about an outcome are certain."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from pathlib import Path


@dataclass(frozen=True, slots=True)
class World:
    """The vocabulary of a world, for prompts."""

    agent: str
    """The owner of the memory, with its article: "a text adventure player"."""
    place: str
    """The word for a place: "page"."""
    action: str
    """The word for an action: "command"."""
    outcome: str
    """The word for the result of an action: "response"."""
    reset: str
    """A sentence about what happens to the agent's changes at the end of an episode."""
    certain: frozenset[str] | None = None
    """The names of the certain facts. The others are presented as reported. None if all are certain."""
    template: str | Path = "memory_outcome"
    """The prompt: the path of a Jinja template with the blocks `system` and `user`, or the name of a built-in one."""


TEXT_ADVENTURE = World(
    agent="a text adventure player",
    place="place",
    action="command",
    outcome="response",
    reset="At the end of an episode the game restarts: the world is then as it was at the very beginning.",
    template="memory_synthesis",
)
NEUTRAL = World(
    agent="an agent",
    place="place",
    action="action",
    outcome="result",
    reset="At the end of an episode everything that the agent did to its surroundings may be undone.",
)


_OWN = ("reward", "done", "changed", "place_after")
"""Facts that are converted to fields of `ZMachineContext`."""


def context_of(facts: Mapping[str, object]) -> dict[str, object]:
    """Return facts about a turn as fields of `ZMachineContext`. Facts with other names are returned unchanged.

    Args:
        facts: `reward` (a number), `done` and `first_visit` (booleans), `changed` (a boolean, or the changes),
            `place_after` (the destination of the action), `turn`, or any field of `ZMachineContext`.

    Raises:
        TypeError, ValueError: If the reward is not a finite number.
    """
    fields = {name: value for name, value in facts.items() if name not in _OWN}
    reward = facts.get("reward")
    if reward is not None:
        # `Real` includes NumPy's numbers.
        if isinstance(reward, bool) or not isinstance(reward, Real):
            raise TypeError(f"The reward is {reward!r}; it must be a number.")
        value = reward if isinstance(reward, int) else float(reward)
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"The reward is {reward!r}; it must be finite.")
        # A reward between -1 and 1 counts as one point.
        fields.setdefault("score_delta", int(value) or (value > 0) - (value < 0))
    changed = bool(facts.get("changed")) or bool(facts.get("done"))
    fields.setdefault("unnamed_change", changed)
    fields.setdefault("nothing_changed", "changed" in facts and not changed and not fields.get("score_delta"))
    if facts.get("place_after") is not None:
        fields.setdefault("location_after", facts["place_after"])
    return fields
