"""Check against the object tree whether the memories of a place are up to date when the player is there.

    uv run python -m benchmarks.stale [--stories zork1 ...] [--turns 200] [--episodes 2] [--show stale ...] [--publish]

The whole loop plays a walkthrough, and a scripted answerer replaces the memory's model: it knows the truth of each turn
and words it as a careful model would (`benchmarks.stale_answerer`). Each row of the table uses a different answerer, or
a different store for the same answers. Without lifetimes, all memories are kept after a restart. Plain notes are shown
newest first within the memory's own budget; with vectors, the notes most similar to what the player reads now are
shown. Zork I is played if ZORKGPT_ZORK1 names it.

Before each turn, `benchmarks.stale_judge` judges the lines of `get_location_memory`, including those about things in
sight, which the prompt omits:

- A line is *stale* if it contains a wrong statement that is not corrected, or a wrong correction. The share of stale
  lines is taken among the lines with a decidable statement.
- A thing is *omitted* if no shown line names it although it is visible at the place, or was seen there earlier in the
  run and is still there by the object tree, neither carried nor among a creature's belongings. Only things count that
  can be taken, or are open, closed, locked or lit.
- An *update* is such a thing at the place that the player's action moved or changed. It is *correct* if, at the next
  turn at this place, no shown line is wrong about it and, unless it is carried or gone, one line states the truth.
"""

import argparse
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.publish import Table, markdown, publish
from benchmarks.stale_answerer import Answerer, Note, Style
from benchmarks.stale_judge import Judge
from game_interface.story import find_story
from orchestration import services
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures import own_stories
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.errors import ZorkGPTError
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.truth import WorldSnapshot
from zorkgpt.memory.claims import STATES
from zorkgpt.memory.retrieval import Budget, estimated_tokens

STORIES = ("zork1", "slackwater", "lantern", "questions", "dream")
WRONG_SHARE = 0.2
MAX_NOTES = 10
"""The most notes that a vector search returns."""


def newest(notes: Sequence[Note], place: int) -> list[Note]:
    """Return the notes of a place, newest first, within the memory's budget and without duplicates."""
    chosen: dict[Note, None] = {}
    tokens = Budget().tokens
    for note in reversed(notes):
        if note.place == place and note not in chosen:
            tokens -= estimated_tokens(f"[NOTE] {note.text}\n")
            if tokens < 0:
                break
            chosen[note] = None
    return list(chosen)


class Vectors:
    """Finds the notes that are most similar to a text."""

    def __init__(self, provider: EmbeddingProvider) -> None:
        self._provider = provider
        self._known: dict[str, Any] = {}

    def nearest(self, notes: Sequence[Note], text: str) -> list[Note]:
        every = list(dict.fromkeys(notes))
        wanted = self._vector(text)
        every.sort(key=lambda note: -float(self._vector(f"{note.place_name}: {note.text}") @ wanted))
        return every[:MAX_NOTES]

    def _vector(self, text: str) -> Any:
        if text not in self._known:
            self._known[text] = self._provider.embed(text)
        return self._known[text]


@dataclass
class Count:
    """The counts of one row, in one or several episodes."""

    lines: int = 0
    decided: int = 0
    stale: int = 0
    things: int = 0
    omitted: int = 0
    updates: int = 0
    correct: int = 0

    def add(self, other: "Count") -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


class Observer:
    """Judges one store turn by turn."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.episodes: list[Count] = []
        self.findings: Counter[str] = Counter()
        self._pending: dict[int, set[int]] = {}

    def begin(self) -> None:
        self.episodes.append(Count())
        self._pending = {}

    def see(self, judge: Judge, shown: Sequence[tuple[str, int | str]], now: "Moment") -> None:
        """Before a turn, judge the shown lines, each with the place that it describes."""
        count, place = self.episodes[-1], now.place
        judged = [judge.judge(line, about, now.world) for line, about in shown]
        count.lines += len(judged)
        count.decided += sum(one.is_decided for one in judged)
        count.things += len(now.at_place)
        for one in judged:
            if one.wrong:
                count.stale += 1
                names = ", ".join(now.world.name_of(number) for number in sorted(filter(None, one.wrong)))
                self.findings[f"stale | {now.place_name} | {one.text} | not so: {names}"] += 1
        for number, name in now.at_place.items():
            if not any(judge.mentions(line, name) for line, _ in shown):
                count.omitted += 1
                self.findings[f"omitted | {now.place_name} | {name} ({number})"] += 1
        for number in self._pending.pop(place, ()):
            thing = now.world.things.get(number)
            if thing is not None and not (thing.movable or thing.states):
                continue
            count.updates += 1
            away = thing is None or thing.room != place
            wrong = any(number in one.wrong for one in judged)
            is_stated = any(number in (line.true | line.corrected) for line in judged)
            if not wrong and (away or is_stated):
                count.correct += 1
            else:
                why = "wrong" if wrong else "not told"
                self.findings[f"updates | {now.place_name} | {now.world.name_of(number)} ({number}): {why}"] += 1

    def act(self, record: TurnRecord, at_hand: Iterable[int]) -> None:
        """Record what the player's action moved or changed."""
        step, near = record.transition, set(at_hand)
        if step.before.location_id is None:
            return
        changed = {one.number for one in step.changed if not one.by_itself and one.attribute in STATES}
        moved = {one.number for one in step.moved if not one.by_itself}
        self._pending.setdefault(step.before.location_id, set()).update((changed | moved) & near)


