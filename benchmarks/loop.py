"""Measure the speed of the whole loop with all parts enabled, and the time of each part.

    uv run python -m benchmarks.loop [--game zork1.z5] [--turns 400] [--episodes 5]
    uv run python -m benchmarks.loop --answer-seconds 0.5 [--turns 40]

The rules player plays whole episodes with memory, embeddings, critic, objectives, knowledge, extractor, context and
checkpoints. The times include opening and closing, and are compared with the interpreter alone on the same commands.
One episode is played before the measurement, so that the embeddings are loaded and the memory is not empty. CPU time is
that of this process and the interpreter's. Unlike wall time, it is meaningful on a busy machine.

The time of the parts is sampled: every two milliseconds, the time since the last sample is added to the running part.

With `--answer-seconds`, a model plays the beginning of a walkthrough instead, of Zork I if ZORKGPT_ZORK1 is set, else
of the bundled story. A server on this machine answers every question after this time. The benchmark compares waiting
for every answer with asking in the background. The model remembers something whenever it is asked.
"""

import argparse
import os
import resource
import signal
import tempfile
import time
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
from orchestration.player_choice import PlayerChoice, choose_player
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures.chat_server import Answer, ChatServer, Request
from tests.fixtures.chatty_model import ChattyLLM
from tests.fixtures.walkthrough import ZORK1_SEED, bundled_story_path, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.llm.messages import Message
from zorkgpt.llm.roles import Role
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted

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
"""Counted separately, whichever part uses them."""


@dataclass
class Clocks:
    """Elapsed seconds."""

    wall: float = 0.0
    cpu: float = 0.0
    interpreter: float = 0.0
    """CPU time of the interpreter's process."""


@contextmanager
def timed() -> Iterator[Clocks]:
    """Measure the times of a context. The interpreter must be closed in it. The clocks are set at the end."""
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
    """Return the outermost running part."""
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
    """Play episodes. Return the commands of each, the times, and the samples by part."""
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
    """Play the same commands with only the interface to the interpreter. Return the times."""
    with timed() as clocks, JerichoInterface(story=story, seed=1) as game:
        for commands in episodes:
            game.reset()
            for command in commands:
                game.act(command)
    return clocks


_MODELS = {"agent_model": Role.AGENT, "critic_model": Role.CRITIC}
_MODELS |= {"memory_model": Role.MEMORY}
_ANALYSTS = {"You keep the list": Role.OBJECTIVES, "You keep the diary": Role.SUMMARY}


@dataclass
class Waits:
    """A watcher that measures the time of the turns and of the end of an episode."""

    calls: Counter[str] = field(default_factory=Counter)
    """Questions by role."""
    turns_s: float = 0.0
    end_s: float = 0.0
    turns: int = 0
    _at: float = 0.0

    def episode_started(self, event: EpisodeStarted) -> None:
        self._at = perf_counter()

    def turn_played(self, record: TurnRecord) -> None:
        self.turns = record.turn
        self.turns_s += perf_counter() - self._at
        self._at = perf_counter()

    def episode_ended(self, event: EpisodeEnded) -> None:
        self.end_s = perf_counter() - self._at


def waits(turns: int, answer_s: float, *, background: bool) -> Waits:
    """Play the beginning of a walkthrough with a model that needs `answer_s` seconds for each answer."""
    zork = os.environ.get("ZORKGPT_ZORK1")
    story, commands, seed = Path(zork or bundled_story_path()), get_bundled_walkthrough(), 1
    if zork:
        commands, seed = get_zork1_walkthrough(), ZORK1_SEED
    model, measured = ChattyLLM(commands), Waits()

    def answer(request: Request) -> Answer:
        messages = [Message(one["role"], one["content"]) for one in request.body["messages"]]
        beginnings = (role for words, role in _ANALYSTS.items() if messages[0].content.startswith(words))
        served = (role for name, role in _MODELS.items() if role == request.body["model"])
        role = next(served, None) or next(beginnings, Role.KNOWLEDGE)
        measured.calls[role] += 1
        time.sleep(answer_s)
        return Answer(model.complete(messages, role=role).content)

    with tempfile.TemporaryDirectory() as folder, ChatServer(answer, models=None) as server:
        config = GameConfiguration(
            zork_game_workdir=folder,
            client_base_url=server.url,
            max_turns_per_episode=turns,
            embedding_provider="none",
            ask_in_background=background,
            analysis_model="analyst",
            **_MODELS,
        )
        with assemble(
            config, RunOptions(choose_player("model", config), find_story(str(story)), seed), [measured]
        ) as run:
            run.play_episode()
    return measured


def compare_waits(turns: int, answer_s: float) -> None:
    """Print the time of a turn with waiting for every answer, and with background questions."""
    print(f"{turns} turns with a model, {answer_s} s for each answer; a turn:")
    print(
        f"{'':<20}{'seconds':>9}{'answers':>9}{'calls':>9}{'s at end':>10}   answers: the seconds by those of an answer"
    )
    before, after = (waits(turns, answer_s, background=background) for background in (False, True))
    for name, one in (("at once", before), ("in the background", after)):
        a_turn, calls = one.turns_s / one.turns, one.calls.total() / one.turns
        roles = ", ".join(f"{role} {count}" for role, count in sorted(one.calls.items()))
        print(f"{name:<20}{a_turn:>9.2f}{a_turn / answer_s:>9.2f}{calls:>9.2f}{one.end_s:>10.2f}   {roles}")
    calls = after.calls.total() / before.calls.total()
    print(f"background by at once: {after.turns_s / before.turns_s:.2f} of the seconds, {calls:.2f} of the calls")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=None)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--answer-seconds", type=float, default=None)
    given = parser.parse_args()
    if given.answer_seconds is not None:
        compare_waits(given.turns, given.answer_seconds)
        return
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
