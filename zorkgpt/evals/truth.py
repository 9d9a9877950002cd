"""Compare the memories shown to the player with the object tree in each turn."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

from game_interface.game import Game
from game_interface.models import Transition
from orchestration.services import Services
from session.history import TurnRecord
from session.outcome import failed
from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.encoding import as_json
from zorkgpt.memory.claims import STATES, Claim, Relation
from zorkgpt.memory.credit import plain_words
from zorkgpt.memory.models import Memory, PlaceKey, same_episode
from zorkgpt.memory.objects import PlacedObject
from zorkgpt.memory.parts import open_store
from zorkgpt.memory.places import is_place
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.upkeep.audit import is_claim_true
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted
from zorkgpt.text import indented

FILE_NAME = "shown_memories.jsonl"
"""The file in the directory of an episode with a row for each turn."""

StatementKey = tuple[PlaceKey, str, str]
"""The place, title and text of a memory."""


@dataclass(frozen=True, slots=True)
class ShownMemories:
    """The accuracy of the memories of the player's place in one turn, by the object tree.

    A *belief* is a memory of the place that is current, or was current earlier in the run. It is *stale* if the object
    tree contradicts one of its claims. A *note* is the current state that is shown with a memory it contradicts.
    """

    turn: int
    place: int | None = None
    """The player's place before the turn. None if unknown."""
    shown: int = 0
    earlier: int = 0
    """Of the shown memories, those from earlier episodes."""
    decided: int = 0
    """Of the shown memories, those with a claim that the object tree can check."""
    untrue: int = 0
    """Of the decided memories, those with a contradicted claim and no note."""
    untrue_ids: list[str] = field(default_factory=list)
    """The ids of the untrue memories."""
    undone: list[int] = field(default_factory=list)
    """The shown memories that are in `undone_before`, by their indexes."""
    undone_before: list[list[PlaceKey | str]] = field(default_factory=list)
    """In turn 0: place, title and text of each memory that the restart before this episode made untrue."""
    stale: int = 0
    """Stale beliefs about the place before the turn."""
    resolved: int = 0
    """Of those, beliefs that were not shown, or were shown with a note."""
    acted_on_stale: bool = False
    """Whether the action mentions an object of a contradicted claim."""
    failed_on_stale: bool = False
    """Whether such an action had no effect."""
    stored: int = 0
    """New memories with a claim that the object tree can check."""
    stored_true: int = 0
    """Of those, memories that were true before or after the turn."""
    points: int = 0
    """Facts to remember: objects that the action moved, opened, locked or lit, and on the first visit of a place the
    objects there."""
    points_known: int = 0
    """Of those, objects for which a memory of the place has a true claim or a note."""
    updates: int = 0
    """Memories of the place that were true before the turn and are contradicted after it."""
    misled: int = 0
    """Of those, memories about an object for which another untrue memory was stored in this turn."""
    omitted: int = 0
    """Of the other updates, memories that are still current and have no note."""

    @property
    def undone_keys(self) -> list[StatementKey]:
        return [(place, str(title), str(text)) for place, title, text in self.undone_before]


@dataclass(frozen=True, slots=True)
class WorldSnapshot:
    """The state of the world at one moment, by the object tree."""

    things: Mapping[int, PlacedObject]
    carried: frozenset[int]
    dark: bool

    @classmethod
    def of(cls, game: Game) -> "WorldSnapshot":
        """Return the present state of a game."""
        things = {thing.number: thing for thing in game.all_objects()}
        carried = [thing for thing in game.things() if thing.carried]
        for thing in carried:
            things[thing.number] = PlacedObject(
                thing.number, thing.name, None, holder=thing.holder_number, movable=True, states=thing.states
            )
        return cls(things, frozenset(thing.number for thing in carried), game.observe().dark)

    def confirms(self, place: PlaceKey, memory: Memory) -> bool | None:
        """Return whether all checkable claims of a memory are true. None if none can be checked.

        Claims that are limited to a certain state of the world are not checked.
        """
        checked = [is_true for claim in _unconditional(memory) if (is_true := self._is_true(claim, place)) is not None]
        return all(checked) if checked else None

    def contradicted(self, place: PlaceKey, memory: Memory) -> list[Claim]:
        """Return the untrue claims of a memory."""
        return [claim for claim in _unconditional(memory) if self._is_true(claim, place) is False]

    def has_true_claim(self, place: PlaceKey, memory: Memory, number: int) -> bool:
        """Return whether a memory has a true claim about an object."""
        return any(claim.number == number and self._is_true(claim, place) for claim in memory.claims)

    def name_of(self, number: int | None) -> str:
        """Return the name of an object, or "" if unknown."""
        thing = self.things.get(number) if number is not None else None
        return thing.name if thing else ""

    def _is_true(self, claim: Claim, place: PlaceKey) -> bool | None:
        match claim.relation:
            case Relation.CARRIED:
                return claim.number in self.carried
            case Relation.NOT_CARRIED:
                return claim.number not in self.carried
            case Relation.LIGHT | Relation.DARK:
                # If the game has no darkness flag, `dark` is false, so only true can be trusted.
                return (claim.relation is Relation.DARK) if self.dark else None
        thing = self.things.get(claim.number) if claim.number is not None else None
        if thing is None:
            return None
        if claim.relation is Relation.ABSENT:
            return thing.room != place
        return is_claim_true(claim, thing, place)


