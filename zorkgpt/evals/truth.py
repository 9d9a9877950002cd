"""Judge by the object tree whether the memories that the player is shown are true at that turn."""

from collections.abc import Iterator, Mapping
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
from zorkgpt.memory.credit import words_of
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, PlaceKey, same_episode
from zorkgpt.memory.objects import PlacedObject
from zorkgpt.memory.places import is_place
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.upkeep.audit import is_so
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted
from zorkgpt.text import indented

FILE_NAME = "shown_memories.jsonl"
"""In the directory of an episode: what each turn's memories were worth."""

StatementKey = tuple[PlaceKey, str, str]
"""The place, title and text of a memory."""


@dataclass(frozen=True, slots=True)
class ShownMemories:
    """What the memories of the player's place are worth on a turn, by the object tree.

    A *belief* is a memory of the place that is kept, or was kept earlier in the run and is not any more. It is *stale*
    where the object tree denies one of its claims.
    """

    turn: int
    place: int | None = None
    """The player's place before the turn; None if unknown."""
    shown: int = 0
    earlier: int = 0
    """Of those, the ones that an earlier episode has taught."""
    decided: int = 0
    """Of those, the ones of whose claims the object tree decides at least one."""
    untrue: int = 0
    """Of the decided, the ones with a claim that does not hold and without a note that says so."""
    untrue_ids: list[str] = field(default_factory=list)
    """The ids of these."""
    undone: list[int] = field(default_factory=list)
    """Of the shown, those of `undone_before`, by their indexes there."""
    undone_before: list[list[PlaceKey | str]] = field(default_factory=list)
    """On turn 0: place, title and text of each memory that the restart before this episode has undone."""
    stale: int = 0
    """Stale beliefs of the place before the turn."""
    resolved: int = 0
    """Of those, the ones that were not shown, or with a note of what is so instead."""
    acted_on_stale: bool = False
    """Whether the action names a thing of which a stale belief says what is not so."""
    in_vain: bool = False
    """Whether such an action did nothing."""
    stored: int = 0
    """New memories whose claims the object tree decides."""
    stored_true: int = 0
    """Of those, the ones that held before the turn or after it."""
    points: int = 0
    """Things that the turn showed: that the action moved, opened, locked or lit, and on the first visit of a place
    those that are there."""
    points_known: int = 0
    """Of those, the ones of which a memory of the place claims what is so, or carries a note of what is so."""
    updates: int = 0
    """Memories of the place that held before the turn and are denied after it."""
    misled: int = 0
    """Of those, the ones of whose things something was stored on this turn that is not so either."""
    omitted: int = 0
    """Of the other updates, the ones that are believed as they were, without a note of what is so."""

    @property
    def undone_keys(self) -> list[StatementKey]:
        return [(place, str(title), str(text)) for place, title, text in self.undone_before]


@dataclass(frozen=True, slots=True)
class WorldNow:
    """What the object tree says of the present moment."""

    things: Mapping[int, PlacedObject]
    carried: frozenset[int]
    dark: bool

    @classmethod
    def of(cls, game: Game) -> "WorldNow":
        """Ask the game."""
        things = {thing.number: thing for thing in game.all_objects()}
        held = [thing for thing in game.things() if thing.carried]
        for one in held:
            things[one.number] = PlacedObject(
                one.number, one.name, None, holder=one.holder_number, movable=True, states=one.states
            )
        return cls(things, frozenset(one.number for one in held), game.observe().dark)

    def bears_out(self, place: PlaceKey, memory: Memory) -> bool | None:
        """Return whether all that can be decided of a memory's claims holds now; None if nothing can be decided.

        What a memory says of one state of the world only is not decided.
        """
        decided = [so for claim in _unconditional(memory) if (so := self._is_true(claim, place)) is not None]
        return all(decided) if decided else None

    def denied(self, place: PlaceKey, memory: Memory) -> list[Claim]:
        """Return the claims of a memory that do not hold now."""
        return [claim for claim in _unconditional(memory) if self._is_true(claim, place) is False]

    def has(self, place: PlaceKey, memory: Memory, number: int) -> bool:
        """Return whether a memory says something of a thing that is so now."""
        return any(claim.number == number and self._is_true(claim, place) for claim in memory.claims)

    def name_of(self, number: int | None) -> str:
        """Return the name of a thing; "" if unknown."""
        thing = self.things.get(number) if number is not None else None
        return thing.name if thing else ""

    def _is_true(self, claim: Claim, place: PlaceKey) -> bool | None:
        match claim.relation:
            case Relation.CARRIED:
                return claim.number in self.carried
            case Relation.NOT_CARRIED:
                return claim.number not in self.carried
            case Relation.LIGHT | Relation.DARK:
                # A game that does not tell says "not dark".
                return (claim.relation is Relation.DARK) if self.dark else None
        thing = self.things.get(claim.number) if claim.number is not None else None
        if thing is None:
            return None
        if claim.relation is Relation.ABSENT:
            return thing.room != place
        return is_so(claim, thing, place)


