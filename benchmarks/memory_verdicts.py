"""Judge each believed memory of a run by trying what it says in the states of the recorded play.

A memory is about the action in its field `action`. The action is tried on the first arrival at the memory's place, in
the state that taught it (from the history, else from the header), and in every other recorded state in which it was
taken there. What also happens after three actions that do nothing does not count. A score is given only once, so states
in which the action has already scored there in the same episode are left out.

Each memory gets the first of these verdicts that applies:

`false`
    What it says happens neither on the first arrival nor in the state that taught it (or, if that state is unknown, in
    no state that was tried). Or it would mislead on the first arrival: it says that the action has no effect, and it
    has one (here the first arrivals of all episodes count); it does not mention that the player dies, and they do; it
    blames the action for a death in a state where doing nothing, or a step in most other directions, also kills, and
    does not mention the dark. Or its `when` names a kind of state in which it should hold, and in one such state it
    does not. Or it is core, and the object tree of a fresh world contradicts one of its claims. Or it is permanent,
    names no state, and claims that a thing is where it is neither in a fresh world nor, if it never moves, on the
    first arrival.
`contradicting`
    Another believed memory gives another outcome for the same action, place and `when`.
`trivial`
    The action has no effect, and the game did not understand it or gives a general answer: the same first sentence,
    apart from names, that it gives to the verb for at least three things, or to the direction at three places, and for
    at least 5 % of those tried; or that it gives to the verb for a thing that is not there. Or it is a step without
    score in a plain direction that the map knows and that is open on the first arrival. Or it is about no action, and
    names nothing at its place that can be taken, has a state, contains something or is alive. A command about two
    things ("unlock the door with the key") is trivial only if the game did not understand it, because it is worth
    knowing which key does not fit. A refusal with `when` is not trivial if another memory gives another outcome.
`repeated`
    Another believed memory at its place says the same: the same action, outcome and `when` (and, if the action has no
    effect, the same words), or `same` by `zorkgpt.memory.entailment`. The one that mentions a score, else the earlier
    one, does not count as repeated.
`not checkable`
    There is nothing to try: no action and no claim that the object tree can decide, no promised outcome, or no
    recorded state in which its `when` holds.
`useful`
    All others, with the kind of knowledge they contain.

A memory that names no state, and is true in the state that taught it but not on the first arrival, is also counted as
`conditional`: following it without preparation gains nothing.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.replay import Replay, State, Tried
from game_interface.models import Item
from zorkgpt.directions import DIRECTIONS, canonical_direction
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.entailment.compare import relation_of
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.offline.nouns import Nouns, words_of
from zorkgpt.text import normalized_action
from zorkgpt.world.graph import MapGraph

Fact = tuple[int, str, str]
"""Place, title and text of a memory."""
Turn = tuple[int, int]
"""Episode and turn."""


class Worth(StrEnum):
    """What a memory is worth; the first that applies."""

    FALSE = "false"
    CONTRADICTING = "contradicting"
    TRIVIAL = "trivial"
    REPEATED = "repeated"
    NOT_CHECKABLE = "not checkable"
    USEFUL = "useful"


@dataclass(frozen=True)
class Verdict:
    """What one memory is worth, and why."""

    located: LocatedMemory
    worth: Worth
    why: str
    """For a useful memory its kind: "scores", "kills", "changes", "way", "things" or "hint" (the action has no effect,
    and the answer is specific to this thing or place)."""
    conditional: str = ""
    """What happens on the first arrival instead, if the memory is true only in another state."""
    by_claims: bool = False
    """Whether the object tree, or a walk, decides at least one of its claims."""


@dataclass(frozen=True)
class Saying:
    """The effect of an action according to a memory."""

    action: str
    outcome: str
    """ "died", "to 12", "changed", "nothing", "" (not said)."""
    score: int = 0
    in_the_dark: bool = False
    """Whether the memory says that this happens in the dark."""


_WHEREABOUTS = (Relation.HERE, Relation.IN, Relation.ON)
_BY_CATEGORY = {"FAILURE": "nothing", "DANGER": "died"}


def saying_of(memory: Memory) -> Saying | None:
    """None: it is of no action."""
    if not memory.action:
        return None
    outcome = memory.outcome or _BY_CATEGORY.get(memory.category, "")
    dark = any(claim.relation is Relation.DARK for claim in memory.claims)
    return Saying(normalized_action(memory.action), outcome, memory.score_change or 0, in_the_dark=dark)


def difference(saying: Saying, memory: Memory, tried: Tried) -> str:
    """Return the actual result if it differs from what the memory says, else ""."""
    came = _in_words(tried)
    if saying.outcome == "died":
        return "" if tried.outcome == "died" else came
    if saying.score > 0 and tried.score != saying.score:
        return f"{came}, {tried.score:+d}"
    match saying.outcome:
        case "nothing":
            return "" if tried.outcome == "nothing" and not tried.score else came
        case "changed":
            return "" if tried.outcome == "changed" or (tried.outcome == "nothing" and tried.unnamed) else came
        case "":
            return came if memory.category == "SUCCESS" and tried.outcome == "nothing" and not tried.unnamed else ""
    return "" if tried.outcome == saying.outcome else came


def judge(
    memories: Iterable[LocatedMemory], replay: Replay, graph: MapGraph, taught: Mapping[Fact, Turn] | None = None
) -> list[Verdict]:
    """Return a verdict for each believed memory of a `Memories.md`, in their order.

    Args:
        replay: The replay of the run that wrote them.
        graph: The map of that run.
        taught: The turn in which each was learned, see `taught_in`. The default is the turn in the memory's header.
    """
    believed = [one for one in memories if one.memory.persistence != "ephemeral" and is_current(one.memory)]
    return _Judge(believed, replay, graph, taught or {}).verdicts()


def taught_in(journal: Journal) -> dict[Fact, Turn]:
    """Return the turn in which each memory was first stored with its present wording."""
    found: dict[Fact, Turn] = {}
    for record in journal.records():
        change, moment = record.change, record.turn_stamp
        if change.after is not None and moment is not None and isinstance(moment.episode, int):
            found.setdefault((change.location_id, change.after.title, change.after.text), (moment.episode, moment.turn))
    return found


def contradictions(memories: Iterable[LocatedMemory]) -> list[tuple[LocatedMemory, LocatedMemory]]:
    """Return the pairs of memories with the same place, action and state but different outcomes."""
    by_action: dict[tuple[int, str], list[tuple[LocatedMemory, Saying]]] = defaultdict(list)
    for one in memories:
        if (saying := saying_of(one.memory)) and saying.outcome:
            by_action[one.location_id, saying.action].append((one, saying))
    return [
        (one, other)
        for group in by_action.values()
        for at, (one, first) in enumerate(group)
        for other, second in group[at + 1 :]
        if _state_of(one.memory) == _state_of(other.memory) and first.outcome != second.outcome
    ]


class _Judge:
    def __init__(
        self, believed: Sequence[LocatedMemory], replay: Replay, graph: MapGraph, taught: Mapping[Fact, Turn]
    ) -> None:
        self.believed = believed
        self.taught = taught
        self.replay = replay
        self.graph = graph
        self.stock = _Stock(replay)
        self.contradicting: dict[int, LocatedMemory] = {}
        for one, other in contradictions(believed):
            self.contradicting.setdefault(id(one), other)
            self.contradicting.setdefault(id(other), one)

    def verdicts(self) -> list[Verdict]:
        return [self._verdict(at, one) for at, one in enumerate(self.believed)]

    def _verdict(self, at: int, one: LocatedMemory) -> Verdict:
        found = self._of_action(one, saying) if (saying := saying_of(one.memory)) else self._of_things(one)
        worth, why = found.worth, found.why
        if worth is not Worth.FALSE:
            if other := self.contradicting.get(id(one)):
                worth, why = Worth.CONTRADICTING, f"against: {_line(other.memory)}"
            elif worth is not Worth.TRIVIAL and (other := self._said_by(at, one)):
                worth, why = Worth.REPEATED, f"as: {_line(other.memory)}"
        return Verdict(one, worth, why, found.conditional, found.by_claims)

    def _said_by(self, at: int, one: LocatedMemory) -> LocatedMemory | None:
        """Return another memory that says the same: one that mentions a score, else an earlier one."""
        mine, rank = saying_of(one.memory), self._rank(at, one)
        for other_at, other in enumerate(self.believed):
            if other.location_id != one.location_id or self._rank(other_at, other) >= rank:
                continue
            if _state_of(other.memory) != _state_of(one.memory):
                continue
            theirs = saying_of(other.memory)
            if mine and theirs:
                same = mine.action == theirs.action and bool(mine.outcome) and mine.outcome == theirs.outcome
                if same and mine.outcome == "nothing":
                    same = _covers(one.memory.text, other.memory.text)
            else:
                same = relation_of(_line(other.memory), _line(one.memory)) == "same"
            if same:
                return other
        return None

    @staticmethod
    def _rank(at: int, one: LocatedMemory) -> tuple[bool, int]:
        return not (one.memory.score_change or 0) > 0, at

    # Memories about an action

    def _of_action(self, one: LocatedMemory, saying: Saying) -> Verdict:
        memory, replay = one.memory, self.replay
        first = replay.first_arrivals.get(one.location_id)
        if first is None:
            return Verdict(one, Worth.NOT_CHECKABLE, "the recorded play never came to its place")
        if not saying.outcome and not saying.score and memory.category != "SUCCESS":
            return Verdict(one, Worth.NOT_CHECKABLE, "it does not say what comes of its action")
        attempt = one.location_id, saying.action
        taught = self._state_that_taught(one, saying.action)
        states = [first, *([taught] if taught else []), *replay.taken.get(attempt, ())]
        if saying.score > 0:
            states = [state for state in states if attempt not in state.scored]
        if memory.when:
            states = [state for state in states if replay.all_so(memory.when, state)]
            if not states:
                return Verdict(one, Worth.NOT_CHECKABLE, "no state of the recorded play is the one that it holds in")
        tried = [replay.attempt(state, saying.action) for state in states]
        wrong = [difference(saying, memory, each) for each in tried]
        so = [each for each, otherwise in zip(tried, wrong, strict=True) if not otherwise]
        if memory.when:
            conditional = ""
            false = next((f"in its state ({_at(at)}): {why}" for at, why in zip(states, wrong, strict=True) if why), "")
        else:
            conditional = "" if saying.in_the_dark else wrong[0]
            false = self._false_anywhere(saying, tried, wrong, so, is_taught=taught is not None)
            false = false or self._false_later(one, saying)
        if false:
            return Verdict(one, Worth.FALSE, false)
        claims = {claim: self._claim_is_so(claim, one.location_id) for claim in memory.claims}
        misplaced = [str(claim) for claim, told in claims.items() if told is False and claim.relation in _WHEREABOUTS]
        if misplaced and not memory.when:
            why = f"not so when an episode begins: {'; '.join(misplaced)}"
            return Verdict(one, Worth.FALSE, why, conditional, by_claims=True)
        decided = any(told is not None for told in claims.values())
        if why := self._trivial(one, saying, so, difference(saying, memory, replay.attempt(first, saying.action))):
            return Verdict(one, Worth.TRIVIAL, why, conditional, decided)
        return Verdict(one, Worth.USEFUL, _tells(saying, so[0]), conditional, decided)

    @staticmethod
    def _false_anywhere(
        saying: Saying, tried: Sequence[Tried], wrong: Sequence[str], so: Sequence[Tried], *, is_taught: bool
    ) -> str:
        """Return why a memory that names no state is false, or "" if it is not.

        Args:
            tried: The attempts: on the first arrival, if `is_taught` in the state that taught it, then in the others.
            wrong: The difference that each attempt showed, if any.
            so: The attempts without a difference.
        """
        if not wrong[0]:
            return ""
        first = f"on the first arrival: {wrong[0]}"
        if not so:
            return first
        if is_taught and wrong[1]:
            return f"in the state that taught it: {wrong[1]}; {first}"
        if tried[0].outcome == "died":
            return first
        if saying.outcome == "died" and not saying.in_the_dark and any(each.anyway for each in tried):
            return f"doing nothing, or going most other ways, kills there too; {first}"
        return first if saying.outcome == "nothing" else ""

    def _false_later(self, one: LocatedMemory, saying: Saying) -> str:
        """Return how an action that is said to have no effect has one on the first arrival of a later episode."""
        if saying.outcome != "nothing":
            return ""
        for state in self.replay.arrivals[one.location_id][1:]:
            tried = self.replay.attempt(state, saying.action)
            # In the dark, any step can kill, so a death says nothing about this action.
            if tried.outcome != "died" and (otherwise := difference(saying, one.memory, tried)):
                return f"on the first arrival in episode {state.episode}: {otherwise}"
        return ""

    def _state_that_taught(self, one: LocatedMemory, action: str) -> State | None:
        """Return the state before the turn that taught it, or None if it is unknown or had another action."""
        memory, replay = one.memory, self.replay
        turn = self.taught.get((one.location_id, memory.title, memory.text))
        if turn is None and isinstance(memory.episode, int) and (last := re.search(r"\d+$", memory.turns)):
            turn = memory.episode, int(last[0])
        step = replay.steps.get(turn) if turn else None
        if step is None or normalized_action(step.action) != action:
            return None
        state = replay.state(turn[0], turn[1] - 1)
        return state if state and state.place == one.location_id else None

    def _trivial(self, one: LocatedMemory, saying: Saying, so: Sequence[Tried], not_at_first: str) -> str:
        """Return why the memory is trivial, or "" if it is not.

        Args:
            not_at_first: What happens on the first arrival instead, if the memory is not true there.
        """
        memory, action = one.memory, saying.action
        if saying.outcome == "nothing" and not (memory.when and self._has_another_outcome(one, saying)):
            if all(not each.understood for each in so):
                return "the game did not understand it"
            for text in (memory.text, *(each.response for each in so)):
                if self.stock.has(action, text):
                    return f"answered like that to others too: {_first(text)}"
        direction = canonical_direction(action)
        if direction and saying.outcome.startswith("to") and not (saying.score or not_at_first):
            to = self.graph.exits(one.location_id).get(direction)
            if to is not None and so[0].outcome == f"to {to}":
                return "a plain way that the map knows"
        return ""

    def _has_another_outcome(self, one: LocatedMemory, saying: Saying) -> bool:
        """Return whether another memory gives another outcome of the action at this place."""
        others = (saying_of(other.memory) for other in self.believed if other.location_id == one.location_id)
        return any(other and other.action == saying.action and other.outcome != saying.outcome for other in others)

    # Memories about things

    def _of_things(self, one: LocatedMemory) -> Verdict:
        memory, place = one.memory, one.location_id
        decided = {claim: told for claim in memory.claims if (told := self._claim_is_so(claim, place)) is not None}
        wrong = [str(claim) for claim, told in decided.items() if not told]
        if wrong and (memory.persistence == "core" or all(claim.relation is Relation.LEADS for claim in decided)):
            return Verdict(one, Worth.FALSE, f"not so in a fresh world: {'; '.join(wrong)}", by_claims=True)
        ways = [claim for claim in decided if claim.relation is Relation.LEADS]
        if decided and len(ways) < len(decided):
            return Verdict(one, Worth.USEFUL, "things", by_claims=True)
        if ways:
            plain = all(self.graph.exits(place).get(canonical_direction(way.name) or "") == way.other for way in ways)
            if plain:
                return Verdict(one, Worth.TRIVIAL, "plain ways that the map knows", by_claims=True)
            return Verdict(one, Worth.USEFUL, "way", by_claims=True)
        if place in self.replay.first_arrivals and not self._names_a_thing(one):
            return Verdict(one, Worth.TRIVIAL, "it names nothing that can be taken, has a state, holds or lives")
        return Verdict(one, Worth.NOT_CHECKABLE, "neither an action nor a claim that can be checked")

    def _claim_is_so(self, claim: Claim, place: int) -> bool | None:
        """Return whether a claim is true when the game begins or, if the tree can't decide, on the first arrival."""
        replay, first = self.replay, self.replay.first_arrivals.get(place)
        if claim.relation is Relation.LEADS:
            return None if first is None else replay.attempt(first, claim.name).outcome == f"to {claim.other}"
        if claim.relation in (Relation.DARK, Relation.LIGHT):
            dark = replay.is_dark_place(place)
            return None if dark is None else dark is (claim.relation is Relation.DARK)
        replay.enter(replay.fresh)
        told = replay.is_so(claim, place)
        if not told and claim.relation is Relation.HERE and first is not None:
            replay.enter(first)
            thing_moves = claim.number is not None and replay.is_movable(claim.number)
            told = told if thing_moves else replay.is_so(claim, place)
        return told

    def _names_a_thing(self, one: LocatedMemory) -> bool:
        first = self.replay.first_arrivals.get(one.location_id)
        if first is None:
            return False
        said = {word.removesuffix("s") for word in words_of(f"{one.memory.title} {one.memory.text}")}
        self.replay.enter(first)
        things = self.replay.game.things()
        holders = {thing.holder_number for thing in things}
        return any(
            words[-1].removesuffix("s") in said
            for thing in things
            if (words := words_of(thing.name)) and not thing.carried
            if not thing.fixed or thing.states or thing.alive or thing.number in holders
        )


