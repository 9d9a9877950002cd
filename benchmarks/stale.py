"""Whether the memories that the player is shown are up to date, by the object tree, on walkthroughs.

    uv run python -m benchmarks.stale [--stories zork1 ...] [--turns 200] [--episodes 2] [--show stale ...] [--publish]

The whole loop plays a walkthrough, and a scripted answerer stands in for the memory's model: it is told the truth of
each turn and words it as a careful model would (`Answerer`). Each row of the table is another answerer, or another kind
of store for the same answers; plain notes are shown newest first within the memory's own budget, or, by vectors, those
most similar to what the player reads now. Zork I is played if ZORKGPT_ZORK1 names it.

Before each turn the judge reads the lines that the player is shown at its place. It takes statements from a line by
these rules, whoever worded it, and nothing else:

- A line is read without its category and its marks. "Title: text" is read in sentences; a sentence ends with a dot or a
  semicolon. What stands in quotes was said at the time and states nothing, nor does a line with "(when ...)".
- "NAME is here" (or lies, stands, hangs), "NAME is in HOLDER" (or on), "NAME is STATE" (open, closed, locked, unlocked,
  lit, unlit, carried). Several names can be joined by commas and "and".
- A list behind a colon: "Here: NAME, NAME", "Starts here: ...", "Left here: ...", "In HOLDER: ...", "On HOLDER: ...",
  "NAME: STATE"; a state can follow a name in parentheses. A start is a statement about now, too: the player goes there.
- A name is one of the story's object names, with or without an article. Where several objects have it, the statement is
  wrong only if it is wrong of each. A name that the story does not have, and the whereabouts of what can't be moved,
  are undecided.
- "(now: NAME WORD)" corrects a wrong statement about that thing, "(now: WORD)" any. "carried" and the states must be so
  themselves; "gone" and "moved" must stand beside a statement that is wrong. A correction of a holder covers what the
  line says is in it.

A line is *stale* if a statement in it is wrong and not corrected, or if a correction is wrong. Stale lines are counted
among the lines with a statement that is decided. A thing is *omitted* if no shown line has its name, although it is
visible at the place, or was seen there before in this run, by the object tree is still there, and isn't carried or part
of a creature's belongings. Counted are the things that can be taken, and those that are open, closed, locked or lit. An
*update* is such a thing at the place that the player's action moved, or changed in its state; it is *correct* if at the
next turn at this place no shown line is wrong about it, and, unless it is carried or gone, one states what is so.
"""

import argparse
import json
import os
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.publish import Table, markdown, publish
from game_interface.story import find_story
from orchestration import services
from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures import own_stories
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.errors import ZorkGPTError
from zorkgpt.evals.truth import WorldNow
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.claims import OPPOSITE, STATES, Claim, Relation
from zorkgpt.memory.models import Memory, Persistence
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.retrieval import Budget, estimated_tokens
from zorkgpt.memory.synthesis import SynthesisRequest, noticed_moves
from zorkgpt.text import sentence_case, with_article

STORIES = ("zork1", "slackwater", "lantern", "questions", "dream")
WRONG_SHARE = 0.2
MOST_NOTES = 10
"""Notes that are found by vectors."""

_MARKS = re.compile(r" \[(spawn|session)\]")
_NOTE = re.compile(r"\(now: ([^()]*)\)")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”")
_SENTENCE = re.compile(r"[.;!?](?:\s+|$)|\n")
_STATE_WORDS = {relation.value: relation for pair in STATES.values() for relation in pair} | {
    "on": Relation.LIT,
    "off": Relation.UNLIT,
    "carried": Relation.CARRIED,
}
_STATE = "|".join(_STATE_WORDS)
_IS = r"(?:is|are|lies|lie|stands|stand|hangs|hang)(?: now)?"
_HERE = re.compile(rf"(?P<names>.+?) {_IS} here")
_HELD = re.compile(rf"(?P<names>.+?) {_IS} (?P<how>in|on) (?P<holder>.+)")
_STATED = re.compile(rf"(?P<names>.+?) (?:is|are)(?: now)? (?P<state>{_STATE})")
_LISTED_HERE = re.compile(r"(?:.*\b)?here: (?P<names>.+)")
_LISTED_HELD = re.compile(r"(?P<how>in|on) (?P<holder>.+?): (?P<names>.+)")
_NAMED_STATE = re.compile(rf"(?P<names>[^:]+): (?P<state>{_STATE})")
_ITEM = re.compile(r"(?P<name>[^()]+?)(?: \((?P<states>[^()]*)\))?")
_ARTICLE = re.compile(r"^(?:the|an|a|your|some) ")


