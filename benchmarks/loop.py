"""How fast the whole loop plays with everything on, and where the time goes.

    uv run python -m benchmarks.loop [--game zork1.z5] [--turns 400] [--episodes 5]

The rules player, with memory, embeddings, critic, objectives, knowledge, extractor, context and checkpoints:
whole episodes, opening and closing included, beside the interpreter alone on the same commands. One more episode is
played before, so that the embeddings are loaded and something is known. CPU time, of this process and the
interpreter's, says on a busy machine what the wall clock can't.

The parts are sampled: every two milliseconds the time since the last sample goes to what is being done.
"""

import argparse
import resource
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from types import FrameType

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import Story, find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from zorkgpt.runlog.episodes import read_episode

ROOT = Path(__file__).parents[1]
WANTED = 150
"""Turns a second."""
EVERY_S = 0.002
PARTS = {
    "managers/checkpoint_manager.py": "checkpoints, journal",
    "managers/context_manager.py": "context",
    "managers/episode_log.py": "episode's log",
    "managers/extraction_manager.py": "extractor",
    "managers/knowledge_manager.py": "knowledge",
    "managers/map_manager.py": "map",
    "managers/objective_manager.py": "objectives",
    "managers/progress_manager.py": "going in circles",
    "managers/state_manager.py": "state export",
    "zorkgpt/critic.py": "critic",
    "managers/rejection_manager.py": "critic",
    "zorkgpt/memory/manager.py": "memory",
    "zorkgpt/offline/explorer.py": "rules player",
    "game_interface/core/jericho_interface.py": "game",
}
INNER = {"zorkgpt/embeddings/": "embeddings"}
"""Counted by themselves, whoever asks for them."""


@dataclass
class Clocks:
    """Seconds that have gone by."""

    wall: float = 0.0
    cpu: float = 0.0
    interpreter: float = 0.0
    """CPU of the interpreter's process."""


@contextmanager
def timed() -> Iterator[Clocks]:
    """Fills in at its end; the interpreter has to have been closed by then."""
    clocks, begun, at, cpu = Clocks(), _of_children(), perf_counter(), process_time()
    yield clocks
    clocks.wall, clocks.cpu, clocks.interpreter = perf_counter() - at, process_time() - cpu, _of_children() - begun


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class Samples:
    """Seconds by part."""

    wall: Counter = field(default_factory=Counter)
    cpu: Counter = field(default_factory=Counter)
    _last: tuple[float, float] = (0.0, 0.0)

    def __enter__(self) -> "Samples":
        self._last = perf_counter(), process_time()
        signal.signal(signal.SIGALRM, self._take)
        signal.setitimer(signal.ITIMER_REAL, EVERY_S, EVERY_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _take(self, _: int, frame: FrameType | None) -> None:
        part, now = part_of(frame), (perf_counter(), process_time())
        self.wall[part] += now[0] - self._last[0]
        self.cpu[part] += now[1] - self._last[1]
        self._last = now


def part_of(frame: FrameType | None) -> str:
    """The outermost part that is at work."""
    part = "the rest"
    while frame is not None:
        file = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
        for folder, inner in INNER.items():
            if file.startswith(folder):
                return inner
        part = PARTS.get(file, part)
        frame = frame.f_back
    return part


def play(story: Story, episodes: int, turns: int, folder: str) -> tuple[list[list[str]], Clocks, Samples]:
    """The commands of each episode, how long it took, and what with."""
    config = GameConfiguration(zork_game_workdir=folder, max_turns_per_episode=turns)
    run_options = RunOptions(PlayerChoice("rules", "measurement", None), story=story)
    orchestrator = assemble(config, run_options)
    orchestrator.play_episode()
    with timed() as clocks:
        with Samples() as samples:
            ends = [orchestrator.play_episode() for _ in range(episodes)]
        orchestrator.close()
    logs = [read_episode(Path(folder), end.episode) for end in ends]
    return [[event.action for event in log if isinstance(event, TurnRecord)] for log in logs], clocks, samples


def replay(story: Story, episodes: list[list[str]]) -> Clocks:
    """The interpreter and what is read out of its memory, without anything else."""
    with timed() as clocks, JerichoInterface(story=story, seed=1) as game:
        for commands in episodes:
            game.reset()
            for command in commands:
                game.act(command)
    return clocks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=None)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--episodes", type=int, default=5)
    given = parser.parse_args()
    story = find_story(given.game)
    with tempfile.TemporaryDirectory() as folder:
        commands, loop, samples = play(story, given.episodes, given.turns, folder)
    turns = sum(map(len, commands))
    alone = replay(story, commands)
    print(f"{story.title or story.path.name}: {turns} turns in {given.episodes} episodes, everything on")
    print(f"{'':<22}{'turns/s':>9}{'wall ms':>9}{'CPU ms':>9}   a turn, the interpreter's process included")
    for name, clocks in (("whole loop", loop), ("interpreter alone", alone)):
        cpu = clocks.cpu + clocks.interpreter
        print(f"{name:<22}{turns / clocks.wall:>9.0f}{_ms(clocks.wall, turns)}{_ms(cpu, turns)}")
    ratio = (alone.cpu + alone.interpreter) / (loop.cpu + loop.interpreter)
    print(f"ratio of the two: {alone.wall / loop.wall:.3f} by the clock, {ratio:.3f} by CPU time")
    met = "met" if turns / loop.wall >= WANTED else "not met"
    print(f"at least {WANTED} turns/s: {met}\n")
    print(f"{'part':<22}{'':>9}{'wall ms':>9}{'CPU ms':>9}{'of CPU':>9}")
    total = sum(samples.cpu.values())
    for part, seconds in samples.cpu.most_common():
        print(f"{part:<31}{_ms(samples.wall[part], turns)}{_ms(seconds, turns)}{seconds / total:>9.1%}")


def _ms(seconds: float, turns: int) -> str:
    return f"{seconds / turns * 1000:>9.2f}"


if __name__ == "__main__":
    main()
