"""Play episodes while disk, model, embeddings, interpreter and clock fail, and check the files.

    uv run python -m benchmarks.faults --seed 1 --episodes 5 [--runs 20] [--turns 30] [--rate 0.05] [--jobs 2]

Each run has its own seed and folder. An episode runs in a process in which these operations fail with the given
probability:

- disk: opening, replacing, removing, creating, writing and flushing files in the folder (no space, I/O error), opening
  a database, and database statements that write or commit;
- model and embeddings, served on this machine: server errors, truncated bodies, invalid JSON;
- interpreter: its process is killed after a turn;
- clock: Python's clocks jump by up to a day, forwards or backwards.

An episode that ends early is resumed, up to three times with faults and then without. After each episode, the
benchmark checks that:

- nothing crashed: a run ends normally or with an error of `zorkgpt.errors`;
- every run can be resumed, and the episode is finished;
- nothing acknowledged is lost: each lasting memory reported in the log is in the journal, and the file matches the
  journal;
- no memory is false: the object tree of a new game contradicts no core memory.

The same seed gives the same faults. If a run fails, the command that repeats it is printed.
"""

import argparse
import datetime
import errno
import json
import math
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.publish import Table, markdown, publish
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice, choose_player
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures.chat_server import Answer, Body, ChatServer, Disconnect, Reply, Request, Status
from tests.fixtures.forks import FORKS
from zorkgpt.errors import CheckpointError, ZorkGPTError
from zorkgpt.evals.truth import WorldSnapshot
from zorkgpt.memory.models import Memory, Persistence
from zorkgpt.memory.places import is_place
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.saved_episodes import find_resumable

DISK_EVENTS = ("open", "os.rename", "os.link", "os.remove", "os.truncate", "os.mkdir")
WRITING = ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT")
"""The first words of database statements that can fail."""
COMMANDS = ("north", "south", "east", "west", "up", "down", "in", "out", "look", "take all", "drop all", "open door")
RESUMES = 3
"""Number of times that an episode is resumed with faults."""
DIMENSION = 16
LOG = GameConfiguration().episode_log_file


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")


class FaultyModels:
    """A model server that fails at random. Otherwise, the same question always gets the same answer."""

    def __init__(self) -> None:
        self.faults: random.Random | None = None
        self.rate = 0.0
        self.failed: Counter[str] = Counter()

    def reply(self, request: Request) -> Reply:
        if self._fails("model"):
            assert self.faults is not None
            kinds: tuple[Reply, ...] = (Status(500), Status(429), Disconnect(), Body(b"[[["), Answer("{"), Answer(None))
            return self.faults.choice(kinds)
        number = _number(request.prompt)
        match request.body["model"]:
            case "agent":
                return f"I go on.\nACTION: {COMMANDS[number % len(COMMANDS)]}"
            case "memory":
                return Answer(self._memory(number))
        return Answer('{"score": 1, "reason": "As planned.", "summary": "I walked about.", "new": []}')

    def embed(self, text: str) -> list[float] | Status:
        if self._fails("embeddings"):
            return Status(500)
        chosen = random.Random(text)
        return [chosen.uniform(-1, 1) for _ in range(DIMENSION)]

    def _fails(self, kind: str) -> bool:
        fails = self.faults is not None and self.faults.random() < self.rate
        self.failed[kind] += fails
        return fails

    def _memory(self, number: int) -> str:
        if number % 3 == 0:
            return '{"reasoning": "Nothing new.", "should_remember": false}'
        persistence = ("core", "permanent", "ephemeral")[number % 7 % 3]
        fact = number % 50
        answer = {"reasoning": "New.", "should_remember": True, "category": "DISCOVERY", "persistence": persistence}
        return json.dumps(
            answer | {"memory_title": f"Fact {fact}", "memory_text": f"Word{fact} is of use in case{number % 20}."}
        )