class _Stock:
    """The general answers of the game to a verb or direction, whatever the thing or the place."""

    LEAST = 3
    SHARE = 0.05

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        language = replay.game.language
        view, count = replay.game.ram, replay.game.ram.machine.object_count
        self._names = {word for number in range(1, count + 1) for word in words_of(view.name(number))}
        self._language = language
        self._nouns = Nouns(replay.game.language.words, language)
        self._answers: dict[str, dict[str, set]] = {}
        """Verb or direction → template → the actions, or the places, that it was tried with."""
        self._of_absent_things: dict[str, set[str]] = defaultdict(set)
        """Verb → templates of the answers about things that are not there."""

    def has(self, action: str, text: str) -> bool:
        """Return whether the text begins with a general answer to this verb."""
        if _is_of_two(action):
            return False
        verb = _verb(action)
        if verb not in self._answers:
            self._answers[verb] = self._asked(verb)
        answers = self._answers[verb]
        template = self._template(verb, text)
        if template in self._of_absent_things[verb]:
            return True
        given = len(answers.get(template, ()))
        return given >= self.LEAST and given >= self.SHARE * sum(map(len, answers.values()))

    def _template(self, verb: str, text: str) -> str:
        words = words_of(_first(text))
        if verb not in DIRECTIONS:
            words = [word for word in words if not self._is_name(word)]
        return " ".join(words)

    def _is_name(self, word: str) -> bool:
        return word in self._names or self._language.truncate(word) in self._language.names

    def _asked(self, verb: str) -> dict[str, set]:
        answers: dict[str, set] = defaultdict(set)
        replay = self._replay
        for (place, action), states in replay.taken.items():
            if _verb(action) == verb and not _is_of_two(action):
                self._note(answers, verb, place, action, replay.attempt(states[0], action))
        for word in [] if verb in DIRECTIONS else replay.absent(replay.fresh, self.LEAST):
            answer = replay.attempt(replay.fresh, f"{verb} {word}").response
            self._of_absent_things[verb].add(self._template(verb, answer))
        for place, state in replay.first_arrivals.items():
            for action in [verb] if verb in DIRECTIONS else self._on_things(verb, state):
                self._note(answers, verb, place, action, replay.attempt(state, action))
        return answers

    def _on_things(self, verb: str, state: State) -> list[str]:
        names = (self._nouns.name(Item(thing.number, thing.name)) for thing in self._replay.things_at(state))
        return [f"{verb} {name}" for name in dict.fromkeys(names) if name]

    def _note(self, answers: dict[str, set], verb: str, place: int | None, action: str, tried: Tried) -> None:
        if tried.outcome == "nothing" and tried.response:
            answers[self._template(verb, tried.response)].add(place if verb in DIRECTIONS else action)


