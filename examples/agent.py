"""A scripted agent with a memory of places, for any world that can start over."""

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zorkgpt import AgentMemory

MAX_STEPS = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an action."""

    text: str
    changed: bool = False
    """Whether the world changed, apart from the agent's place."""
    done: bool = False
    """Whether the task is done, which ends the episode."""


class World(Protocol):
    """A world that starts over with every episode."""

    @property
    def place(self) -> str: ...

    def reset(self) -> None: ...

    def actions(self) -> list[str]:
        """Return the actions at this place. Those that begin with "go" lead to another place."""
        ...

    def act(self, action: str) -> Outcome: ...


@dataclass(slots=True)
class Episode:
    """The agent's knowledge of the current episode."""

    visits: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    failed: dict[tuple[str, str], int] = field(default_factory=dict)
    """Place and action → number of changes before its last failure."""


def play(world: World, memory: AgentMemory) -> int:
    """Play an episode. Return the number of actions."""
    world.reset()
    memory.new_episode()
    now = Episode()
    for step in range(1, MAX_STEPS + 1):
        place = world.place
        now.visits[place] = now.visits.get(place, 0) + 1
        action = choose(memory, place, world.actions(), now)
        outcome = world.act(action)
        learn(memory, place, action, outcome, arrived=world.place)
        if outcome.done:
            return step
        if outcome.changed:
            now.changes += 1
        elif world.place == place:
            now.failed[place, action] = now.changes
    return MAX_STEPS


def choose(memory: AgentMemory, place: str, actions: Iterable[str], now: Episode) -> str:
    """Return the best action: a known success, then an unknown action, then the way to the least visited place."""

    def rank(action: str) -> tuple[int, int]:
        known, done = memory.get(action, place), memory.get(f"done: {action}", place)
        if action.startswith("go "):
            leads_to = known.memory.text.removeprefix("Leads to ").rstrip(".") if known else ""
            return 3, now.visits.get(leads_to, 0)
        if now.failed.get((place, action)) == now.changes:
            return 4, 0
        if known is None:
            return 1, 0
        if known.memory.category == "SUCCESS" and done is None:
            return 0, 0
        # After a change, try actions again that failed in this episode, but not those that failed in earlier ones.
        return (2, 0) if (place, action) in now.failed else (4, 0)

    return min(actions, key=rank)


def learn(memory: AgentMemory, place: str, action: str, outcome: Outcome, *, arrived: str) -> None:
    """Remember the effect of an action, as a permanent memory, and the change it made, as an ephemeral one."""
    known = memory.get(action, place)
    if arrived != place:
        text, category = f"Leads to {arrived}.", "NOTE"
    else:
        text = f"Result: {outcome.text}"
        category = "SUCCESS" if outcome.changed or outcome.done else "FAILURE"
    if known is None:
        memory.remember(place, text, title=action, category=category)
    elif category == "SUCCESS" and known.memory.category == "FAILURE":
        # It failed before only because another action had to come first.
        memory.supersede(known.id, text, title=action, category=category)
    if outcome.changed:
        memory.remember(place, outcome.text, title=f"done: {action}", persistence="ephemeral")


def compared(make: Callable[[], World], episodes: int = 5) -> dict[str, list[int]]:
    """Return the number of actions of each episode, with a shared memory and with a new memory each time."""
    with tempfile.TemporaryDirectory() as folder, AgentMemory.open(Path(folder) / "Memories.md") as memory:
        world = make()
        lasting = [play(world, memory) for _ in range(episodes)]
    fresh = []
    for _ in range(episodes):
        with tempfile.TemporaryDirectory() as folder, AgentMemory.open(Path(folder) / "Memories.md") as memory:
            fresh.append(play(make(), memory))
    return {"shared memory": lasting, "new memory each time": fresh}


def main(make: Callable[[], World]) -> None:
    """Print the comparison."""
    for name, steps in compared(make).items():
        print(f"{name:20} {' '.join(f'{each:4}' for each in steps)}   actions per episode")
