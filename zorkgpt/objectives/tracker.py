"""The objectives of a running episode, updated after each turn and checked against the Z-machine."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from game_interface.models import Observation, Transition
from session.history import TurnRecord
from session.outcome import moved_or_had_effect
from zorkgpt.objectives.finder import ReachedReport
from zorkgpt.objectives.models import (
    Condition,
    ConditionKind,
    EpisodeTurn,
    Objective,
    ObjectiveEvidence,
    ObjectiveStatus,
    Scope,
    abandoned,
    in_sight,
    is_called,
    is_met,
    merged,
    normalized_text,
    reached,
    restarted,
    was_met_by,
)

_COUNTED = (
    "discovered",
    "free_text",
    "reached_by_ground_truth",
    "reached_by_model",
    "reached_by_player",
    "unsupported",
    "stale",
    "dropped",
    "dropped_by_player",
    "taken_up_again",
    "refined",
    "ended_with_the_episode",
    "model_failures",
    "file_failures",
)
"""Counts of this episode. "unsupported" counts reports that no turn confirms, or that name no objective in words."""
_MIN_QUOTE_WORDS = 3
"""A shorter quote is not evidence, unless it is the whole response."""
_MAX_EVIDENCE_CHARS = 200


@dataclass(frozen=True, slots=True)
class _TurnProgress:
    """The places and things that an action concerned, and whether it scored."""

    places: frozenset[int]
    things: frozenset[int]
    scored: bool

    def concerns(self, objective: Objective) -> bool:
        if self.scored and objective.condition.kind is ConditionKind.SCORE:
            return True
        return not self.places.isdisjoint(objective.places) or objective.condition.thing in self.things


class ObjectiveTracker:
    """The objectives by key, and the places and things of this episode.

    Args:
        stale_after: Turns without progress until an objective is stale. After twice as many, it is abandoned.
    """

    def __init__(self, *, stale_after: int = 60) -> None:
        self._stale_after = stale_after
        self.objectives: dict[str, Objective] = {}
        self.visited: dict[int, int] = {}
        """Room → the turn of the first visit in this episode."""
        self.scored: set[int] = set()
        """Rooms in which an action scored in this episode."""
        self.carried: set[int] = set()
        """Things that the player carried in this episode."""
        self.things: dict[int, str] = {}
        """Number → name of each thing that was visible or carried in this episode."""
        self.last: EpisodeTurn | None = None
        """The turn of the last update."""
        self.counts: Counter[str] = Counter()
        """Counts of this episode, by the names in `_COUNTED`."""
        self.revision = 0
        """Increases with every change that is worth saving or logging."""
        self._order: list[Objective] | None = None
        """The pursued objectives in the order of the prompt; None if not sorted yet."""

    def start_episode(self, kept: Iterable[Objective], *, remember: bool = True) -> None:
        """Start an episode with the restarted objectives of the world.

        Args:
            kept: The saved objectives of earlier episodes.
            remember: Whether to keep the tracker's current objectives of the world too.
        """
        current = self.lasting() if remember else []
        by_key: dict[str, Objective] = {}
        for objective in (*current, *kept):
            key = objective.key
            by_key[key] = restarted(merged(by_key[key], objective) if key in by_key else objective)
        self.replace_all(by_key.values(), {})
        for collection in (self.visited, self.scored, self.carried, self.things):
            collection.clear()
        self.last = None

    def replace_all(self, objectives: Iterable[Objective], counts: Mapping[str, int]) -> None:
        """Replace all objectives and counts. Of two objectives with the same key, the later one counts."""
        self.objectives = {objective.key: objective for objective in objectives}
        self.counts = Counter(counts)
        self._order = None
        self.revision += 1

    def update(self, record: TurnRecord) -> None:
        """Check every objective against this turn. Turns up to the last update are ignored."""
        stamp = EpisodeTurn(record.episode, record.turn)
        if self.last is not None and stamp <= self.last:
            return
        self.last = stamp
        step = record.transition
        self._record_observation(step.before, record.turn - 1)
        self._record_observation(step.after, record.turn)
        if step.points > 0 and step.before.location is not None:
            self.scored.add(step.before.location.num)
        progress = _progress_of(step)
        for objective in list(self.objectives.values()):
            if objective.status is not ObjectiveStatus.REACHED:
                after = self._updated(objective, record, progress)
                if after is not objective:
                    self._put(after)

    def _record_observation(self, now: Observation, turn: int) -> None:
        if now.location is not None:
            self.visited.setdefault(now.location.num, turn)
        for item in now.at_hand:
            self.things[item.num] = item.name
        self.carried.update(item.num for item in now.carried or ())

    def _updated(self, objective: Objective, record: TurnRecord, progress: _TurnProgress | None) -> Objective:
        step = record.transition
        done = is_met(objective.condition, step.after, self.visited) or was_met_by(objective.condition, step)
        if done and not step.refused and not step.fault:
            self.counts["reached_by_ground_truth"] += 1
            words = "" if _was_done_earlier(objective.condition, step) else _single_line(step.action)
            evidence = ObjectiveEvidence(EpisodeTurn(record.episode, record.turn), "game", words, step.points)
            return reached(objective, evidence)
        if not objective.pursued:
            return objective
        if progress is not None and progress.concerns(objective):
            return replace(objective, status=ObjectiveStatus.OPEN, progressed=record.turn)
        return self._aged_status(objective, record)

    def _aged_status(self, objective: Objective, record: TurnRecord) -> Objective:
        idle = record.turn - objective.progressed
        if idle >= 2 * self._stale_after:
            self.counts["dropped"] += 1
            return abandoned(objective, record.episode)
        if idle >= self._stale_after and objective.status is ObjectiveStatus.OPEN:
            self.counts["stale"] += 1
            return replace(objective, status=ObjectiveStatus.STALE)
        return objective

    def add(self, objectives: Iterable[Objective]) -> None:
        """Add new objectives, and reopen known ones that were stale, abandoned or undone by a restart."""
        for objective in objectives:
            known = self.objectives.get(objective.key)
            if known is None:
                self.counts["discovered"] += 1
                self.counts["free_text"] += not objective.condition.checkable
                self._put(objective)
            elif _should_reopen(known, objective):
                self.counts["taken_up_again"] += 1
                scope = Scope.WORLD if Scope.WORLD in (known.scope, objective.scope) else Scope.EPISODE
                again = replace(
                    known, status=ObjectiveStatus.OPEN, progressed=objective.progressed, scope=scope, rank=0
                )
                self._put(again)

    def accept_reports(self, reports: Iterable[ReachedReport], turns: Mapping[int, TurnRecord]) -> None:
        """Mark objectives in words as reached if the turns support the reports."""
        for report in reports:
            objective, record = self.objectives.get(report.key), turns.get(report.turn)
            if objective is None or not objective.pursued or objective.condition.checkable:
                continue
            if record is None or not _supports(report, record, objective):
                self.counts["unsupported"] += 1
                continue
            self.counts["reached_by_model"] += 1
            stamp = EpisodeTurn(record.episode, record.turn)
            evidence = ObjectiveEvidence(stamp, "model", _single_line(report.quote), record.transition.points)
            self._put(reached(objective, evidence))

    def accept_claims(self, claims: Iterable[str], turn: EpisodeTurn, given_up: Iterable[str] = ()) -> None:
        """Mark objectives in words as reached on the player's word, and abandon those that it drops.

        Args:
            claims: Reached objectives, by their numbers in the order of `pursued` or by their texts.
            turn: The turn of the player's statement.
            given_up: Dropped objectives, in the same form.
        """
        # Resolve both first, because accepting a claim changes the order.
        claimed, abandon = self._named(claims), self._named(given_up)
        for objective in claimed:
            if objective is not None and not objective.condition.checkable:
                self.counts["reached_by_player"] += 1
                self._put(reached(objective, ObjectiveEvidence(turn, "player", "")))
            else:
                self.counts["unsupported"] += 1

        for objective in abandon:
            if objective is not None and objective not in claimed:
                self.counts["dropped_by_player"] += 1
                self._put(abandoned(objective, turn.episode))
            else:
                self.counts["unsupported"] += 1

    def _named(self, names: Iterable[str]) -> list[Objective | None]:
        """Return the pursued objective for each number or text; None if unknown or ambiguous."""
        numbered = list(enumerate(self.pursued(), 1))
        objectives: list[Objective | None] = []
        for name in names:
            matches = [each for number, each in numbered if name == str(number) or is_called(each, name)]
            objectives.append(matches[0] if len(matches) == 1 else None)
        return objectives

    def prioritize(self, keys: Sequence[str], *, among: Collection[str]) -> None:
        """Of the objectives `among` these keys, pursue only those with `keys`, in this order."""
        order = {key: rank for rank, key in enumerate(dict.fromkeys(keys), 1)}
        for objective in self.pursued():
            if objective.key in order:
                self._put(replace(objective, rank=order[objective.key]))
            elif objective.key in among:
                self.counts["refined"] += 1
                # Abandoned for this episode only: this does not count as a lack of progress.
                self._put(replace(objective, status=ObjectiveStatus.ABANDONED))

    def end_episode(self) -> None:
        """Abandon the pursued objectives that are only valid in this episode."""
        for objective in self.pursued():
            if objective.scope is Scope.EPISODE:
                self.counts["ended_with_the_episode"] += 1
                self._put(replace(objective, status=ObjectiveStatus.ABANDONED))

    def metrics(self) -> dict[str, int]:
        """Return the numbers of open and stale objectives, and the counts of this episode."""
        pursued = self.pursued()
        return {
            "open": sum(objective.status is ObjectiveStatus.OPEN for objective in pursued),
            "stale_now": sum(objective.status is ObjectiveStatus.STALE for objective in pursued),
            **{name: self.counts[name] for name in _COUNTED},
        }

    def _put(self, objective: Objective) -> None:
        known = self.objectives.get(objective.key)
        if known is None or replace(known, progressed=objective.progressed) != objective:
            self.revision += 1
        self.objectives[objective.key] = objective
        self._order = None

    def pursued(self) -> list[Objective]:
        """Return the open objectives, then the stale ones, each sorted by rank, then by gain."""
        if self._order is None:
            self._order = sorted(
                (objective for objective in self.objectives.values() if objective.pursued), key=_sort_key
            )
        return list(self._order)

    def settled(self) -> list[Objective]:
        return [objective for objective in self.objectives.values() if not objective.pursued]

    def of_episode(self, episode: int) -> list[Objective]:
        """Return the pursued objectives, then those that were reached or abandoned in this episode."""
        settled = [objective for objective in self.settled() if _ended_in(objective, episode)]
        return [*self.pursued(), *settled]

    def lasting(self) -> list[Objective]:
        return [objective for objective in self.objectives.values() if objective.scope is Scope.WORLD]


def _ended_in(objective: Objective, episode: int) -> bool:
    if objective.status is ObjectiveStatus.REACHED:
        return any(evidence.turn.episode == episode for evidence in objective.evidence)
    given_up_before = restarted(objective).status is ObjectiveStatus.ABANDONED and episode not in objective.given_up
    return not given_up_before


def _sort_key(objective: Objective) -> tuple[bool, int, int, int, int, int]:
    gain = max((evidence.gain for evidence in objective.evidence), default=0)
    return (
        objective.status is ObjectiveStatus.STALE,
        objective.rank,
        len(objective.given_up),
        -gain,
        -objective.origin.episode,
        -objective.origin.turn,
    )


def _progress_of(step: Transition) -> _TurnProgress | None:
    """Return the progress that an action made; None if it changed nothing."""
    if not moved_or_had_effect(step):
        return None
    touched = {move.number for move in step.moved} | {change.number for change in step.changed}
    return _TurnProgress(
        places=frozenset(place.num for place in (step.before.location, step.after.location) if place is not None),
        things=frozenset(touched & in_sight(step)),
        scored=step.points > 0,
    )


def _was_done_earlier(condition: Condition, step: Transition) -> bool:
    """Return whether the player only found a thing in its place, because an earlier action put it there."""
    return condition.kind is ConditionKind.THING_AT and all(move.by_itself for move in step.moved)


def _should_reopen(known: Objective, proposed: Objective) -> bool:
    if known.status in (ObjectiveStatus.STALE, ObjectiveStatus.ABANDONED):
        return True
    # A new proposal of an objective in words that was reached in an earlier episode means that the restart undid it.
    in_earlier_episodes = all(evidence.turn.episode < proposed.origin.episode for evidence in known.evidence)
    return known.status is ObjectiveStatus.REACHED and not known.condition.checkable and in_earlier_episodes


def _supports(report: ReachedReport, record: TurnRecord, objective: Objective) -> bool:
    """Return whether the turn is later than the objective and its response contains the quote."""
    quote, response = normalized_text(report.quote), normalized_text(record.transition.response)
    since = objective.origin.turn if objective.origin.episode == record.episode else 0
    is_specific = len(quote.split()) >= _MIN_QUOTE_WORDS or bool(quote and quote == response)
    return is_specific and record.turn > since and f" {quote} " in f" {response} "


def _single_line(text: str) -> str:
    return " ".join(text.split())[:_MAX_EVIDENCE_CHARS]