_BETWEEN = frozenset(
    {"in", "into", "on", "onto", "with", "to", "from", "at", "under", "behind", "about", "for", "using"}
)


def _is_of_two(action: str) -> bool:
    """Return whether a command is about two things, like "put the key in the lock"."""
    return bool(_BETWEEN & set(action.split()[2:-1]))


def _verb(action: str) -> str:
    return canonical_direction(action) or action.split(" ", 1)[0]


def _covers(one: str, other: str) -> bool:
    """Return whether one of the texts says everything that the other says."""
    return any(relation_of(*pair) in ("same", "adds") for pair in ((one, other), (other, one)))


def _state_of(memory: Memory) -> frozenset[str]:
    return frozenset(claim.short for claim in memory.when)


def _first(text: str) -> str:
    """Return the first sentence, which is the game's answer. Other events follow it."""
    return re.split(r"(?<=[.!?])[\"”’')\]]*\s+", " ".join(text.split()), maxsplit=1)[0]


def _tells(saying: Saying, tried: Tried) -> str:
    if saying.score > 0:
        return "scores"
    return {"died": "kills", "changed": "changes", "nothing": "hint"}.get(tried.outcome, "way")


def _in_words(tried: Tried) -> str:
    return f"{tried.outcome} ({tried.destination})" if tried.destination else tried.outcome


def _at(state: State) -> str:
    return f"episode {state.episode}, after turn {state.turn}"


def _line(memory: Memory) -> str:
    return f"{memory.title}: {memory.text}"