@dataclass(frozen=True, slots=True)
class _PriorMemory:
    """A memory of the player's place before a turn."""

    memory: Memory
    is_current: bool
    """False if it was superseded, or was ephemeral in an earlier episode."""
    is_true: bool | None
    has_note: bool
    """Whether it is shown with a note of the contradicting state."""


class TruthRecorder:
    """A watcher that records for each turn whether the memories of the player's place are true.

    The claims are checked during the episode, because the object tree is not saved.

    Args:
        services: The services of the run.
        earlier: The ephemeral memories of earlier episodes.
    """

    def __init__(self, services: Services, earlier: Mapping[StatementKey, Memory]) -> None:
        self._services = services
        self._earlier = dict(sorted(earlier.items(), key=lambda item: str(item[0])))
        self._undone: list[StatementKey] = []
        self._here: dict[StatementKey, _PriorMemory] = {}
        """The memories of the player's place."""
        self._world: WorldSnapshot | None = None
        """The state before the next turn."""
        self._visited: set[PlaceKey] = set()
        """The places visited in this episode."""

    @property
    def _path(self) -> Path:
        workdir = Path(self._services.config.zork_game_workdir)
        return run_directory(workdir, self._services.state.episode_id) / FILE_NAME

    def episode_started(self, event: EpisodeStarted) -> None:
        self._undone, self._visited = sorted(self._undone_by_restart(), key=str), set()
        self._write(ShownMemories(0, undone_before=[list(key) for key in self._undone]))
        self._judge(self._look())

    def episode_resumed(self, event: EpisodeResumed) -> None:
        rows = list(read_shown(self._path.parent))
        self._undone = [key for row in rows for key in row.undone_keys]
        self._visited = {row.place for row in rows if row.place is not None and row.turn <= event.turn}
        self._judge(self._look())

    def turn_played(self, record: TurnRecord) -> None:
        world, place = self._look(), record.before.location_id
        if world is None or place is None:
            self._write(ShownMemories(record.turn, place))
        else:
            row = self._shown_memories(record, place)
            self._write(self._with_stored_memories(row, record, world))
        self._judge(world)

    def episode_ended(self, event: EpisodeEnded) -> None:
        self._here = {}

    def _look(self) -> "WorldSnapshot | None":
        return None if self._services.memory is None else WorldSnapshot.of(self._services.game)

    def _undone_by_restart(self) -> set[StatementKey]:
        """Return ephemeral memories of earlier episodes, and lasting ones that the new game contradicts."""
        memory, world = self._services.memory, self._look()
        if memory is None or world is None:
            return set()
        contradicted = (
            _key(located.location_id, located.memory)
            for located in memory.all_memories()
            if is_place(located.location_id)
            and is_current(located.memory)
            and world.confirms(located.location_id, located.memory) is False
        )
        return {*self._earlier, *contradicted}

    def _judge(self, world: "WorldSnapshot | None") -> None:
        """Check the memories of the place where the player chooses the next action."""
        self._here, self._world = {}, world
        memory, place = self._services.memory, self._services.game.observe().location_id
        if memory is None or world is None or place is None:
            return
        self._visited.add(place)
        caches = memory.memory_cache, memory.ephemeral_cache
        candidates = [each for cache in caches for each in cache.get(place, ())]
        candidates += [each for key, each in self._earlier.items() if key[0] == place]
        for each in candidates:
            key = _key(place, each)
            current = is_current(each) and self._earlier.get(key) is not each
            if current or key not in self._here:
                has_note = current and bool(memory.contradicting_state(place, each))
                self._here[key] = _PriorMemory(each, current, world.confirms(place, each), has_note)

    def _shown_memories(self, record: TurnRecord, place: int) -> ShownMemories:
        shown = {
            key: prior
            for key, prior in self._here.items()
            if prior.is_current and f"] {prior.memory.title}: {indented(prior.memory.text)}" in record.memory_shown
        }
        untrue = [prior.memory for prior in shown.values() if prior.is_true is False and not prior.has_note]
        stale = [prior.memory for prior in self._here.values() if prior.is_true is False]
        acted = any(self._mentions(record.transition.action, place, memory) for memory in stale)
        return ShownMemories(
            record.turn,
            place,
            shown=len(shown),
            earlier=sum(not same_episode(prior.memory.first_seen_in, record.episode) for prior in shown.values()),
            decided=sum(prior.is_true is not None for prior in shown.values()),
            untrue=len(untrue),
            untrue_ids=[memory.id for memory in untrue],
            undone=[self._undone.index(key) for key in shown if key in self._undone],
            stale=len(stale),
            resolved=len(stale) - len(untrue),
            acted_on_stale=acted,
            failed_on_stale=acted and failed(record.transition),
        )

    def _mentions(self, action: str, place: int, stale: Memory) -> bool:
        """Return whether an action mentions an object of a contradicted claim."""
        world = self._world
        assert world is not None
        names = [plain_words(world.name_of(claim.number)) for claim in world.contradicted(place, stale)]
        return any(name and name[-1] in plain_words(action) for name in names)

    def _with_stored_memories(self, row: ShownMemories, record: TurnRecord, world: "WorldSnapshot") -> ShownMemories:
        true, untrue = self._stored(record, world)
        points = list(self._points(record.transition))
        updates = self._updates(record.transition, world)
        misleading = {claim.number for memory in untrue for claim in memory.claims}
        misled = [not misleading.isdisjoint(numbers) for numbers, _ in updates]
        return replace(
            row,
            stored=len(true) + len(untrue),
            stored_true=len(true),
            points=len(points),
            points_known=sum(self._is_known(place, number, world) for place, number in points),
            updates=len(updates),
            misled=sum(misled),
            omitted=sum(not (is_misled or updated) for is_misled, (_, updated) in zip(misled, updates, strict=True)),
        )

    def _stored(self, record: TurnRecord, world: "WorldSnapshot") -> tuple[list[Memory], list[Memory]]:
        """Return the new memories that were true before or after the turn, and the untrue ones."""
        true: list[Memory] = []
        untrue: list[Memory] = []
        for event in record.memory_events:
            if event.kind != "added" or event.location_id is None:
                continue
            for memory in self._services.recall(cast(int, event.location_id)):
                if (memory.title, memory.text, memory.persistence) == (event.title, event.text, event.persistence):
                    worlds = [state for state in (self._world, world) if state is not None]
                    verdicts = {state.confirms(event.location_id, memory) for state in worlds}
                    if True in verdicts:
                        true.append(memory)
                    elif False in verdicts:
                        untrue.append(memory)
        return true, untrue

    def _points(self, step: Transition) -> Iterator[tuple[int, int]]:
        """Yield the facts to remember as (place, object)."""
        source, destination = step.before.location, step.after.location
        if source is not None and source == destination:
            visible = {item.num for observation in (step.before, step.after) for item in observation.at_hand}
            moved = {move.number for move in step.moved if not move.by_itself}
            changed = {change.number for change in step.changed if not change.by_itself and change.attribute in STATES}
            yield from ((source.num, number) for number in sorted((moved | changed) & visible))
        elif destination is not None and destination.num not in self._visited and not step.finished:
            for thing in self._services.game.things():
                if not thing.carried and (thing.states or not thing.fixed):
                    yield destination.num, thing.number

    def _is_known(self, place: int, number: int, world: "WorldSnapshot") -> bool:
        memory = self._services.memory
        assert memory is not None
        for each in self._services.recall(place):
            if world.has_true_claim(place, each, number):
                return True
            if any(claim.number == number for claim in each.claims) and memory.contradicting_state(place, each):
                return True
        return False

    def _updates(self, step: Transition, world: "WorldSnapshot") -> list[tuple[set[int | None], bool]]:
        """Return (objects of contradicted claims, was updated) for each memory that the turn made untrue."""
        memory, place = self._services.memory, step.before.location_id
        assert memory is not None
        assert place is not None
        current = {_key(place, each) for each in self._services.recall(place)}
        updates = []
        for key, prior in self._here.items():
            if prior.is_current and prior.is_true and world.confirms(place, prior.memory) is False:
                objects = {claim.number for claim in world.contradicted(place, prior.memory)}
                was_updated = key not in current or bool(memory.contradicting_state(place, prior.memory))
                updates.append((objects, was_updated))
        return updates

    def _write(self, row: ShownMemories) -> None:
        with self._path.open("ab") as file:
            file.write(as_json(asdict(row)) + b"\n")


def read_shown(directory: Path) -> Iterator[ShownMemories]:
    """Yield the last row of each turn of an episode, in order. None if there is no file."""
    rows: dict[int, ShownMemories] = {}
    path = directory / FILE_NAME
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            row = ShownMemories(**parse_json(line, RECORD))
        except (ValueError, TypeError):
            # The process was killed while writing. The turn is played and written again.
            continue
        if isinstance(row.turn, int):
            rows[row.turn] = row
    yield from (rows[turn] for turn in sorted(rows))


def ephemeral_of(memory_file: Path, episode: int) -> dict[StatementKey, Memory]:
    """Return the ephemeral memories of an episode at its end."""
    with closing(open_store(memory_file)) as store:
        found = store.journal.ephemeral(episode)
    return {
        _key(place, memory): memory
        for place, memories in found.items()
        for memory in memories
        if is_place(place) and is_current(memory)
    }


def _key(place: PlaceKey, memory: Memory) -> StatementKey:
    return place, memory.title, memory.text


def _unconditional(memory: Memory) -> tuple[Claim, ...]:
    """Return the claims of a memory, or none if they are limited to a certain state of the world."""
    return () if memory.when else memory.claims
