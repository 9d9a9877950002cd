"""The log of one episode: where each turn stands in the file, and what is needed of all turns at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zorkgpt.memory.models import Persistence
from zorkgpt.runlog.events import SCHEMA_VERSION
from zorkgpt.runlog.playing import is_played
from zorkgpt.viewer.lines import Lines
from zorkgpt.viewer.passing_threads import Happened
from zorkgpt.viewer.values import number, objects, text, texts, whole_number
from zorkgpt.world.directions import directions_in, exit_name

FAILED, DIED, VICTORY, REFUSED, REJECTED, WROTE, REPEATED, CONTESTED = (1 << bit for bit in range(8))
"""What a turn is marked with in `marks`."""
_REPEATS = ("seen again", "merged")
COLUMNS = ("turns", "places", "places_after", "scores", "marks", "seconds")
NOTED = ("objectives_updated", "knowledge_updated", "returned", "episode_resumed")
"""Kinds of events beside the turns whose latest says how things stand."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a turn says of the map."""

    before: int | None
    after: int | None
    action: str
    died: bool
    void: bool
    """Refused or in fault: nothing happened in the world."""
    exits: tuple[str, ...]
    """Directions in which the text says that a way leads on from where the player came to."""


class EpisodeIndex:
    """What is known of an episode's log so far; `refresh` reads on."""

    def __init__(self, episode: int, path: Path) -> None:
        self.episode = episode
        self.generation = 0
        """Changes when turns that were told are no longer so."""
        self._begin(path)

    def _begin(self, path: Path) -> None:
        self._lines = Lines(path)
        self.started: dict[str, Any] = {}
        self.ended: dict[str, Any] = {}
        self.later_version: int | None = None
        """The schema of a line that a later version of this program wrote."""
        self.columns: dict[str, list] = {name: [] for name in COLUMNS}
        self.actions: list[str] = []
        self.steps: list[Step] = []
        self.names: dict[int, str] = {}
        self.notes: list[tuple[int, str, tuple[int, int]]] = []
        """(turn, kind, where) of the events in `NOTED`, in order."""
        self.passing: dict[int, list[Happened]] = {}
        """By place: what became of the memories of this episode only."""
        self.passed = 0
        """How much there is of that."""
        self._where: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._where)

    def refresh(self) -> bool:
        """Read what is new; True if there was anything."""
        if self._lines.was_replaced():
            self.generation += 1
            self._begin(self._lines.path)
        before = self._lines.end
        for start, length, record in self._lines.new():
            self._take(record, (start, length))
        return self._lines.end != before

    @property
    def unreadable(self) -> int:
        return self._lines.unreadable

    @property
    def half_written(self) -> bool:
        """The file ends in the midst of a line."""
        return self._lines.size() > self._lines.end

    @property
    def age_s(self) -> float:
        """Since the file was last written."""
        return self._lines.age_s()

    @property
    def is_played(self) -> bool | None:
        """By a process, now; None: that is not known."""
        return False if self.ended else is_played(self._lines.path.parent)

    @property
    def last_turn(self) -> int:
        turns = self.columns["turns"]
        return turns[-1] if turns else 0

    def record(self, index: int) -> dict[str, Any]:
        """The line of a turn, by its position."""
        return self._lines.at(*self._where[index])

    def note(self, where: tuple[int, int]) -> dict[str, Any]:
        return self._lines.at(*where)

    def position(self, turn: int) -> int | None:
        """Of a turn, by its number."""
        turns = self.columns["turns"]
        # Numbered from 1 without a gap, unless lines were lost.
        if 0 < turn <= len(turns) and turns[turn - 1] == turn:
            return turn - 1
        return turns.index(turn) if turn in turns else None

    def slice(self, start: int, stop: int | None = None) -> dict[str, list]:
        return {name: column[start:stop] for name, column in self.columns.items()}

    def _take(self, record: dict[str, Any], where: tuple[int, int]) -> None:
        version = whole_number(record.get("v"))
        if version is not None and version > SCHEMA_VERSION:
            self.later_version = version
            return
        kind = record.get("event")
        if kind == "turn_played":
            self._take_turn(record, where)
        elif kind == "episode_started":
            self.started = record
        elif kind == "episode_ended":
            self.ended = record
        elif kind in NOTED:
            turn = whole_number(record.get("turn"))
            turn = self.last_turn if turn is None else turn
            if kind == "episode_resumed":
                self._take_back(turn + 1)
                self.ended = {}
            self.notes.append((turn, kind, where))

    def _take_turn(self, record: dict[str, Any], where: tuple[int, int]) -> None:
        turn = whole_number(record.get("turn"))
        if turn is None or turn < 0:
            self._lines.unreadable += 1
            return
        self._take_back(turn)
        before, after = whole_number(record.get("location_id")), whole_number(record.get("location_after_id"))
        for place, name in ((before, record.get("location")), (after, record.get("location_after"))):
            if place is not None and name:
                self.names[place] = text(name)[:200]
        values = (
            turn,
            before,
            after,
            whole_number(record.get("score")),
            _marks(record),
            number(record.get("duration_s")),
        )
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)
        self.actions.append(text(record.get("action"))[:500])
        self.steps.append(_step(record, before, after))
        self._where.append(where)
        for event in objects(record.get("memory_events")):
            place = whole_number(event.get("location_id"))
            if event.get("persistence") == Persistence.EPHEMERAL and place is not None:
                self.passing.setdefault(place, []).append((turn, event))
                self.passed += 1
        self.ended = {}

    def _take_back(self, turn: int) -> None:
        """A resumed episode plays from its checkpoint on: what had come after that did not count."""
        if not self.columns["turns"] or self.last_turn < turn:
            return
        self.generation += 1
        while self.columns["turns"] and self.last_turn >= turn:
            for column in (*self.columns.values(), self.actions, self.steps, self._where):
                column.pop()
        self.notes = [note for note in self.notes if note[0] < turn]
        for place, events in self.passing.items():
            self.passing[place] = [event for event in events if event[0] < turn]


def _step(record: dict[str, Any], before: int | None, after: int | None) -> Step:
    void = bool(record.get("refused") or record.get("fault"))
    died = bool(record.get("died"))
    return Step(before, after, text(record.get("action"))[:200], died, void, () if void else _exits(record))


def _exits(record: dict[str, Any]) -> tuple[str, ...]:
    extraction = record.get("extraction")
    if isinstance(extraction, dict):
        return tuple(exit_name(name) for name in texts(extraction.get("exits"), 40, 40))
    # In a log of before texts were read: the points of the compass in what is said on arrival.
    if record.get("location_id") == record.get("location_after_id"):
        return ()
    return directions_in(text(record.get("response"))[:20_000].replace(text(record.get("location_after")), "", 1))


def _marks(record: dict[str, Any]) -> int:
    kinds = {text(event.get("kind")) for event in objects(record.get("memory_events"))}
    marks = (
        (FAILED, record.get("failed")),
        (DIED, record.get("died")),
        (VICTORY, record.get("victory")),
        (REFUSED, record.get("refused") or record.get("fault")),
        (REJECTED, record.get("rejections")),
        (WROTE, kinds - {*_REPEATS, "ignored"}),
        (REPEATED, kinds & {*_REPEATS}),
        (CONTESTED, "contested" in kinds),
    )
    return sum(mark for mark, holds in marks if holds)