@dataclass(frozen=True)
class Moment:
    """The world before a turn."""

    place: int
    place_name: str
    world: WorldSnapshot
    at_place: dict[int, str]
    """The names of the things that a player should know to be there, by object number."""
    at_hand: frozenset[int]
    text: str
    """The place's name and what the player has just read."""


@dataclass(frozen=True)
class Arm:
    """A row of the table whose answers the loop plays with."""

    name: str
    style: Style
    ablation: Ablation = Ablation.ON


ARMS = (
    Arm("claims in fields", Style()),
    Arm("no claims", Style(has_claims=False)),
    Arm("20 % of the claims wrong", Style(wrong_share=WRONG_SHARE)),
    Arm("classic answers", Style(has_claims=False, has_kind=False, is_classic=True)),
    Arm("no lifetimes", Style(), Ablation.NO_CLASSES),
)
GOAL_ROWS = 3
"""The number of rows that must meet the goals."""


@dataclass
class Played:
    """A row of one story."""

    row: str
    episodes: list[Count]
    findings: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> Count:
        total = Count()
        for each in self.episodes:
            total.add(each)
        return total


def commands_of(story: str) -> tuple[str | None, int, list[str]]:
    """Return the file, the seed and the walkthrough of a story."""
    if story == "zork1":
        return os.environ["ZORKGPT_ZORK1"], ZORK1_SEED, get_zork1_walkthrough()
    if story == "slackwater":
        return story, BUNDLED_SEED, get_bundled_walkthrough()
    steps = own_stories.walkthrough(story)
    return str(own_stories.compiled(story)), 1, [step.command for step in steps if step.command is not None]


def play(story: str, arm: Arm, turns: int, episodes: int, vectors: Vectors | None = None) -> list[Played]:
    """Play a walkthrough and return the arm's row and, with `vectors`, the rows of plain notes and of vectors."""
    path, seed, commands = commands_of(story)
    answerer, observers = Answerer(arm.style), [Observer(arm.name)]
    if vectors is not None:
        observers += [Observer("plain notes"), Observer(f"the {MAX_NOTES} most similar notes")]
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(
            zork_game_workdir=folder, max_turns_per_episode=turns, embedding_provider="none", enable_state_export=False
        )
        options = RunOptions(PlayerChoice("rules", "measurement", None), find_story(path), seed)
        # A run without a model creates its own synthesizer. Nothing else of the loop is replaced.
        with (
            patch.object(services, "RuleSynthesizer", lambda: answerer),
            assemble(config, options) as game,
        ):
            seen: dict[int, set[int]] = defaultdict(set)
            for episode in range(episodes):
                if episode:
                    arm.ablation.prepare(config, last=episode, seed=seed)
                game.reset_episode()
                for observer in observers:
                    observer.begin()
                text = ""
                for command in commands[:turns]:
                    now = _moment(game.services.game, seen, text)
                    lines = _lines(game.simple_memory.get_location_memory(now.place)) if now is not None else []
                    try:
                        record = game.process_turn(command)
                    except ZorkGPTError:
                        break
                    text = record.transition.response
                    if now is not None:
                        shown = [(line, now.place) for line in lines]
                        judge = Judge({number: thing.name for number, thing in now.world.things.items()})
                        observers[0].see(judge, shown, now)
                        for observer, notes in zip(observers[1:], _notes(answerer.notes, now, vectors), strict=False):
                            observer.see(judge, [(one.text, one.place) for one in notes], now)
                    if now is not None and not record.transition.refused:
                        after = {thing.number for thing in game.services.game.things()}
                        for observer in observers:
                            observer.act(record, now.at_hand | after)
                    if record.transition.finished:
                        break
    return [Played(each.name, each.episodes, dict(each.findings)) for each in observers]


def _notes(notes: Sequence[Note], now: Moment, vectors: Vectors | None) -> list[list[Note]]:
    # The notes of this turn are written after it.
    return [] if vectors is None else [newest(notes, now.place), vectors.nearest(notes, now.text)]


def _lines(shown: str) -> list[str]:
    return [line.strip() for line in shown.splitlines() if line.lstrip().startswith("[")]


