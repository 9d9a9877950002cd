"""Measure how many of the places that the rules player visits have memories, the size of the file, and the deaths.

    uv run python -m benchmarks.coverage [--games FILE ...] [--seeds 1 2 3] [--episodes 8] [--turns 150]
        [--show] [--json FILE] [--processes 2] [--publish]

The rules play without a language model and without embeddings. By default, they play the stories of tests/stories, and
Zork I if ZORKGPT_ZORK1 is set.

- Covered: visited places with a current memory at the place, or a memory about an object that was visible there. Only
  by a count: the only such memory lists commands without effect.
- KB: the size of Memories.md after each episode, as a mean over the episodes.
- Deaths: by cause, as found by counterfactuals and recorded in the log.
- Dangers refuted: dangers that are not limited to a state (such as darkness), whose action was survived at its place at
  least three times in the run, and killed there at most once.
- Deaths repeated: deaths from the second episode on that also happened in the previous episode: by the same creature,
  at the same place, by the same clock, or, if the cause is an action or unknown, by the same action at the same place.

--show lists the places without a memory, with the objects that were visible there.
"""

import argparse
import json
import logging
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.publish import Table, markdown, publish
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures import own_stories
from zorkgpt.memory.claims import Relation
from zorkgpt.memory.credit import is_danger
from zorkgpt.memory.losses import Loss, LossCause, LossKind
from zorkgpt.memory.models import Thing
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.things import is_attempts_entry
from zorkgpt.runlog.episodes import read_episode, turns_in
from zorkgpt.text import normalized_action

EARLY = 3
"""The first episode after which places are counted."""
SAFE_REPETITIONS = 3
_UNKNOWN = "unknown"


@dataclass
class VisitedPlace:
    """A visited place."""

    number: int
    name: str
    arrivals: int = 0
    is_dark: bool = False
    """Whether it was dark in at least one turn there."""
    visible: dict[int, str] = field(default_factory=dict)
    """Object number → name of the objects that were visible and not carried."""
    movable: list[str] = field(default_factory=list)
    """Of these, the names of objects that can be taken or are alive."""

    @property
    def kind(self) -> str:
        """A short description of the place's content."""
        if self.is_dark and not self.visible:
            return "dark"
        if self.movable:
            return "movable things"
        return "fixed things only" if self.visible else "nothing visible"


@dataclass(frozen=True)
class Death:
    """A death of the player."""

    episode: int
    turn: int
    place: int | None
    place_name: str
    action: str
    cause: str = _UNKNOWN
    creature: int | None = None
    sentence: str = ""
    """The sentence of the response about the death."""

    @property
    def way(self) -> tuple[str, int | None, str]:
        """A key that is equal for deaths that happened in the same way."""
        match self.cause:
            case LossCause.PLACE:
                return self.cause, self.place, ""
            case LossCause.CREATURE:
                return self.cause, self.creature, ""
            case LossCause.CLOCK:
                return self.cause, None, self.sentence
        return "action", self.place, self.action


@dataclass
class Run:
    """The results of a run with one seed."""

    story: str
    seed: int
    visited: list[int] = field(default_factory=list)
    """The number of places visited so far, after each episode."""
    covered: list[int] = field(default_factory=list)
    """Of these, the number of places with a memory."""
    only_counted: list[int] = field(default_factory=list)
    """Of these, the number of places whose only memory lists commands without effect."""
    kb: list[float] = field(default_factory=list)
    """The size of the file after each episode."""
    scores: list[int] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)
    dangers: int = 0
    """Current memories about dangers of an action."""
    refuted: list[str] = field(default_factory=list)
    uncovered: list[VisitedPlace] = field(default_factory=list)
    """The places without a memory at the end."""

    @property
    def repeated(self) -> list[Death]:
        before = defaultdict(set)
        for death in self.deaths:
            before[death.episode].add(death.way)
        return [death for death in self.deaths if death.way in before[death.episode - 1]]