@dataclass(frozen=True, slots=True)
class _PriorMemory:
    """A memory of the player's place before a turn."""

    memory: Memory
    kept: bool
    """Whether it is believed now; others were superseded, or true of an earlier episode only."""
    holds: bool | None
    noted: bool
    """Whether a note says what is so instead."""


class TruthRecorder:
    """A watcher that records for each turn whether the memories of the player's place are true.

    The claims are compared with the object tree during the episode, because its state is not kept.

    Args:
        earlier: The memories that were true only in an earlier episode.
    """

    def __init__(self, earlier: frozenset["LocatedEphemeral"]) -> None:
        self._followed: Services | None = None
        self._earlier = {one.key: one.memory for one in sorted(earlier, key=lambda one: str(one.key))}
        self._undone: list[StatementKey] = []
        self._here: dict[StatementKey, _PriorMemory] = {}
        """The memories of the present place."""
        self._world: WorldNow | None = None
        """Before the next turn."""
        self._visited: set[PlaceKey] = set()
        """Of this episode."""

    def follow(self, services: Services) -> None:
        """Follow the run with these services; called before its first episode."""
        self._followed = services

    @property
    def _services(self) -> Services:
        assert self._followed is not None
        return self._followed

    @property
    def _path(self) -> Path:
        workdir = Path(self._services.config.zork_game_workdir)
        return run_directory(workdir, self._services.state.episode_id) / FILE_NAME

    def episode_started(self, event: EpisodeStarted) -> None:
        self._undone, self._visited = sorted(self._undone_by_the_restart(), key=str), set()
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
            row = self._of_what_was_shown(record, place)
            self._write(self._with_what_was_learned(row, record, world))
        self._judge(world)

    def episode_ended(self, event: EpisodeEnded) -> None:
        self._here = {}

    def _look(self) -> "WorldNow | None":
        return None if self._services.memory is None else WorldNow.of(self._services.game)

    def _undone_by_the_restart(self) -> set[StatementKey]:
        """Return what was true of an earlier episode only, and what is kept for good and the fresh world denies."""
        memory, world = self._services.memory, self._look()
        if memory is None or world is None:
            return set()
        denied = (
            _key(one.location_id, one.memory)
            for one in memory.all_memories()
            if is_place(one.location_id)
            and is_current(one.memory)
            and world.bears_out(one.location_id, one.memory) is False
        )
        return {*self._earlier, *denied}

    def _judge(self, world: "WorldNow | None") -> None:
        """Judge the memories of the place where the player will choose next."""
        self._here, self._world = {}, world
        memory, place = self._services.memory, self._services.game.observe().location_id
        if memory is None or world is None or place is None:
            return
        self._visited.add(place)
        caches = memory.memory_cache, memory.ephemeral_cache
        known = [one for cache in caches for one in cache.get(place, ())]
        known += [one for key, one in self._earlier.items() if key[0] == place]
        for one in known:
            kept = is_current(one) and self._earlier.get(_key(place, one)) is not one
            if kept or _key(place, one) not in self._here:
                noted = kept and bool(memory.contradicting_state(place, one))
                self._here[_key(place, one)] = _PriorMemory(one, kept, world.bears_out(place, one), noted)

    def _of_what_was_shown(self, record: TurnRecord, place: int) -> ShownMemories:
        shown = {
            key: one
            for key, one in self._here.items()
            if one.kept and f"] {one.memory.title}: {indented(one.memory.text)}" in record.memory_shown
        }
        untrue = {key: one for key, one in shown.items() if one.holds is False and not one.noted}
        stale = [one.memory for one in self._here.values() if one.holds is False]
        acted = any(self._is_named(record.transition.action, place, one) for one in stale)
        return ShownMemories(
            record.turn,
            place,
            shown=len(shown),
            earlier=sum(not same_episode(_first_episode(one.memory), record.episode) for one in shown.values()),
            decided=sum(one.holds is not None for one in shown.values()),
            untrue=len(untrue),
            untrue_ids=[memory_id(place, one.memory) for one in untrue.values()],
            undone=[self._undone.index(key) for key in shown if key in self._undone],
            stale=len(stale),
            resolved=len(stale) - len(untrue),
            acted_on_stale=acted,
            in_vain=acted and failed(record.transition),
        )

    def _is_named(self, action: str, place: int, stale: Memory) -> bool:
        """Return whether an action names a thing of which a stale belief says what is not so."""
        world = self._world
        assert world is not None
        names = [words_of(world.name_of(claim.number)) for claim in world.denied(place, stale)]
        return any(name and name[-1] in words_of(action) for name in names)

    def _with_what_was_learned(self, row: ShownMemories, record: TurnRecord, world: "WorldNow") -> ShownMemories:
        true, untrue = self._stored(record, world)
        points = list(self._points(record.transition))
        updates = self._updates(record.transition, world)
        misleading = {claim.number for one in untrue for claim in one.claims}
        misled = [not misleading.isdisjoint(numbers) for numbers, _ in updates]
        return replace(
            row,
            stored=len(true) + len(untrue),
            stored_true=len(true),
            points=len(points),
            points_known=sum(self._is_known(place, number, world) for place, number in points),
            updates=len(updates),
            misled=sum(misled),
            omitted=sum(not (wrongly or updated) for wrongly, (_, updated) in zip(misled, updates, strict=True)),
        )

    def _stored(self, record: TurnRecord, world: "WorldNow") -> tuple[list[Memory], list[Memory]]:
        """Return the new memories that the turn bears out, before it or after it, and those that it denies."""
        true: list[Memory] = []
        untrue: list[Memory] = []
        for event in record.memory_events:
            if event.kind != "added" or event.location_id is None:
                continue
            for one in self._services.recall(cast(int, event.location_id)):
                if (one.title, one.text, one.persistence) == (event.title, event.text, event.persistence):
                    worlds = [each for each in (self._world, world) if each is not None]
                    told = {each.bears_out(event.location_id, one) for each in worlds} - {None}
                    if told:
                        (true if True in told else untrue).append(one)
        return true, untrue

    def _points(self, step: Transition) -> Iterator[tuple[int, int]]:
        """Yield the things that the turn showed, with the place where they are to be remembered."""
        source, destination = step.before.location, step.after.location
        if source is not None and source == destination:
            seen = {item.num for now in (step.before, step.after) for item in now.at_hand}
            moved = {move.number for move in step.moved if not move.by_itself}
            changed = {one.number for one in step.changed if not one.by_itself and one.attribute in STATES}
            yield from ((source.num, number) for number in sorted((moved | changed) & seen))
        elif destination is not None and destination.num not in self._visited and not step.finished:
            for thing in self._services.game.things():
                if not thing.carried and (thing.states or not thing.fixed):
                    yield destination.num, thing.number

    def _is_known(self, place: int, number: int, world: "WorldNow") -> bool:
        memory = self._services.memory
        assert memory is not None
        return any(
            world.has(place, one, number)
            or (any(claim.number == number for claim in one.claims) and bool(memory.contradicting_state(place, one)))
            for one in self._services.recall(place)
        )

    def _updates(self, step: Transition, world: "WorldNow") -> list[tuple[set[int | None], bool]]:
        """Return the things of each memory that the turn has made untrue, and whether the memory was updated."""
        memory, place = self._services.memory, step.before.location_id
        assert memory is not None
        assert place is not None
        current = {_key(place, one) for one in self._services.recall(place)}
        return [
            (
                {claim.number for claim in world.denied(place, one.memory)},
                key not in current or bool(memory.contradicting_state(place, one.memory)),
            )
            for key, one in self._here.items()
            if one.kept and one.holds and world.bears_out(place, one.memory) is False
        ]

    def _write(self, row: ShownMemories) -> None:
        with self._path.open("ab") as file:
            file.write(as_json(asdict(row)) + b"\n")


