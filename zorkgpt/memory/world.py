"""What things are called where the memory is used, and which facts of an outcome are certain."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from pathlib import Path


@dataclass(frozen=True, slots=True)
class World:
    """The words of a world, for the questions that a model is asked."""

    agent: str
    """Whose memory it is, with its article: "a text adventure player"."""
    place: str
    """What a place is called: "page"."""
    action: str
    """What an action is called: "command"."""
    outcome: str
    """What comes back of an action is called: "response"."""
    reset: str
    """A sentence: what becomes of the agent's doings when an episode is over."""
    certain: frozenset[str] | None = None
    """The names of the facts that count as certain; the others are told as reported. None: all are certain."""
    template: str | Path = "memory_outcome"
    """The question: the path of a Jinja template with the blocks `system` and `user`, or the name of one of ours."""


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
"""Facts that say something of a turn under other names than the context has, or in another form."""


def context_of(facts: Mapping[str, object]) -> dict[str, object]:
    """Return what facts say of a turn in the terms of `ZMachineContext`; facts of other names are left alone.

    Args:
        facts: `reward` (a number), `done` and `first_visit` (true or false), `changed` (true or false, or what has
            changed), `place_after` (where the action led to), `turn`, or any field of `ZMachineContext`.

    Raises:
        TypeError, ValueError: the reward is no number.
    """
    told = {name: value for name, value in facts.items() if name not in _OWN}
    reward = facts.get("reward")
    if reward is not None:
        # NumPy's numbers are real ones too.
        if isinstance(reward, bool) or not isinstance(reward, Real):
            raise TypeError(f"The reward is {reward!r}; it must be a number.")
        value = reward if isinstance(reward, int) else float(reward)
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"The reward is {reward!r}; it must be finite.")
        # A small reward is one too.
        told.setdefault("score_delta", int(value) or (value > 0) - (value < 0))
    changed = bool(facts.get("changed")) or bool(facts.get("done"))
    told.setdefault("unnamed_change", changed)
    told.setdefault("nothing_changed", "changed" in facts and not changed and not told.get("score_delta"))
    if facts.get("place_after") is not None:
        told.setdefault("location_after", facts["place_after"])
    return told