def play(game: str, seed: int, episodes: int, turns: int) -> Run:
    """Play a story and examine the memory after each episode."""
    story = find_story(game)
    run, places, records = Run(story.path.stem, seed), {}, []
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(
            zork_game_workdir=folder,
            max_turns_per_episode=turns,
            embedding_provider="none",
        )
        options = RunOptions(PlayerChoice("rules", "measurement", None), story, seed)
        with assemble(config, options) as orchestrator:
            memory = orchestrator.simple_memory
            for number in range(1, episodes + 1):
                end = orchestrator.play_episode()
                played = list(turns_in(read_episode(Path(folder), number)).values())
                records += played
                _visit(places, played)
                movable = {thing.number for thing in orchestrator.services.game.all_objects() if thing.movable}
                believed = [one for one in memory.all_memories() if _is_lasting(one)]
                lacking = uncovered(places.values(), believed)
                run.visited.append(len(places))
                run.covered.append(len(places) - len(lacking))
                telling = [one for one in believed if not is_attempts_entry(one.memory)]
                run.only_counted.append(len(uncovered(places.values(), telling)) - len(lacking))
                file = Path(folder) / "Memories.md"
                run.kb.append(file.stat().st_size / 1024 if file.exists() else 0.0)
                run.scores.append(end.score or 0)
    for place in lacking:
        place.movable = [name for number, name in place.visible.items() if number in movable]
    run.uncovered = lacking
    run.deaths = [_death(one) for one in records if one.transition.died]
    run.dangers, run.refuted = dangers(believed, records)
    return run


def _death(record: TurnRecord) -> Death:
    loss, place = record.transition.loss or Loss(LossKind.DEATH), record.before
    return Death(
        record.episode,
        record.turn,
        place.location_id,
        place.location_name,
        normalized_action(record.action),
        loss.cause or _UNKNOWN,
        loss.creature,
        loss.sentence,
    )


def _is_lasting(located: LocatedMemory) -> bool:
    return is_current(located.memory) and located.memory.persistence.outlives_episode


def _visit(places: dict[int, VisitedPlace], played: Iterable[TurnRecord]) -> None:
    last: int | None = None
    for record in played:
        for now in (record.before, record.after):
            if now.location is None:
                continue
            place = places.setdefault(now.location.num, VisitedPlace(now.location.num, now.location.name))
            place.arrivals += last != place.number
            place.is_dark |= now.dark
            carried = {item.num for item in now.carried or ()}
            place.visible |= {item.num: item.name for item in now.visible or () if item.num not in carried}
            last = place.number


def uncovered(places: Iterable[VisitedPlace], believed: Sequence[LocatedMemory]) -> list[VisitedPlace]:
    """Return the places without a memory."""
    at = {one.location_id for one in believed}
    of_things = {claim.number for one in believed for claim in one.memory.claims}
    of_things |= {key.number for key in at if isinstance(key, Thing)}
    return [one for one in places if one.number not in at and of_things.isdisjoint(one.visible)]


def dangers(believed: Iterable[LocatedMemory], records: Sequence[TurnRecord]) -> tuple[int, list[str]]:
    """Return the number of current memories about dangers, and those contradicted by experience."""
    safe: Counter[tuple[int | None, str]] = Counter()
    deadly: Counter[tuple[int | None, str]] = Counter()
    for record in records:
        way = record.before.location_id, normalized_action(record.action)
        (deadly if record.transition.died or record.transition.loss else safe)[way] += 1
    listed = [one for one in believed if is_danger(one.memory) and one.memory.action]
    refuted = []
    for one in listed:
        way = one.location_id, normalized_action(one.memory.action)
        if one.memory.when or any(claim.relation is Relation.DARK for claim in one.memory.claims):
            continue
        if safe[way] >= SAFE_REPETITIONS and deadly[way] <= 1:
            refuted.append(f"{one.location_name}: {one.memory.action} (survived {safe[way]}, died {deadly[way]})")
    return len(listed), refuted