# The answers


@dataclass(frozen=True)
class Style:
    """How a model answers."""

    has_claims: bool = True
    has_kind: bool = True
    wrong_share: float = 0.0
    """Of the claims."""
    is_classic: bool = False
    """One fact of category, title, text, persistence and status, with the titles that it replaces or disproves."""


class Answerer:
    """A `MemorySynthesizer` that knows the truth of a turn and words it as a careful model would.

    It keeps what is seen on the first arrival, what comes to light later, how points were scored, what killed, what the
    game did not do, and for this episode where the player left a thing and what it opened, closed, locked or lit. It
    marks what such a memory of this episode said before as wrong. The fields that the style leaves out are empty.
    """

    asks_a_model = True

    def __init__(self, style: Style) -> None:
        self._style = style
        self._random = random.Random(1)
        self.notes: list[Note] = []

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse:
        facts = list(_facts_of_arrival(request) if request.arrival else _facts_of_action(request))
        outdated, _ = _outdated(request)
        told: dict[str, Any] = {"should_remember": bool(facts), "reasoning": "scripted"}
        if outdated:
            told |= {"invalidate_memory_titles": outdated, "invalidation_reason": "The action changed it."}
        answers = [self._in_style(fact, request) for fact in facts[: 1 if self._style.is_classic else 3]]
        for fact in facts:
            self.notes.append(Note(request.location_id, request.location_name, f"{fact.title}: {fact.text}"))
        if answers:
            told |= answers[0] | {"also": answers[1:]}
        return MemorySynthesisResponse(**told)

    def _in_style(self, fact: "Fact", request: SynthesisRequest) -> dict[str, Any]:
        told: dict[str, Any] = {
            "category": fact.category,
            "memory_title": fact.title,
            "memory_text": fact.text,
            "persistence": fact.persistence,
        }
        if self._style.is_classic:
            return told
        told["action"] = fact.action
        if self._style.has_kind and "kind" in MemorySynthesisResponse.model_fields:
            told["kind"] = fact.kind
        if self._style.has_claims:
            told["claims"] = [self._perhaps_wrong(claim, request.context.things) for claim in fact.claims]
        return told

    def _perhaps_wrong(self, claim: Claim, things: Sequence[ThingState]) -> Claim:
        if self._random.random() >= self._style.wrong_share:
            return claim
        others = [thing for thing in things if thing.number != claim.number]
        if others and self._random.random() < 0.5:
            other = self._random.choice(others)
            return Claim(claim.relation, other.number, other.name, claim.other, claim.other_name)
        if claim.relation in OPPOSITE:
            return Claim(OPPOSITE[claim.relation], claim.number, claim.name)
        return Claim(Relation.HERE, claim.number, claim.name)


@dataclass(frozen=True)
class Fact:
    """Something to remember."""

    category: str
    title: str
    text: str
    persistence: Persistence
    kind: str
    action: str = ""
    claims: tuple[Claim, ...] = ()


def _facts_of_arrival(request: SynthesisRequest) -> Iterator[Fact]:
    yield from _sight(request, "First look")
    # What the player itself has brought or changed is not there when an episode begins.
    doing = [thing for thing in request.context.things if thing.number in request.handled and _is_worth_saying(thing)]
    yield from _for_now("Seen on arrival", (claim for thing in doing for claim in _sayable(thing)))


def _sight(request: SynthesisRequest, title: str) -> Iterator[Fact]:
    """Yield what is seen, not said yet, and not the player's doing."""
    known = " ".join(memory.text for memory in request.memories).lower()
    doing = request.handled | {move.number for move in request.context.moved if not move.by_itself}
    new = [
        thing
        for thing in request.context.things
        if _is_worth_saying(thing)
        and thing.number not in doing
        and not re.search(rf"\b{re.escape(thing.name.lower())}\b", known)
    ]
    claims = tuple(claim for thing in new for claim in _sayable(thing))
    if claims:
        persistence = Persistence.CORE if request.context.first_visit else Persistence.PERMANENT
        yield Fact("DISCOVERY", title, _sentences(claims), persistence, "location", claims=claims)


