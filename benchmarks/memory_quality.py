"""Measure whether the memories of the rules player are true, needed and not repeated, and how much they help it.

    uv run python -m benchmarks.memory_quality [--game FILE] [--seeds 1 2 3] [--episodes 8] [--turns 200]
        [--json FILE] [--show KIND ...] [--keep FOLDER]

The rules player uses no language model and no embeddings, so the same seeds give the same figures. Without --game the
bundled story is played, and also Zork I if ZORKGPT_ZORK1 names it. Counted are the believed memories (active and
tentative) in the file that a run with memory leaves. `benchmarks.memory_verdicts` defines the verdicts. The other rows:

- Said at several places: memories with the same action, outcome and text as one at another place, without the first.
- Core, decided by claims: the share of core memories with at least one claim that the object tree decides.
- Scoring actions: each (place, action) that raised the score in any episode. It is remembered if a believed memory at
  the place is about this action and mentions a score, and shown if `get_location_memory` includes that memory.
- Repeated failures: as in docs/evaluation.md, the mean over the seeds in the worst episode, not counting the first.
  They are not growing if the mean of the last three episodes is not above that of episodes two to four.
- Final and best: the score of the last episode, and the highest score. "Off" means without the memories and the map of
  earlier episodes.

A goal that is not met is reported and is not an error.
"""

import argparse
import json
import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.memory_verdicts import Verdict, Worth, judge, saying_of, taught_in
from benchmarks.replay import Replay, commands_of, differences
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from zorkgpt.directions import exit_name
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episodes import count_failures, read_episode
from zorkgpt.text import normalized_action
from zorkgpt.world.graph import MapGraph, read_map

MEMORIES = "Memories.md"


@dataclass(frozen=True)
class Judged:
    """One memory with its verdict, as plain values."""

    worth: str
    why: str
    conditional: str
    place: int
    place_name: str
    category: str
    persistence: str
    title: str
    text: str
    when: str
    by_claims: bool
    elsewhere: bool
    """Whether a memory of another place says the same and was counted before this one."""


@dataclass(frozen=True)
class Scoring:
    """An action that raised the score."""

    place: int
    place_name: str
    action: str
    remembered: bool
    shown: bool


@dataclass(frozen=True)
class Played:
    """One seed, with or without memory."""

    seed: int
    scores: list[int]
    """By episode."""
    repeated: list[float]
    """Repeated failed actions as a share of all actions, by episode."""
    memories: list[Judged] = field(default_factory=list)
    file_kb: float = 0.0
    scoring: list[Scoring] = field(default_factory=list)
    replay_differs: list[str] = field(default_factory=list)
    """Turns with another result when they were replayed. If there are any, the verdicts can't be trusted."""

    def count(self, worth: Worth) -> int:
        return sum(one.worth == worth.value for one in self.memories)


def play(game: str | None, seed: int, episodes: int, turns: int, remember: bool, keep: str | None) -> Played:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(keep) / f"{find_story(game).path.stem}-{seed}" if keep and remember else Path(scratch)
        config = GameConfiguration(
            zork_game_workdir=str(folder),
            max_turns_per_episode=turns,
            embedding_provider="none",
        )
        run_options = RunOptions(PlayerChoice("rules", "measurement", None), find_story(game), seed, remember)
        with assemble(config, run_options) as orchestrator:
            scores = [orchestrator.play_episode().score or 0 for _ in range(episodes)]
        logs = (read_episode(folder, number) for number in episodes_in(folder))
        repeated = [count.repeated_share for count in count_failures(logs)]
        if not remember:
            return Played(seed, scores, repeated)
        verdicts, differing = judged_run(folder, game, seed)
        return Played(
            seed,
            scores,
            repeated,
            memories=_plain(verdicts),
            file_kb=(folder / MEMORIES).stat().st_size / 1024,
            scoring=scoring_actions(folder),
            replay_differs=differing,
        )


def judged_run(folder: Path, game: str | None, seed: int) -> tuple[list[Verdict], list[str]]:
    """Return a verdict for each believed memory of a working directory, and the turns whose replay differs."""
    with JerichoInterface(story=find_story(game), seed=seed) as interface:
        replay = Replay(interface, commands_of(folder))
        taught = taught_in(Journal(sidecar(folder / MEMORIES)))
        graph = read_map(folder / "map_state.json") or MapGraph()
        return judge(_memories(folder), replay, graph, taught), differences(replay, folder)