def table(runs: Sequence[Run], episodes: int) -> Table:
    """Return a row for each story, over all seeds, and one for all stories."""
    early = min(EARLY, episodes)
    columns = [
        "story",
        f"covered after {early}",
        "only by a count",
        f"after {episodes}",
        "KB",
        "last KB",
        "deaths by cause",
        "deaths repeated",
        "dangers refuted",
        "best score",
    ]
    stories = list(dict.fromkeys(run.story for run in runs))
    groups = [(story, [run for run in runs if run.story == story]) for story in stories]
    rows = [_row(name, group, early) for name, group in [*groups, ("all", list(runs))]]
    return Table(columns=columns, rows=rows)


def _row(name: str, runs: Sequence[Run], early: int) -> list[str]:
    sizes = [size for run in runs for size in run.kb]
    causes = Counter(death.cause for run in runs for death in run.deaths)
    later = sum(death.episode > 1 for run in runs for death in run.deaths)
    return [
        name,
        _share(sum(run.covered[early - 1] for run in runs), sum(run.visited[early - 1] for run in runs)),
        _share(sum(run.only_counted[early - 1] for run in runs), sum(run.visited[early - 1] for run in runs)),
        _share(sum(run.covered[-1] for run in runs), sum(run.visited[-1] for run in runs)),
        f"{sum(sizes) / len(sizes):.1f}",
        f"{sum(run.kb[-1] for run in runs) / len(runs):.1f}",
        ", ".join(f"{cause} {count}" for cause, count in causes.most_common()) or "0",
        _share(sum(len(run.repeated) for run in runs), later),
        f"{sum(len(run.refuted) for run in runs)} of {sum(run.dangers for run in runs)}",
        str(max(max(run.scores) for run in runs)) if name != "all" else "",
    ]


def _share(part: int, of: int) -> str:
    return f"{part} of {of} ({part / of:.0%})" if of else "-"


def default_games() -> list[str]:
    """Return the stories of tests/stories, and Zork I if its file is known."""
    zork = os.environ.get("ZORKGPT_ZORK1")
    return [*(str(own_stories.compiled(name)) for name in own_stories.names()), *([zork] if zork else [])]


def listing(runs: Sequence[Run]) -> list[str]:
    """Return a line for each place without a memory, refuted danger and death."""
    lines = []
    for run in runs:
        for kind, count in Counter(place.kind for place in run.uncovered).most_common():
            lines.append(f"{run.story}, seed {run.seed}: {count} places without a memory: {kind}")
        for place in run.uncovered:
            seen = ", ".join(list(place.visible.values())[:8])
            lines.append(f"    {place.name} ({place.number}), {place.kind}, {place.arrivals} arrivals: {seen}")
        lines += [f"    refuted danger: {one}" for one in run.refuted]
        lines += [
            f"    died in episode {one.episode}, turn {one.turn}: {one.place_name}: {one.action} ({one.cause}): "
            f"{one.sentence}"
            for one in run.deaths
        ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=default_games())
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--turns", type=int, default=150)
    parser.add_argument("--show", action="store_true", help="list the places without a memory, and the deaths")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes, initializer=logging.disable, initargs=(logging.WARNING,)) as pool:
        pending = [
            pool.submit(play, game, seed, given.episodes, given.turns) for game in given.games for seed in given.seeds
        ]
        runs = [one.result() for one in pending]
    print(markdown(table(runs, given.episodes)))
    if given.publish:
        names = " ".join(Path(game).name for game in given.games)
        publish(
            "coverage", f"uv run python -m benchmarks.coverage --games {names}", {"rows": table(runs, given.episodes)}
        )
    if given.show:
        print("\n" + "\n".join(listing(runs)))
    if given.json:
        given.json.write_text(json.dumps([asdict(run) for run in runs], indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
