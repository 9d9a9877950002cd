"""A scripted memory model that knows the facts of each turn."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.claims import OPPOSITE, STATES, Claim, Relation
from zorkgpt.memory.models import Persistence, ZMachineContext
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.synthesis import SynthesisRequest, noticed_moves
from zorkgpt.text import sentence_case, with_article


@dataclass(frozen=True)
class Note:
    """An answer as a note without lifetime."""

    place: int | str
    place_name: str
    text: str


@dataclass(frozen=True)
class Style:
    """The style of a model's answers."""

    has_claims: bool = True
    has_kind: bool = True
    wrong_share: float = 0.0
    """The share of wrong claims."""
    is_classic: bool = False
    """Whether an answer has only one fact with category, title, text, persistence and status, and outdated titles."""


class Answerer:
    """A `MemorySynthesizer` that knows the facts of a turn and answers like a careful model.

    It remembers the objects seen on the first arrival, objects found later, scoring actions, causes of death, and
    actions without effect. For the current episode, it remembers where the player left objects, and which ones it
    opened, closed, locked or lit, and it invalidates outdated memories of this kind. Fields that the style excludes are
    empty.
    """

    asks_a_model = True

    def __init__(self, style: Style) -> None:
        self._style = style
        self._random = random.Random(1)
        self.notes: list[Note] = []
        self._last_turn = 0
        self._handled: set[int] = set()
        """The numbers of objects that the player has moved or changed in this episode."""

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse:
        self._note_handled(request.context)
        answers = []
        for seen in request.places:
            facts = list((_facts_of_arrival if seen.arrival else _facts_of_action)(seen, self._handled))
            answers += [self._in_style(fact, seen) for fact in facts[: 1 if self._style.is_classic else 3]]
            for fact in facts:
                self.notes.append(Note(seen.location_id, seen.location_name, f"{fact.title}: {fact.text}"))
        outdated = set().union(*(_outdated(seen)[0] for seen in request.places))
        fields: dict[str, Any] = {"should_remember": bool(answers), "reasoning": "scripted"}
        if outdated:
            outdated = set(sorted(outdated)[:3])
            fields |= {"invalidate_memory_titles": outdated, "invalidation_reason": "The action changed it."}
        if answers:
            fields |= answers[0] | {"also": answers[1:]}
        return MemorySynthesisResponse(**fields)

    def _note_handled(self, turn: ZMachineContext) -> None:
        if turn.turn < self._last_turn:
            self._handled.clear()
        self._last_turn = turn.turn
        self._handled |= {one.number for one in (*turn.moved, *turn.changed) if not one.by_itself}

    def _in_style(self, fact: "Fact", request: SynthesisRequest) -> dict[str, Any]:
        told: dict[str, Any] = {
            "category": fact.category,
            "memory_title": fact.title,
            "memory_text": fact.text,
            "persistence": fact.persistence,
            "place": "arrival" if request.arrival else "action",
        }
        if self._style.is_classic:
            return told
        told["action"] = fact.action
        if self._style.has_kind:
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
    """A fact to remember."""

    category: str
    title: str
    text: str
    persistence: Persistence
    kind: str
    action: str = ""
    claims: tuple[Claim, ...] = ()


def _facts_of_arrival(request: SynthesisRequest, handled: Set[int]) -> Iterator[Fact]:
    yield from _sight(request, "First look", handled)
    # Objects that the player brought or changed are not like this at the start of an episode.
    doing = [thing for thing in request.context.things if thing.number in handled and _is_worth_saying(thing)]
    yield from _for_now("Seen on arrival", (claim for thing in doing for claim in _sayable(thing)))


def _sight(request: SynthesisRequest, title: str, handled: Set[int]) -> Iterator[Fact]:
    """Yield a fact about visible objects that have no memory yet and that the player has not handled."""
    known = " ".join(memory.text for memory in request.memories).lower()
    new = [
        thing
        for thing in request.context.things
        if _is_worth_saying(thing)
        and thing.number not in handled
        and not re.search(rf"\b{re.escape(thing.name.lower())}\b", known)
    ]
    claims = tuple(claim for thing in new for claim in _sayable(thing))
    if claims:
        persistence = Persistence.CORE if request.context.first_visit else Persistence.PERMANENT
        yield Fact("DISCOVERY", title, _sentences(claims), persistence, "location", claims=claims)


def _for_now(title: str, claims: Iterable[Claim], action: str = "") -> Iterator[Fact]:
    """Yield an ephemeral fact with these claims."""
    if claims := tuple(dict.fromkeys(claims)):
        yield Fact("NOTE", title, _sentences(claims), Persistence.EPHEMERAL, "location", action, claims)


def _facts_of_action(request: SynthesisRequest, handled: Set[int]) -> Iterator[Fact]:
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
        yield from _sight(request, f'Found by "{action}"', handled)


def _is_worth_saying(thing: ThingState) -> bool:
    seen = not thing.carried and not thing.out_of_sight
    return seen and (not thing.fixed or bool(thing.states) or thing.alive)


def _sayable(thing: ThingState) -> tuple[Claim, ...]:
    """Return the claims about the position of an object, if it can be moved, and about its states."""
    where, *states = thing.claims()
    return (*(() if thing.fixed and states and where.relation is Relation.HERE else (where,)), *states)


def _sentences(claims: Iterable[Claim]) -> str:
    return " ".join(f"{sentence_case(claim.in_words())}." for claim in claims)


def _outdated(request: SynthesisRequest) -> tuple[set[str], list[Claim]]:
    """Return the titles of ephemeral memories with outdated claims, and their claims that are still true."""
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
    return set(titles), still_so
