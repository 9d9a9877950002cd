"""The memories as they stood at the end of any turn of any episode: an index over the history, built once."""

from bisect import bisect_right
from pathlib import Path

from zorkgpt.memory.models import Memory, episode_key
from zorkgpt.memory.past.episode_memories import EpisodeMemories
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.history import History, Record
from zorkgpt.runlog.episodes import RUNS

LOG_FILE = "episode_log.jsonl"


class AsOf:
    """Looks up what was remembered when; follows history and logs while they grow.

    The history tells of lasting memories, in the order in which they changed. What came of an episode and a turn is
    known of changes that a player made. A change by hand, or by a person's command, in the midst of an episode counts
    from the episode's next change on.

    Args:
        history: of the memory file.
        runs: the folder with a folder for each episode, whose logs tell of ephemeral memories; None: there are none.
        log_file: the name of such a log.
    """

    def __init__(self, history: History, runs: Path | None = None, *, log_file: str = LOG_FILE) -> None:
        self._history = history
        self._runs = runs
        self._log_file = log_file
        self._clear()

    @classmethod
    def of(cls, memory_file: Path | str) -> "AsOf":
        """For a memory file with its history beside it, and `runs/` in the same folder."""
        path = Path(memory_file)
        return cls(History(path.with_suffix(".history.jsonl")), path.parent / RUNS)

    def refresh(self) -> None:
        """Take in what was written since; cheap where nothing was.

        Raises:
            MemoryStoreError: the history can't be read.
        """
        size = self._history.size()
        if size != self._read_bytes:
            if self._history.bytes_before(self._read_bytes) != self._tail:
                # Another file, or one that was put back to what it was before and has grown anew.
                self._clear()
            records, self._read_bytes = self._history.records_from(self._read_bytes)
            self._tail = self._history.bytes_before(self._read_bytes)
            for record in records:
                self._take(record)
        for episode in self._episodes.values():
            episode.refresh()

    def memories(self, location_id: int, episode: int | str, turn: int) -> list[Memory]:
        """Of a location at the end of the turn, the lasting first; the superseded too."""
        lasting = self._state(location_id, self._cut(episode, turn))
        return [*lasting, *self._of_episode(episode).at(location_id, turn)]

    def all_memories(self, episode: int | str, turn: int) -> dict[int, list[Memory]]:
        """Of every location that had any."""
        cut, passing = self._cut(episode, turn), self._of_episode(episode)
        found = {}
        for location_id in sorted({*self._states, *passing.locations()}):
            memories = [*self._state(location_id, cut), *passing.at(location_id, turn)]
            if memories:
                found[location_id] = memories
        return found

    def changes(self, location_id: int, title: str, episode: int | str, turn: int) -> list[Record]:
        """What had become of the memories of this title until the end of the turn."""
        numbers = self._numbers.get(location_id, [])
        upto = bisect_right(numbers, self._cut(episode, turn) - 1)
        records = (self._records[number] for number in numbers[:upto])
        return [record for record in records if title in _titles(record.change)]

    def knows(self, episode: int | str) -> bool:
        """Whether it was played: it changed something lasting, or has a folder with its log."""
        log = None if self._runs is None else self._runs / _folder(episode) / self._log_file
        return episode_key(episode) in self._turns or (log is not None and log.is_file())

    def name(self, location_id: int) -> str:
        """What the location was called last."""
        return self._names.get(location_id, "")

    def _clear(self) -> None:
        self._read_bytes = 0
        self._tail = b""
        """The last bytes that were read."""
        self._records: list[Record] = []
        self._numbers: dict[int, list[int]] = {}
        """By location: the numbers of its records."""
        self._states: dict[int, list[tuple[Memory, ...]]] = {}
        """By location: its memories after each of them."""
        self._turns: dict[int | str, list[int]] = {}
        """By episode: the turn of each of its records; one that was played again counts as the latest so far."""
        self._rows: dict[int | str, list[int]] = {}
        """By episode: the numbers of these records."""
        self._names: dict[int, str] = {}
        self._episodes: dict[int | str, EpisodeMemories] = {}

    def _take(self, record: Record) -> None:
        change, number = record.change, len(self._records)
        self._records.append(record)
        self._numbers.setdefault(change.location_id, []).append(number)
        states = self._states.setdefault(change.location_id, [])
        states.append(_after(states[-1] if states else (), change))
        self._names[change.location_id] = change.location_name or self._names.get(change.location_id, "")
        if record.moment is not None:
            episode = episode_key(record.moment.episode)
            turns = self._turns.setdefault(episode, [])
            turns.append(max(record.moment.turn, turns[-1] if turns else 0))
            self._rows.setdefault(episode, []).append(number)

    def _cut(self, episode: int | str, turn: int) -> int:
        """How many records there were at the end of the turn."""
        episode = episode_key(episode)
        turns, rows = self._turns.get(episode, []), self._rows.get(episode, [])
        known = bisect_right(turns, turn)
        if known < len(turns):
            return rows[known - 1] + 1 if known else rows[0]
        if known:
            return self._with_later_edits(rows[-1] + 1, self._of_episode(episode).ended)
        later = [first for other, (first, *_) in self._rows.items() if _is_later(other, episode)]
        return min(later, default=len(self._records))

    def _with_later_edits(self, cut: int, ended: str | None) -> int:
        """With what was changed by hand after the episode's last own change, while it ran."""
        while cut < len(self._records) and self._records[cut].moment is None:
            if ended is not None and self._records[cut].at[:19] > ended[:19]:
                break
            cut += 1
        return cut

    def _state(self, location_id: int, cut: int) -> tuple[Memory, ...]:
        upto = bisect_right(self._numbers.get(location_id, []), cut - 1)
        return self._states[location_id][upto - 1] if upto else ()

    def _of_episode(self, episode: int | str) -> EpisodeMemories:
        episode = episode_key(episode)
        if episode not in self._episodes:
            folder = Path() if self._runs is None else self._runs / _folder(episode)
            self._episodes[episode] = EpisodeMemories(folder / self._log_file, episode)
            if self._runs is not None:
                self._episodes[episode].refresh()
        return self._episodes[episode]


def _after(memories: tuple[Memory, ...], change: Change) -> tuple[Memory, ...]:
    known = change.before is not None and change.before in memories
    at = memories.index(change.before) if known else len(memories)
    return (*memories[:at], *([change.after] if change.after is not None else []), *memories[at + 1 :])


def _titles(change: Change) -> set[str]:
    return {memory.title for memory in (change.before, change.after) if memory is not None}


def _is_later(episode: int | str, than: int | str) -> bool:
    return isinstance(episode, int) and isinstance(than, int) and episode > than


def _folder(episode: int | str) -> str:
    """An episode's name is data: it leads nowhere but into `runs`."""
    name = str(episode)
    return name if name not in ("", ".", "..") and "/" not in name and "\0" not in name else "_"