class Disk:
    """Makes file operations in a folder fail at random."""

    def __init__(self, folder: Path, rate: float, chance: random.Random) -> None:
        self._folder, self._rate, self._chance = str(folder), rate, chance
        self.failed: Counter[str] = Counter()

    def install(self) -> None:
        sys.addaudithook(self._hook)
        os.fsync, os.write = self._failing(os.fsync), self._failing(os.write)  # type: ignore[assignment]
        sqlite3.connect = partial(sqlite3.connect, factory=self._failing_connection())  # type: ignore[assignment]

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "sqlite3.connect" and self._fails(str(arguments[0])):
            raise sqlite3.OperationalError("disk I/O error")
        if event in DISK_EVENTS and any(self._fails(str(each)) for each in arguments[:1]):
            raise OSError(*self._error())

    def _failing_connection(self) -> type[sqlite3.Connection]:
        disk = self

        class Failing(sqlite3.Connection):
            def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
                disk.check_statement(statement)
                return super().execute(statement, *arguments)

            def executemany(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
                disk.check_statement(statement)
                return super().executemany(statement, *arguments)

        return Failing

    def check_statement(self, statement: str) -> None:
        """Raise a database error at random if the statement writes or commits."""
        if statement.lstrip().upper().startswith(WRITING) and self._fails(self._folder):
            raise sqlite3.OperationalError("disk I/O error")

    def _failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def failing(descriptor: int, *arguments: Any) -> Any:
            where = ""
            with suppress(OSError):
                where = os.readlink(f"/proc/self/fd/{descriptor}")
            if self._fails(where):
                raise OSError(*self._error())
            return call(descriptor, *arguments)

        return failing

    def _fails(self, where: str) -> bool:
        fails = self._folder in where and self._chance.random() < self._rate
        self.failed["disk"] += fails
        return fails

    def _error(self) -> tuple[int, str]:
        code = self._chance.choice((errno.ENOSPC, errno.EIO, errno.EACCES))
        return code, os.strerror(code)


class _SameInstances(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _DATETIME)


_DATETIME, _TIME = datetime.datetime, time.time


class Clock:
    """Makes Python's clocks jump at random."""

    def __init__(self, rate: float, chance: random.Random) -> None:
        self._rate, self._chance = rate, chance
        self._off_s = 0.0
        self.failed: Counter[str] = Counter()

    def install(self) -> None:
        clock = self

        class Jumping(_DATETIME, metaclass=_SameInstances):
            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
                return _DATETIME.now(tz) + datetime.timedelta(seconds=clock.jump())

        time.time = lambda: _TIME() + clock.jump()
        for module in [*sys.modules.values()]:
            if module is not sys.modules[__name__] and vars(module).get("datetime") is _DATETIME:
                vars(module)["datetime"] = Jumping

    def jump(self) -> float:
        if self._chance.random() < self._rate:
            self._off_s = self._chance.uniform(-86_400, 86_400)
            self.failed["clock"] += 1
        return self._off_s


class InterpreterKiller:
    """A watcher that kills the interpreter's process at random after a turn."""

    def __init__(self, rate: float, chance: random.Random) -> None:
        self._rate, self._chance = rate, chance
        self.failed: Counter[str] = Counter()

    def episode_started(self, event: object) -> None:
        pass

    def episode_resumed(self, event: object) -> None:
        pass

    def turn_played(self, record: TurnRecord) -> None:
        if self._chance.random() < self._rate:
            for process in Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split():
                self.failed["interpreter"] += 1
                with suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)

    def episode_ended(self, event: object) -> None:
        pass


@dataclass(frozen=True)
class Outcome:
    """The outcome of a process."""

    kind: str
    """ "ended", "refused" (with one of our errors) or "crashed"."""
    text: str
    """The reason of the end, or the error."""
    failed: Counter[str]


