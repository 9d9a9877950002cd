"""Whether the memories that the player is shown are true of the world at that turn, by the object tree."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from game_interface.game import Game
from orchestration.services import Services
from session.ground_truth import audited_things
from session.history import TurnRecord
from zorkgpt.encoding import as_json
from zorkgpt.memory import episode_snapshot
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import Memory, Persistence, PlaceKey
from zorkgpt.memory.storage.changes import is_current
from zorkgpt.memory.upkeep.audit import Thing, is_so
from zorkgpt.runlog.episodes import run_directory
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted

FILE_NAME = "shown_memories.jsonl"
"""In the directory of an episode: what each turn's memories were worth."""

Key = tuple[PlaceKey, str, str]
"""The place, title and text of a memory."""


@dataclass(frozen=True, slots=True)
class ShownMemories:
    """What the memories that the player was shown on a turn are worth."""

    turn: int
    shown: int = 0
    decided: int = 0
    """Of those, the ones of whose claims the object tree decides at least one."""
    untrue: int = 0
    """Of the decided, the ones with a claim that does not hold and without a note that says so."""
    undone: list[int] = field(default_factory=list)
    """Of the shown, those of `undone_before`, by their indexes there."""
    undone_before: list[list[PlaceKey | str]] = field(default_factory=list)
    """On turn 0: place, title and text of each memory that the restart before this episode has undone."""

    @property
    def undone_keys(self) -> list[Key]:
        return [(place, str(title), str(text)) for place, title, text in self.undone_before]


@dataclass(frozen=True, slots=True)
class WorldNow:
    """What the object tree says of the present moment."""

    things: Mapping[int, Thing]
    carried: frozenset[int]
    dark: bool

    @classmethod
    def of(cls, game: Game) -> "WorldNow":
        """Ask the game."""
        things = {thing.number: thing for thing in audited_things(game)}
        held = [thing for thing in game.things() if thing.carried]
        for one in held:
            holder = one.holder.num if one.holder else None
            things[one.item.num] = Thing(
                one.item.num, one.item.name, None, holder=holder, movable=True, states=one.states
            )
        return cls(things, frozenset(one.item.num for one in held), game.observe().dark)

    def bears_out(self, place: PlaceKey, memory: Memory) -> bool | None:
        """Return whether all that can be decided of a memory's claims holds now; None: nothing can be decided.

        What a memory says of one state of the world only is not decided.
        """
        if memory.when:
            return None
        decided = [so for claim in memory.claims if (so := self._holds(claim, place)) is not None]
        return all(decided) if decided else None

    def _holds(self, claim: Claim, place: PlaceKey) -> bool | None:
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


class TruthRecorder:
    """A watcher that writes down, for each turn, what the memories shown to the player are worth.

    The claims are held against the object tree while the episode is played: afterwards nobody could tell.

    Args:
        earlier: what was true of an earlier episode only, and was not when it began anew.
    """

    def __init__(self, earlier: frozenset[Key]) -> None:
        self._followed: Services | None = None
        self._earlier = earlier
        self._undone: list[Key] = []
        self._here: list[tuple[Key, bool | None, bool]] = []
        """The memories of the present place: which, whether they hold, whether a note says what is so instead."""

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
        self._undone = sorted(self._undone_by_the_restart(), key=str)
        self._write(ShownMemories(0, undone_before=[list(key) for key in self._undone]))
        self._judge()

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._undone = [key for row in read_shown(self._path.parent) for key in row.undone_keys]
        self._judge()

    def turn_played(self, record: TurnRecord) -> None:
        lines = record.memory_shown.splitlines()
        shown = [one for one in self._here if any(f"] {one[0][1]}: {one[0][2]}" in line for line in lines)]
        self._write(
            ShownMemories(
                record.turn,
                shown=len(shown),
                decided=sum(holds is not None for _, holds, _ in shown),
                untrue=sum(holds is False and not noted for _, holds, noted in shown),
                undone=[self._undone.index(key) for key, _, _ in shown if key in self._undone],
            )
        )
        self._judge()

    def episode_ended(self, event: EpisodeEnded) -> None:
        self._here = []

    def _undone_by_the_restart(self) -> set[Key]:
        """Return what was true of an earlier episode only, and what is kept for good and the fresh world denies."""
        memory = self._services.memory
        if memory is None:
            return set()
        world = WorldNow.of(self._services.game)
        denied = (
            _key(one.location_id, one.memory)
            for one in memory.all_memories()
            if is_current(one.memory) and world.bears_out(one.location_id, one.memory) is False
        )
        return {*self._earlier, *denied}

    def _judge(self) -> None:
        """Judge the memories of the place where the player will choose next."""
        services, place = self._services, self._services.game.observe().location
        self._here = []
        if services.memory is None or place is None:
            return
        memories = services.recall(place.num)
        world = WorldNow.of(services.game) if any(memory.claims for memory in memories) else None
        for one in memories:
            noted = bool(services.memory.instead_of(place.num, one))
            holds = world.bears_out(place.num, one) if world else None
            self._here.append((_key(place.num, one), holds, noted))

    def _write(self, row: ShownMemories) -> None:
        with self._path.open("ab") as file:
            file.write(as_json(asdict(row)) + b"\n")


def read_shown(directory: Path) -> Iterator[ShownMemories]:
    """Yield what was written down of an episode, the last word on each turn, in their order; none if nothing was."""
    rows: dict[int, ShownMemories] = {}
    path = directory / FILE_NAME
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            row = ShownMemories(**json.loads(line))
        except (ValueError, TypeError):
            # A kill cut the line short; the turn is played and written again.
            continue
        rows[row.turn] = row
    yield from (rows[turn] for turn in sorted(rows))


def ephemeral_of(directory: Path, episode: int) -> frozenset[Key]:
    """Return what was true of an episode only, as it stood at the episode's end."""
    found = episode_snapshot.load(directory, episode)
    return frozenset(
        _key(place, memory)
        for place, memories in (found.memories.items() if found else ())
        for memory in memories
        if is_current(memory) and memory.persistence is Persistence.EPHEMERAL
    )


def _key(place: PlaceKey, memory: Memory) -> Key:
    return place, memory.title, memory.text