def _for_now(title: str, claims: Iterable[Claim], action: str = "") -> Iterator[Fact]:
    """Yield what is so in this episode."""
    if claims := tuple(dict.fromkeys(claims)):
        yield Fact("NOTE", title, _sentences(claims), Persistence.EPHEMERAL, "location", action, claims)


def _facts_of_action(request: SynthesisRequest) -> Iterator[Fact]:
    turn, action = request.context, request.action
    first = request.response.strip().replace('"', "'").split("\n")[-1][:150]
    said = f'The game says: "{first}"'
    if turn.died:
        yield Fact("DANGER", f'"{action}" kills', said, Persistence.PERMANENT, "danger", action)
        return
    if turn.score_delta > 0:
        title = f'"{action}" scores {turn.score_delta}'
        yield Fact("SUCCESS", title, said, Persistence.PERMANENT, "procedure", action)
    if turn.nothing_changed:
        yield Fact("FAILURE", f'"{action}" does nothing', said, Persistence.PERMANENT, "rule", action)
    things = {thing.number: thing for thing in turn.things}
    moved = [things[move.number] for move in noticed_moves(request) if not move.by_itself and move.number in things]
    claims = [thing.claims()[0] for thing in moved if not thing.carried and not thing.alive]
    changed = {one.number for one in turn.changed if not one.by_itself and one.attribute in STATES} & things.keys()
    claims += [claim for number in sorted(changed) for claim in things[number].claims()[1:]]
    _, still_so = _outdated(request)
    yield from _for_now(f'After "{action}"', (*claims, *still_so), action)
    if not turn.location_changed:
        yield from _sight(request, f'Found by "{action}"')


def _is_worth_saying(thing: ThingState) -> bool:
    seen = not thing.carried and not thing.left_behind
    return seen and (not thing.fixed or bool(thing.states) or thing.alive)


def _sayable(thing: ThingState) -> tuple[Claim, ...]:
    """Return its whereabouts, if it can be moved, and its states."""
    where, *states = thing.claims()
    return (*(() if thing.fixed and states and where.relation is Relation.HERE else (where,)), *states)


def _sentences(claims: Iterable[Claim]) -> str:
    return " ".join(f"{sentence_case(claim.in_words())}." for claim in claims)


def _outdated(request: SynthesisRequest) -> tuple[set[str], list[Claim]]:
    """Return the memories of this episode that state of a handled thing what is not so, and what else they say."""
    turn = request.context
    names = {with_article(one.name).lower() for one in (*turn.moved, *turn.changed)}
    now = {claim.in_words().lower(): claim for thing in turn.things for claim in thing.claims()}
    titles: list[str] = []
    still_so: list[Claim] = []
    for memory in request.memories:
        said = [sentence.strip().lower() for sentence in memory.text.split(".")]
        wrong = any(one not in now and any(one.startswith(f"{name} ") for name in names) for one in said)
        if wrong and memory.persistence is Persistence.EPHEMERAL:
            titles.append(memory.title)
            still_so += [now[one] for one in said if one in now]
    return set(titles[:3]), still_so


# Plain notes


@dataclass(frozen=True)
class Note:
    """An answer, written down for good."""

    place: int | str
    place_name: str
    text: str


def newest(notes: Sequence[Note], place: int) -> list[Note]:
    """Return the notes of a place, newest first, as far as the memory's budget goes; equal ones once."""
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
        return every[:MOST_NOTES]

    def _vector(self, text: str) -> Any:
        if text not in self._known:
            self._known[text] = self._provider.embed(text)
        return self._known[text]


# The judge