def _play(folder: Path, url: str, turns: int, resume: int | None, seed: str, rate: float, pipe: Connection) -> None:
    chance = random.Random(seed)
    disk, clock = Disk(folder, rate, random.Random(f"{seed} disk")), Clock(rate, random.Random(f"{seed} clock"))
    killer = InterpreterKiller(rate, chance)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if rate:
        disk.install()
        clock.install()
    try:
        run = assemble(_config(folder, url, turns), _options(folder, url, turns), [killer] if rate else [])
        with run:
            end = run.play_episode(resume=resume)
        kind, text = "ended", end.reason
    except ZorkGPTError as error:
        kind, text = "refused", str(error)
    except BaseException:
        kind, text = "crashed", traceback.format_exc()
    pipe.send(Outcome(kind, text, disk.failed + clock.failed + killer.failed))
    pipe.close()
    os._exit(0)


def _config(folder: Path, url: str, turns: int) -> GameConfiguration:
    return GameConfiguration(
        zork_game_workdir=str(folder),
        client_base_url=url,
        max_turns_per_episode=turns,
        embedding_provider="llm",
        ask_in_background=False,
        agent_model="agent",
        critic_model="critic",
        info_ext_model="extractor",
        memory_model="memory",
        analysis_model="analyst",
    )


def _options(folder: Path, url: str, turns: int) -> RunOptions:
    choice: PlayerChoice = choose_player("model", _config(folder, url, turns))
    return RunOptions(choice, find_story(None), 1)


def played(
    folder: Path, server: ChatServer, models: FaultyModels, turns: int, resume: int | None, seed: str, rate: float
) -> Outcome:
    """Play or resume an episode in a new process."""
    models.faults, models.rate = (random.Random(f"{seed} models"), rate) if rate else (None, 0.0)
    ours, theirs = FORKS.Pipe(duplex=False)
    child = FORKS.Process(target=_play, args=(folder, server.url, turns, resume, seed, rate, theirs))
    child.start()
    theirs.close()
    try:
        outcome: Outcome = ours.recv()
    except EOFError:
        outcome = Outcome("crashed", "the process ended without a result", Counter())
    child.join()
    return outcome


def resumable(folder: Path) -> int | None:
    """Return the episode to resume. None if there is none."""
    try:
        return find_resumable(folder, LOG).episode
    except CheckpointError as error:
        said = str(error)
        if any(reason in said for reason in ("it is over", "limit", "before it began", "no episode was played")):
            return None
        raise


def faults_of(folder: Path, counts: Counter[str]) -> list[str]:
    """Return the problems in the files of a run. Count the compared memories in `counts`."""
    wrong = []
    store = MarkdownStore(folder / "Memories.md")
    store.refresh()
    found = store.document.by_place()
    kept = {_key(place, memory) for place, memories in found.items() for memory in memories}
    journal = {_key(place, memory) for place, memories in store.journal.lasting().items() for memory in memories}
    wrong += [f"only in the file: {key}" for key in kept - journal]
    wrong += [f"only in the journal: {key}" for key in journal - kept]
    recorded = {
        (record.change.memory.title, record.change.memory.text) for record in store.journal.records() if record.change
    }
    for directory in (folder / "runs").iterdir():
        for event in read_episode(folder, int(directory.name)):
            for change in event.memory_events if isinstance(event, TurnRecord) else ():
                is_lasting = change.persistence is not Persistence.EPHEMERAL
                if change.kind != "added" or not is_lasting:
                    continue
                counts["acknowledged memories compared"] += 1
                if (change.title, change.text) not in recorded:
                    wrong.append(f"acknowledged in episode {directory.name}, turn {event.turn}, and lost: {change}")
    with JerichoInterface(story=find_story(None), seed=1) as game:
        game.reset()
        world = WorldSnapshot.of(game)
    for place, memories in found.items():
        for memory in memories if is_place(place) else ():
            if memory.persistence is not Persistence.CORE or not is_current(memory):
                continue
            counts["memories compared with the world"] += bool(memory.claims)
            if no := world.contradicted(place, memory):
                wrong.append(f"false: {memory.title!r} at {place}: {no}")
    return wrong