def _moment(game: Any, seen: dict[int, set[int]], text: str) -> Moment | None:
    """Return the world before a turn, or None if the place is unknown, and record what the player sees."""
    now = game.observe()
    if now.location is None or now.question is not None:
        return None
    place, world = now.location.num, WorldSnapshot.of(game)
    things = game.things()
    alive = {number for number, thing in world.things.items() if game.get_object_attributes(number).get("animate")}
    visible = {
        thing.number
        for thing in things
        if not thing.carried
        and not thing.alive
        and (not thing.fixed or thing.states)
        and thing.holder_number not in alive
    }
    known = {
        number
        for number in seen[place] - world.carried
        if (thing := world.things.get(number)) and thing.room == place and thing.holder not in alive
    }
    seen[place] |= visible
    at_place = {number: world.name_of(number) for number in visible | known if world.name_of(number)}
    at_hand = frozenset(thing.number for thing in things)
    return Moment(place, now.location.name, world, at_place, at_hand, f"{now.location.name}. {text}")


def rows_of(
    stories: Sequence[str], turns: int, episodes: int, provider: EmbeddingProvider | None
) -> dict[str, list[Played]]:
    """Return the rows of each story."""
    vectors = None if provider is None else Vectors(provider)
    found: dict[str, list[Played]] = {}
    for story in stories:
        rows: list[Played] = []
        extra: list[Played] = []
        for at, arm in enumerate(ARMS):
            first, *others = play(story, arm, turns, episodes, vectors if at == 0 else None)
            rows.append(first)
            extra += others
        found[story] = [*rows, *extra]
    return found


def table(played: dict[str, list[Played]]) -> Table:
    """Return a table of the stale, omitted and correct shares, with a row per arm and a column per story."""
    names = [row.row for row in next(iter(played.values()))]
    rows = [[name, *(_cell(rows[at].total) for rows in played.values())] for at, name in enumerate(names)]
    return Table(columns=["stale / omitted / updates correct", *played], rows=rows)


def summary_of(played: dict[str, list[Played]]) -> Table:
    """Return a table of the stale shares, with and without lifetimes and for plain notes."""
    labels = {"claims in fields": "ZorkGPT", "no lifetimes": "ZorkGPT without lifetimes"}
    rows = []
    for at, row in enumerate(next(iter(played.values()))):
        if row.row in labels or row.row not in (arm.name for arm in ARMS):
            counts = [story[at].total for story in played.values()]
            rows.append([labels.get(row.row, row.row), *(_share(count.stale, count.decided) for count in counts)])
    return Table(columns=["stale lines", *played], rows=rows)


def _cell(count: Count) -> str:
    shares = ((count.stale, count.decided), (count.omitted, count.things), (count.correct, count.updates))
    return " / ".join(_share(part, of) for part, of in shares)


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "-"


def missed_goals(played: dict[str, list[Played]]) -> Iterator[str]:
    """Yield a description of each goal that is not met."""
    for story, rows in played.items():
        for row in rows[:GOAL_ROWS]:
            count = row.total
            goals = {
                "stale": (count.stale, count.decided, count.stale <= 0.01 * count.decided),
                "omitted": (count.omitted, count.things, count.omitted <= 0.05 * count.things),
                "updates correct": (count.correct, count.updates, count.correct >= 0.98 * count.updates),
            }
            for name, (part, of, is_met) in goals.items():
                if not is_met:
                    yield f"{story}, {row.row}: {name} {part} of {of}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stories", nargs="+", default=list(STORIES))
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--show", nargs="+", default=[], choices=("stale", "omitted", "updates"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    from zorkgpt.embeddings.choose import choose_provider

    stories = [story for story in given.stories if story != "zork1" or os.environ.get("ZORKGPT_ZORK1")]
    played = rows_of(stories, given.turns, given.episodes, choose_provider("auto"))
    tables = {"summary": summary_of(played), "rows": table(played)}
    print("\n\n".join(map(markdown, tables.values())))
    print("\nBy episode:")
    for story, rows in played.items():
        for row in rows:
            print(
                f"{story}, {row.row}:",
                "; ".join(f"{_cell(each)} {list(asdict(each).values())}" for each in row.episodes),
            )
    print("\nGoals not met:", *missed_goals(played), sep="\n")
    for story, rows in played.items():
        for row in rows:
            for finding, times in sorted(row.findings.items(), key=lambda item: -item[1]):
                if finding.split(" | ")[0] in given.show:
                    print(f"{story} | {row.row} | {times}x {finding}")
    if given.json:
        given.json.write_text(json.dumps({s: [asdict(row) for row in rows] for s, rows in played.items()}, indent=1))
    if given.publish:
        publish("stale", "uv run python -m benchmarks.stale", tables)


if __name__ == "__main__":
    main()