def scoring_actions(folder: Path) -> list[Scoring]:
    """Return every action that raised the score in any episode, and whether it is remembered."""
    scored: dict[tuple[int, str], str] = {}
    for number in episodes_in(folder):
        for event in read_episode(folder, number):
            if not isinstance(event, TurnRecord) or event.before.location is None:
                continue
            if event.transition.points > 0:
                place = event.before.location
                scored.setdefault((place.num, exit_name(event.action)), place.name)
    with SimpleMemoryManager.open(folder / MEMORIES) as manager:
        known: dict[tuple[int, str], list[LocatedMemory]] = {}
        for located in manager.all_memories():
            saying = saying_of(located.memory) if is_current(located.memory) else None
            if saying and saying.score > 0:
                known.setdefault((located.location_id, exit_name(saying.action)), []).append(located)
        found = []
        for (place, action), name in scored.items():
            memories = [located.memory for located in known.get((place, action), [])]
            text = manager.get_location_memory(place)
            shown = any(f"{memory.title}: {memory.text}" in text for memory in memories)
            found.append(Scoring(place, name, action, bool(memories), shown))
        return found


def _memories(folder: Path) -> list[LocatedMemory]:
    with SimpleMemoryManager.open(folder / MEMORIES) as manager:
        return manager.all_memories()


def _plain(verdicts: Iterable[Verdict]) -> list[Judged]:
    first_places: dict[tuple[str, str, str], int] = {}
    found = []
    for verdict in verdicts:
        memory, place = verdict.located.memory, verdict.located.location_id
        saying = saying_of(memory)
        action, outcome = (saying.action, saying.outcome) if saying else ("", "")
        elsewhere = first_places.setdefault((action, outcome, normalized_action(memory.text)), place) != place
        found.append(
            Judged(
                verdict.worth.value,
                verdict.why,
                verdict.conditional,
                place,
                verdict.located.location_name,
                memory.category,
                memory.persistence,
                memory.title,
                memory.text,
                "; ".join(map(str, memory.when)),
                verdict.by_claims,
                elsewhere,
            )
        )
    return found


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    of: Callable[[Sequence[Played]], str]
    """Returns the figure of one or several seeds."""
    goal: str = ""
    met: Callable[[], bool] = lambda: True


def table(on: list[Played], off: list[Played], episodes: int) -> list[str]:
    """Return the figures of one game, with a column for each seed and one for all."""
    off_of = {one.seed: one for one in off}
    every = [memory for one in on for memory in one.memories]
    core = [memory for memory in every if memory.persistence == "core"]
    scoring = [one for played in on for one in played.scoring]

    def share(part: Callable[[Judged], bool], of: Callable[[Judged], bool] = lambda one: True):
        def figure(played: Sequence[Played]) -> str:
            among = [one for each in played for one in each.memories if of(one)]
            count = sum(map(part, among))
            return f"{count} of {len(among)} ({count / max(1, len(among)):.1%})"

        return figure

    def is_worth(worth: Worth) -> Callable[[Judged], bool]:
        return lambda one: one.worth == worth.value

    def number(worth: Worth) -> int:
        return sum(map(is_worth(worth), every))

    def kb(played: Sequence[Played]) -> float:
        return sum(one.file_kb for one in played) / len(played) / episodes

    def means(played: Sequence[Played]) -> list[float]:
        return [sum(shares) / len(shares) for shares in zip(*(one.repeated for one in played), strict=True)]

    def growth(played: Sequence[Played]) -> tuple[float, float]:
        early, late = means(played)[1:4] or [0.0], means(played)[-3:]
        return sum(early) / len(early), sum(late) / len(late)

    def scores(value: Callable[[Played], int]) -> Callable[[Sequence[Played]], str]:
        def figure(played: Sequence[Played]) -> str:
            with_it = sum(map(value, played)) / len(played)
            without = sum(value(off_of[one.seed]) for one in played) / len(played)
            return f"{with_it:.4g} / {without:.4g}"

        return figure

    def final(played: Played) -> int:
        return played.scores[-1]

    worst = max(means(on)[1:], default=0.0)
    early, late = growth(on)
    rows = [
        Row("believed memories", lambda played: str(sum(len(one.memories) for one in played))),
        Row("false", share(is_worth(Worth.FALSE)), "≤ 2 %", lambda: number(Worth.FALSE) <= 0.02 * len(every)),
        Row("contradicting", share(is_worth(Worth.CONTRADICTING)), "0", lambda: not number(Worth.CONTRADICTING)),
        Row("trivial", share(is_worth(Worth.TRIVIAL)), "0", lambda: not number(Worth.TRIVIAL)),
        Row("repeated", share(is_worth(Worth.REPEATED))),
        Row("not checkable", share(is_worth(Worth.NOT_CHECKABLE))),
        Row("useful", share(is_worth(Worth.USEFUL))),
        Row("useful, nothing comes of it", share(lambda one: is_worth(Worth.USEFUL)(one) and one.why == "hint")),
        Row("conditional, no state named", share(lambda one: bool(one.conditional))),
        Row("said at several places", share(lambda one: one.elsewhere)),
        Row("file, KB an episode", lambda played: f"{kb(played):.1f}", "≤ 7", lambda: kb(on) <= 7),
        Row(
            "core, decided by claims",
            share(lambda one: one.by_claims, lambda one: one.persistence == "core"),
            "≥ 80 %",
            lambda: bool(core) and sum(one.by_claims for one in core) >= 0.8 * len(core),
        ),
        Row(
            "scoring actions: remembered, shown",
            lambda played: _kept([one for each in played for one in each.scoring]),
            "all",
            lambda: all(one.remembered and one.shown for one in scoring),
        ),
        Row(
            "repeated failures, worst episode",
            lambda played: f"{max(means(played)[1:], default=0.0):.1%}",
            "< 5 %",
            lambda: worst < 0.05,
        ),
        Row(
            "repeated failures, early → late",
            lambda played: " → ".join(f"{one:.1%}" for one in growth(played)),
            "not growing",
            lambda: late <= early,
        ),
        Row(
            "final score, on / off",
            scores(final),
            "on above off, each seed",
            lambda: all(final(one) > final(off_of[one.seed]) for one in on),
        ),
        Row("best score, on / off", scores(lambda one: max(one.scores))),
    ]
    columns = [[one] for one in on] + ([on] if len(on) > 1 else [])
    names = [f"seed {one.seed}" for one in on] + (["all"] if len(on) > 1 else [])
    lines = [f"|  | {' | '.join(names)} | goal | met |", "| --- " * (len(names) + 3) + "|"]
    for row in rows:
        met = ("yes" if row.met() else "**no**") if row.goal else ""
        lines.append(f"| {row.name} | {' | '.join(map(row.of, columns))} | {row.goal} | {met} |")
    by_episode = ", ".join(f"{one:.1%}" for one in means(on))
    lines += ["", f"Repeated failures by episode, mean over the seeds: {by_episode}"]
    kinds = Counter(one.why for one in every if is_worth(Worth.USEFUL)(one))
    lines += [f"Useful, by what it tells: {', '.join(f'{kind} {count}' for kind, count in sorted(kinds.items()))}"]
    return lines