def read_shown(directory: Path) -> Iterator[ShownMemories]:
    """Yield what was written down of an episode, the last word on each turn, in their order; none if nothing was."""
    rows: dict[int, ShownMemories] = {}
    path = directory / FILE_NAME
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            row = ShownMemories(**parse_json(line, RECORD))
        except (ValueError, TypeError):
            # A kill cut the line short; the turn is played and written again.
            continue
        if isinstance(row.turn, int):
            rows[row.turn] = row
    yield from (rows[turn] for turn in sorted(rows))


@dataclass(frozen=True, slots=True)
class LocatedEphemeral:
    """A memory that was true only in an earlier episode."""

    key: StatementKey
    memory: Memory = field(compare=False)


def located(place: PlaceKey, memory: Memory) -> LocatedEphemeral:
    return LocatedEphemeral(_key(place, memory), memory)


def ephemeral_of(directory: Path, episode: int) -> frozenset[LocatedEphemeral]:
    """Return the memories that were true only in an episode, as of its end."""
    journal = Journal(sidecar(directory.parent.parent / "Memories.md"))
    return frozenset(
        located(place, memory)
        for place, memories in journal.ephemeral(episode).items()
        for memory in memories
        if is_place(place) and is_current(memory)
    )


def _key(place: PlaceKey, memory: Memory) -> StatementKey:
    return place, memory.title, memory.text


def _first_episode(memory: Memory) -> int | str:
    return memory.episode if memory.first_episode is None else memory.first_episode


def _unconditional(memory: Memory) -> tuple[Claim, ...]:
    """Return what a memory claims of the world whatever its state; what holds in one state only is not decided."""
    return () if memory.when else memory.claims