@dataclass(frozen=True)
class Statement:
    """What a line says of a thing: a claim about each object that has the name."""

    name: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class JudgedLine:
    """A line that the player is shown."""

    text: str
    true: frozenset[int | None] = frozenset()
    """The objects of which it states something that is so."""
    wrong: frozenset[int | None] = frozenset()
    """The objects of which it states something that is not so, without a correction."""
    corrected: frozenset[int | None] = frozenset()

    @property
    def is_decided(self) -> bool:
        return bool(self.true or self.wrong or self.corrected)


class Judge:
    """Reads lines by the rules above.

    Args:
        names: Object number → name.
    """

    def __init__(self, names: dict[int, str]) -> None:
        self._numbers: dict[str, set[int]] = defaultdict(set)
        for number, name in names.items():
            self._numbers[_bare(name)].add(number)

    def statements(self, line: str) -> list[Statement]:
        """Return what a line states, corrections left out."""
        if "(when " in line:
            return []
        line = _QUOTED.sub("", _NOTE.sub("", _MARKS.sub("", re.sub(r"^\s*\[[^\]]*\] ", "", line))))
        found: list[Statement] = []
        for sentence in _SENTENCE.split(line.lower()):
            # What follows a title is a sentence of its own, unless both together are a list.
            found += self._of_sentence(sentence.strip()) or self._of_sentence(sentence.partition(": ")[2].strip())
        return found

    def _of_sentence(self, sentence: str) -> list[Statement]:
        for pattern in (_LISTED_HELD, _LISTED_HERE, _NAMED_STATE, _HERE, _STATED, _HELD):
            if (match := pattern.fullmatch(sentence)) and (found := self._of_match(match.groupdict())):
                return found
        return []

    def _of_match(self, told: dict[str, str]) -> list[Statement]:
        found = []
        for item in re.split(r", (?:and )?| and ", told["names"]):
            match = _ITEM.fullmatch(item.strip())
            numbers = self._numbers.get(_bare(match["name"])) if match else None
            if match is None or numbers is None:
                continue
            where = self._where(numbers, told)
            states = [state for word in (match["states"] or "").split(", ") if (state := _STATE_WORDS.get(word))]
            if where:
                found.append(Statement(match["name"], where))
            for state in states:
                found.append(Statement(match["name"], tuple(Claim(state, number) for number in numbers)))
        return found

    def _where(self, numbers: set[int], told: dict[str, str]) -> tuple[Claim, ...]:
        if state := told.get("state"):
            return tuple(Claim(_STATE_WORDS[state], number) for number in numbers)
        if holder := told.get("holder"):
            relation, holders = Relation(told["how"]), self._numbers.get(_bare(holder), set())
            return tuple(Claim(relation, number, other=other) for number in numbers for other in holders)
        return tuple(Claim(Relation.HERE, number) for number in numbers)

    def judge(self, line: str, place: int | str, world: WorldNow) -> JudgedLine:
        """Judge a line that is about a place."""
        verdicts = [(one, _is_so(one.claims, place, world)) for one in self.statements(line)]
        wrong = {claim.number for one, so in verdicts if so is False for claim in one.claims}
        true = {claim.number for one, so in verdicts if so for claim in one.claims}
        corrected: set[int | None] = set()
        for note in (part for notes in _NOTE.findall(line) for part in re.split(r", | and ", notes.lower())):
            name, _, word = note.strip().rpartition(" ")
            numbers = self._numbers.get(_bare(name), set()) if name else wrong
            state = _STATE_WORDS.get(word)
            is_so = (
                bool(wrong & numbers)
                if state is None
                else any(
                    _is_so((Claim(state, number),), place, world) is not False
                    for number in numbers
                    if number is not None
                )
            )
            if is_so:
                corrected |= wrong & numbers
            else:
                wrong |= numbers
        # What is said to be in a thing that is gone is gone with it.
        held = {claim.number for one, so in verdicts if so is False for claim in one.claims if claim.other in corrected}
        corrected |= wrong & held
        return JudgedLine(line, frozenset(true), frozenset(wrong - corrected), frozenset(corrected))

    @staticmethod
    def mentions(line: str, name: str) -> bool:
        return re.search(rf"\b{re.escape(_bare(name))}\b", line.lower()) is not None


def _bare(name: str) -> str:
    return _ARTICLE.sub("", " ".join(name.lower().split()), count=1)