def _kept(scoring: Sequence[Scoring]) -> str:
    remembered, shown = sum(one.remembered for one in scoring), sum(one.shown for one in scoring)
    return f"{remembered}, {shown} of {len(scoring)}"


def listing(on: list[Played], kinds: Sequence[str]) -> list[str]:
    """Return the memories of some kinds, one per line. A memory of several seeds appears once."""
    lines: dict[str, list[int]] = {}
    for played in on:
        for one in played.memories:
            wanted = one.worth in kinds or ("conditional" in kinds and one.conditional)
            wanted = wanted or ("elsewhere" in kinds and one.elsewhere)
            if not wanted:
                continue
            line = f"{one.worth} | {one.place} {one.place_name} | [{one.category}] {one.title}: {one.text} | {one.why}"
            if one.when:
                line += f" | when {one.when}"
            if one.conditional:
                line += f" | on the first arrival: {one.conditional}"
            lines.setdefault(line, []).append(played.seed)
        for one in played.scoring:
            if "unshown" in kinds and not (one.remembered and one.shown):
                lost = "is not shown" if one.remembered else "is not remembered"
                lines.setdefault(f"unshown | {one.place} {one.place_name} | {one.action} | {lost}", []).append(
                    played.seed
                )
    return [f"{line} | seeds {', '.join(map(str, seeds))}" for line, seeds in sorted(lines.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", help="a story file; by default the bundled one, and what ZORKGPT_ZORK1 names")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--json", type=Path, help="a file for all figures, with every memory and its verdict")
    kinds = [*(worth.value for worth in Worth), "conditional", "elsewhere", "unshown"]
    parser.add_argument("--show", nargs="+", choices=kinds, default=[], help="list the memories of these kinds")
    parser.add_argument("--keep", help="a folder for the runs with memory, to read them")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    games = [given.game] if given.game else [None, *filter(None, [os.environ.get("ZORKGPT_ZORK1")])]
    results = {}
    with ProcessPoolExecutor(given.processes, initializer=logging.disable, initargs=(logging.WARNING,)) as pool:
        running = {
            game: {
                remember: [
                    pool.submit(play, game, seed, given.episodes, given.turns, remember, given.keep)
                    for seed in given.seeds
                ]
                for remember in (True, False)
            }
            for game in games
        }
        for game, arms in running.items():
            on, off = ([one.result() for one in arms[remember]] for remember in (True, False))
            story = find_story(game)
            title = story.title or story.path.stem
            print(f"{title}: {given.episodes} episodes of {given.turns} turns, rules player\n")
            print("\n".join(table(on, off, given.episodes)), end="\n\n", flush=True)
            if different := sum(len(one.replay_differs) for one in on):
                print(f"{different} turns had another result when they were replayed: the figures are unreliable.\n")
            if given.show:
                print("\n".join(listing(on, given.show)), end="\n\n", flush=True)
            results[title] = {"on": [asdict(one) for one in on], "off": [asdict(one) for one in off]}
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
