"""The objectives of a running episode: updated by each turn, checked against the Z-machine."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from game_interface.models import Observation, Transition
from session.history import TurnRecord
from session.outcome import came_to_something
from zorkgpt.objectives.conditions import (
    ConditionKind,
    ExitNamer,
    came_about,
    in_sight,
    is_met,
    normalized_text,
    score_gain,
)
from zorkgpt.objectives.finder import ReachedReport
from zorkgpt.objectives.models import (
    EpisodeTurn,
    Objective,
    ObjectiveEvidence,
    ObjectiveStatus,
    Scope,
    abandoned,
    merged,
    reached,
    restarted,
)

_FEWEST_WORDS = 3
"""In a quote that shows something, where the game said more than that."""
_LONGEST_EVIDENCE = 200


@dataclass(frozen=True, slots=True)
class _Came:
    """What an action came to."""

    places: frozenset[int]
    things: frozenset[int]
    scored: bool

    def concerns(self, one: Objective) -> bool:
        if self.scored and one.condition.kind is ConditionKind.SCORE:
            return True
        return not self.places.isdisjoint(one.places) or one.condition.thing in self.things


class ObjectiveTracker:
    """Every objective by its key, and what was seen in this episode.

    Args:
        stale_after: turns without progress after which an objective is stale; after twice as many it is abandoned.
        exit_name_of: under which name a way is known, however it was typed.
    """

    def __init__(self, *, stale_after: int, exit_name_of: ExitNamer) -> None:
        self._stale_after = stale_after
        self._way_of = exit_name_of
        self.objectives: dict[str, Objective] = {}
        self.visited: set[int] = set()
        self.scored: set[int] = set()
        """Rooms in which an action scored in this episode."""
        self.carried: set[int] = set()
        """Things that the player has carried in this episode."""
        self.things: dict[int, str] = {}
        """Number → name of everything that was in sight or carried in this episode."""
        self.last: EpisodeTurn | None = None
        """The turn that was taken over last."""
        self.counts: Counter[str] = Counter()
        """What happened in this episode."""
        self.revision = 0
        """Another one after every change that is worth keeping or telling."""
        self._order: list[Objective] | None = None
        """The pursued ones as they are shown; None: to be sorted anew."""

    def start_episode(self, kept: Iterable[Objective], *, remember: bool = True) -> None:
        """A new episode: what is of the world is open again or stays reached, and the rest is gone.

        Args:
            kept: what was kept of earlier episodes.
            remember: whether what this tracker holds of the world is kept too.
        """
        own = [one for one in self.objectives.values() if remember and one.scope is Scope.WORLD]
        known: dict[str, Objective] = {}
        for one in (*own, *kept):
            known[one.key] = restarted(merged(known[one.key], one) if one.key in known else one)
        self.replace_all(known.values())
        for of_the_episode in (self.visited, self.scored, self.carried, self.things, self.counts):
            of_the_episode.clear()
        self.last = None
        self.revision += 1

    def replace_all(self, objectives: Iterable[Objective]) -> None:
        """These and no others."""
        self.objectives = {one.key: one for one in objectives}
        self._order = None

    # Turns

    def update(self, record: TurnRecord) -> None:
        """Check every objective against this turn; a turn that was taken over before changes nothing."""
        moment = EpisodeTurn(record.episode, record.turn)
        if self.last is not None and moment <= self.last:
            return
        self.last = moment
        step = record.transition
        for now in (step.before, step.after):
            self._see(now)
        if score_gain(step) > 0 and step.before.location is not None:
            self.scored.add(step.before.location.num)
        came_of = _came_of(step)
        for one in list(self.objectives.values()):
            if one.status is not ObjectiveStatus.REACHED:
                after = self._after(one, record, came_of)
                if after is not one:
                    self._put(after)

    def _see(self, now: Observation) -> None:
        if now.location is not None:
            self.visited.add(now.location.num)
        for item in (*(now.visible or ()), *(now.carried or now.inventory or ())):
            self.things[item.num] = item.name
        self.carried.update(item.num for item in now.carried or now.inventory or ())

    def _after(self, one: Objective, record: TurnRecord, came_of: _Came | None) -> Objective:
        step = record.transition
        done = is_met(one.condition, step.after, self.visited) or came_about(one.condition, step, self._way_of)
        if done and not step.refused and not step.fault:
            self.counts["reached_by_ground_truth"] += 1
            evidence = ObjectiveEvidence(
                EpisodeTurn(record.episode, record.turn), "game", _line(step.action), score_gain(step)
            )
            return reached(one, evidence)
        if not one.pursued:
            return one
        if came_of is not None and came_of.concerns(one):
            return replace(one, status=ObjectiveStatus.OPEN, progressed=record.turn)
        return self._aged(one, record)

    def _aged(self, one: Objective, record: TurnRecord) -> Objective:
        idle = record.turn - one.progressed
        if idle >= 2 * self._stale_after:
            self.counts["dropped"] += 1
            return abandoned(one, record.episode)
        if idle >= self._stale_after and one.status is ObjectiveStatus.OPEN:
            self.counts["stale"] += 1
            return replace(one, status=ObjectiveStatus.STALE)
        return one

    # Updates

    def add(self, found: Iterable[Objective]) -> None:
        """Take up new objectives; one that is known already is not doubled, but opened again if it was laid aside."""
        for one in found:
            known = self.objectives.get(one.key)
            if known is None:
                self.counts["discovered"] += 1
                self.counts["free_text"] += not one.condition.checkable
                self._put(one)
            elif _wanted_again(known, one):
                self.counts["taken_up_again"] += 1
                scope = Scope.WORLD if Scope.WORLD in (known.scope, one.scope) else Scope.EPISODE
                self._put(replace(known, status=ObjectiveStatus.OPEN, progressed=one.progressed, scope=scope, rank=0))

    def accept_reports(self, judgements: Iterable[ReachedReport], turns: Mapping[int, TurnRecord]) -> None:
        """Take over that objectives in words were reached, where the turns bear it out."""
        for said in judgements:
            one, record = self.objectives.get(said.key), turns.get(said.turn)
            if one is None or not one.pursued or one.condition.checkable:
                continue
            if record is None or not _bears_out(said, record, one):
                self.counts["unsupported"] += 1
                continue
            self.counts["reached_by_model"] += 1
            moment = EpisodeTurn(record.episode, record.turn)
            evidence = ObjectiveEvidence(moment, "model", _line(said.quote), score_gain(record.transition))
            self._put(reached(one, evidence))

    def prioritize(self, keys: Sequence[str]) -> None:
        """Pursue these, in this order, and no others."""
        order = {key: rank for rank, key in enumerate(dict.fromkeys(keys), 1)}
        for one in self.pursued():
            if one.key in order:
                self._put(replace(one, rank=order[one.key]))
            else:
                self.counts["refined"] += 1
                # Laid aside for this episode; that is no sign that nothing can come of it.
                self._put(replace(one, status=ObjectiveStatus.ABANDONED))

    def _put(self, one: Objective) -> None:
        known = self.objectives.get(one.key)
        if known is None or replace(known, progressed=one.progressed) != one:
            self.revision += 1
        self.objectives[one.key] = one
        self._order = None

    # Asking

    def pursued(self) -> list[Objective]:
        """The open ones, then the stale ones; each in the order of their rank, then what scored before."""
        if self._order is None:
            self._order = sorted((one for one in self.objectives.values() if one.pursued), key=_promise)
        return list(self._order)

    def settled(self) -> list[Objective]:
        return [one for one in self.objectives.values() if not one.pursued]

    def of_episode(self, episode: int) -> list[Objective]:
        """What is pursued, and what was reached or abandoned in this episode."""
        settled = [one for one in self.settled() if _ended_in(one, episode)]
        return [*self.pursued(), *settled]

    def lasting(self) -> list[Objective]:
        return [one for one in self.objectives.values() if one.scope is Scope.WORLD]


def _ended_in(one: Objective, episode: int) -> bool:
    if one.status is ObjectiveStatus.REACHED:
        return any(shown.moment.episode == episode for shown in one.evidence)
    given_up_before = restarted(one).status is ObjectiveStatus.ABANDONED and episode not in one.given_up
    return not given_up_before


def _promise(one: Objective) -> tuple:
    gained = max((shown.gain for shown in one.evidence), default=0)
    return one.status is ObjectiveStatus.STALE, one.rank or 1_000, len(one.given_up), -gained, one.origin


def _came_of(step: Transition) -> _Came | None:
    """None: the action came to nothing."""
    if not came_to_something(step):
        return None
    touched = {change.item.num for change in (*step.moved, *step.changed)}
    return _Came(
        places=frozenset(place.num for place in (step.before.location, step.after.location) if place is not None),
        things=frozenset(touched & in_sight(step)),
        scored=score_gain(step) > 0,
    )


def _wanted_again(known: Objective, again: Objective) -> bool:
    if known.status in (ObjectiveStatus.STALE, ObjectiveStatus.ABANDONED):
        return True
    # In words, and reached in an earlier episode: whether the restart undid it, only who asks for it again can say.
    before = all(shown.moment.episode < again.origin.episode for shown in known.evidence)
    return known.status is ObjectiveStatus.REACHED and not known.condition.checkable and before


def _bears_out(said: ReachedReport, record: TurnRecord, one: Objective) -> bool:
    """The turn came after the objective was set, and the game said on it what is quoted, not just a word or two."""
    quote, response = normalized_text(said.quote), normalized_text(record.transition.response)
    since = one.origin.turn if one.origin.episode == record.episode else 0
    telling = len(quote.split()) >= _FEWEST_WORDS or (quote and quote == response)
    return bool(telling) and record.turn > since and f" {quote} " in f" {response} "


def _line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_EVIDENCE]