def _is_so(claims: Sequence[Claim], place: int | str, world: WorldNow) -> bool | None:
    """Return whether one of the claims holds; None if none does and one is undecided."""
    told = {world.bears_out(place, Memory("", "", 1, "1", 0, "", Persistence.CORE, claims=(one,))) for one in claims}
    return True if True in told else None if None in told or not told else False


@dataclass
class Count:
    """What was counted for one row, in one episode or in several."""

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
        """Judge the lines, each with the place that it is about, before a turn."""
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
            told = any(number in (one.true | one.corrected) for one in judged)
            if not wrong and (away or told):
                count.correct += 1
            else:
                why = "wrong" if wrong else "not told"
                self.findings[f"updates | {now.place_name} | {now.world.name_of(number)} ({number}): {why}"] += 1

    def act(self, record: TurnRecord, at_hand: Iterable[int]) -> None:
        """Note what the player's action moved or changed."""
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
    world: WorldNow
    at_place: dict[int, str]
    """What a player should know to be there, with its names."""
    at_hand: frozenset[int]
    text: str
    """The place's name and what the player has just read."""


# The play


@dataclass(frozen=True)
class Arm:
    """A row of the table that plays."""

    name: str
    style: Style


ARMS = (
    Arm("claims in fields", Style()),
    Arm("no claims", Style(has_claims=False)),
    Arm("20 % of the claims wrong", Style(wrong_share=WRONG_SHARE)),
    Arm("classic answers", Style(has_claims=False, has_kind=False, is_classic=True)),
)
GOAL_ROWS = 3
"""So many rows are held to the goals."""


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
    """Play a walkthrough, and return the arm's row; with `vectors` those of plain notes and of vectors, too."""
    path, seed, commands = commands_of(story)
    answerer, observers = Answerer(arm.style), [Observer(arm.name)]
    if vectors is not None:
        observers += [Observer("plain notes"), Observer(f"the {MOST_NOTES} most similar notes")]
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(
            zork_game_workdir=folder, max_turns_per_episode=turns, embedding_provider="none", enable_state_export=False
        )
        options = RunOptions(PlayerChoice("rules", "measurement", None), find_story(path), seed)
        # A run without a model makes its own synthesizer; the rest of the loop is as it is.
        with (
            patch.object(services, "RuleSynthesizer", lambda: answerer),
            assemble(config, options) as game,
        ):
            seen: dict[int, set[int]] = defaultdict(set)
            for _ in range(episodes):
                game.reset_episode()
                for observer in observers:
                    observer.begin()
                text = ""
                for command in commands[:turns]:
                    now = _moment(game.services.game, seen, text)
                    try:
                        record = game.process_turn(command)
                    except ZorkGPTError:
                        break
                    text = record.transition.response
                    if now is not None:
                        shown = [(line, now.place) for line in _lines(record.memory_shown)]
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
    # Notes of the turn itself come after it.
    return [] if vectors is None else [newest(notes, now.place), vectors.nearest(notes, now.text)]


def _lines(shown: str) -> list[str]:
    return [line.strip() for line in shown.splitlines() if line.lstrip().startswith("[")]


def _moment(game: Any, seen: dict[int, set[int]], text: str) -> Moment | None:
    """Return the world before a turn, and note what the player sees; None where its place is unknown."""
    now = game.observe()
    if now.location is None or now.question is not None:
        return None
    place, world = now.location.num, WorldNow.of(game)
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


# The table


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
    """Return stale, omitted and correct for each row, of each story."""
    names = [row.row for row in next(iter(played.values()))]
    rows = [[name, *(_cell(rows[at].total) for rows in played.values())] for at, name in enumerate(names)]
    return Table(columns=["stale / omitted / updates correct", *played], rows=rows)


def _cell(count: Count) -> str:
    shares = ((count.stale, count.decided), (count.omitted, count.things), (count.correct, count.updates))
    return " / ".join(_share(part, of) for part, of in shares)


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "-"


def missed_goals(played: dict[str, list[Played]]) -> Iterator[str]:
    """Yield the goals that are not met, in words."""
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
    print(markdown(table(played)))
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
        publish("stale", "uv run python -m benchmarks.stale", {"rows": table(played)})


if __name__ == "__main__":
    main()