def _key(place: object, memory: Memory) -> tuple[str, str, str, str]:
    return str(place), memory.title, memory.text, memory.status


def check_run(seed: int, episodes: int, turns: int, rate: float, failed: Counter[str]) -> list[str]:
    """Play a run with faults. Return its problems, and count the faults in `failed`."""
    models, wrong = FaultyModels(), []
    with tempfile.TemporaryDirectory() as name, ChatServer(models.reply, models=None, embed=models.embed) as server:
        folder = Path(name)
        for episode in range(episodes):
            resume: int | None = None
            for attempt in range(RESUMES + 2):
                clean = attempt > RESUMES
                each = played(
                    folder, server, models, turns, resume, f"{seed} {episode} {attempt}", 0 if clean else rate
                )
                failed.update(each.failed)
                failed[each.kind] += 1
                if each.kind == "crashed":
                    wrong.append(f"episode {episode + 1}, attempt {attempt + 1} crashed: {each.text}")
                if each.kind == "ended" and each.text not in ("error", "interrupted"):
                    break
                if clean:
                    wrong.append(f"episode {episode + 1} was not finished without faults: {each.text}")
                try:
                    resume = resumable(folder)
                except CheckpointError as error:
                    wrong.append(f"episode {episode + 1} can't be resumed: {error}")
                    resume = None
        failed.update(models.failed)
        wrong += faults_of(folder, failed)
    return wrong


@dataclass
class Checked:
    """The results of several runs."""

    counts: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    bad: int = 0

    def table(self, episodes: int, turns: int) -> Table:
        """Return the figures."""
        counts, kinds = self.counts, ("disk", "model", "embeddings", "interpreter", "clock")
        figures = {
            "runs": str(self.runs),
            f"episodes of up to {turns} turns": str(self.runs * episodes),
            "faults": ", ".join(f"{kind} {counts[kind]:,}" for kind in kinds),
            "processes that ended an episode": str(counts["ended"]),
            "processes that ended with a ZorkGPTError": str(counts["refused"]),
            "processes that crashed": str(counts["crashed"]),
            "acknowledged memories compared with journal and file": f"{counts['acknowledged memories compared']:,}",
            "memories compared with the object tree": f"{counts['memories compared with the world']:,}",
            "runs with a crash, a loss, a false memory or an unfinished episode": str(self.bad),
        }
        return Table(columns=["figure", "value"], rows=[[name, value] for name, value in figures.items()])


def check_runs(given: argparse.Namespace) -> Checked:
    """Check runs in parallel and print their problems."""
    checked, until = Checked(), _TIME() + 60 * given.minutes if given.minutes else math.inf

    def check(seed: int) -> tuple[int, list[str], Counter[str]] | None:
        counts: Counter[str] = Counter()
        if _TIME() > until:
            return None
        return seed, check_run(seed, given.episodes, given.turns, given.rate, counts), counts

    with ThreadPoolExecutor(given.jobs) as pool:
        for done in pool.map(check, range(given.seed, given.seed + given.runs)):
            if done is None:
                continue
            seed, wrong, counts = done
            checked.counts += counts
            checked.runs += 1
            if wrong:
                checked.bad += 1
                again = f"python -m benchmarks.faults --seed {seed} --episodes {given.episodes} --turns {given.turns}"
                print(f"{again} --rate {given.rate}", *wrong, sep="\n  ", flush=True)
    return checked


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--jobs", type=int, default=1, help="parallel runs")
    parser.add_argument("--minutes", type=float, default=0.0, help="start no run after this time; 0: no limit")
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args(arguments)
    checked = check_runs(given)
    table = checked.table(given.episodes, given.turns)
    print(markdown(table))
    if given.publish:
        command = f"uv run python -m benchmarks.faults --seed {given.seed} --runs {checked.runs}"
        publish("faults", f"{command} --episodes {given.episodes} --turns {given.turns}", {"figures": table})
    return min(checked.bad, 1)


if __name__ == "__main__":
    sys.exit(main())
