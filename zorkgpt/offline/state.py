"""What the explorer keeps in mind from turn to turn, and its notes about each place."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from operator import itemgetter
from typing import Any

from zorkgpt.memory.claims import Relation
from zorkgpt.memory.models import Memory
from zorkgpt.offline.candidates import COST, Candidate, Tier, words_of
from zorkgpt.offline.phrases import ActionOutcome, is_dark, is_unlocked, parse_title
from zorkgpt.text import normalized_action
from zorkgpt.world.directions import canonical_direction


@dataclass(frozen=True, slots=True)
class LastTurn:
    """What was done on the turn before."""

    place: int
    action: str
    """In its normal form."""
    score: int | None
    aboard: bool
    """It was played in a vehicle."""


@dataclass
class ExplorerState:
    """Of one episode. Things are known by the names that the parser takes for them."""

    turn: int = 0
    walking: tuple[int, str] | None = None
    """The room and the way that was taken out of it on the last turn, to get somewhere else."""
    last: LastTurn | None = None
    held: tuple[str, ...] = ()
    lamp: str | None = None
    """What was switched on last, as long as it gave light."""
    in_the_dark: int | None = None
    """The place, while it is the one where nothing could be seen."""
    wanted: str | None = None
    """What could not be taken on the last turn, since too much is carried already."""
    take_back: str | None = None
    """What was put somewhere in vain on the last turn."""
    way_back: str | None = None
    """The direction against the one that led here."""
    valued: set[str] = field(default_factory=set)
    """What scored when it was taken."""
    useful: set[str] = field(default_factory=set)
    """What gives light."""
    given_up: set[str] = field(default_factory=set)
    """What was put down for good."""
    blows: dict[str, int] = field(default_factory=dict)
    """How often each was struck."""
    draws: dict[int, int] = field(default_factory=dict)
    """Place → how many turns were waited there before the first blow."""
    fled_from: dict[int, int] = field(default_factory=dict)
    """Place → the turn on which it was left since somebody there meant harm."""
    holders: dict[int, list[str]] = field(default_factory=dict)
    """Place → into what, or onto what, things can be put there: "in case", "on table"."""

    @property
    def lit(self) -> bool:
        return self.lamp is not None and self.lamp in self.held

    def to_dict(self) -> dict[str, Any]:
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        state |= {name: sorted(value) for name, value in state.items() if isinstance(value, set)}
        last = self.last
        state["last"] = [last.place, last.action, last.score, last.aboard] if last else None
        state["blows"] = dict(self.blows)
        state["draws"] = {str(room): turns for room, turns in self.draws.items()}
        state["fled_from"] = {str(room): turn for room, turn in self.fled_from.items()}
        state["holders"] = {str(room): list(names) for room, names in self.holders.items()}
        return state

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "ExplorerState":
        told = dict(state)
        told |= {name: set(told[name]) for name in ("valued", "useful", "given_up")}
        told["walking"] = tuple(told["walking"]) if told["walking"] else None
        told["held"] = tuple(told["held"])
        told["last"] = LastTurn(*told["last"]) if told["last"] else None
        told["draws"] = {int(room): turns for room, turns in told["draws"].items()}
        told["fled_from"] = {int(room): turn for room, turn in told["fled_from"].items()}
        told["holders"] = {int(room): list(names) for room, names in told["holders"].items()}
        return cls(**told)


_ORDER = list(ActionOutcome)
_MOST_REOPENED = 6
_UNDOING = ("drop ", "put ")
_REWARDING = frozenset({ActionOutcome.SCORES, ActionOutcome.TAKES})
_DEADLY = frozenset({ActionOutcome.KILLS, ActionOutcome.KILLS_UNLIT})


def remembered_outcome(memory: Memory) -> tuple[str, ActionOutcome] | None:
    """The action that a memory tells of, and its outcome; None if it tells of none.

    By its fields; a memory from before there were any by its title, as the rules word it.
    """
    if not (memory.action and memory.outcome):
        return parse_title(memory)
    action = normalized_action(memory.action)
    if memory.outcome == "died":
        unlit = any(claim.relation is Relation.DARK for claim in (*memory.when, *memory.claims)) or is_dark(memory.text)
        return action, ActionOutcome.KILLS_UNLIT if unlit else ActionOutcome.KILLS
    if (memory.score_change or 0) > 0:
        return action, ActionOutcome.SCORES
    if memory.outcome == "changed":
        taken = any(claim.relation is Relation.CARRIED for claim in memory.claims)
        return action, ActionOutcome.TAKES if taken else ActionOutcome.WORKS
    if memory.outcome == "nothing":
        return action, ActionOutcome.FAILS if memory.category == "FAILURE" else ActionOutcome.TELLS
    return action, ActionOutcome.LEADS


@dataclass
class PlaceNotes:
    """One place. Actions are kept in their normal form."""

    visited: bool = False
    """In this episode."""
    done: set[str] = field(default_factory=set)
    """In this episode."""
    remembered: dict[str, ActionOutcome] = field(default_factory=dict)
    known_before: frozenset[str] = frozenset()
    """What was remembered when the episode began."""
    failed_before: dict[str, str] = field(default_factory=dict)
    """What came to nothing here in earlier episodes, with what the game said to it."""
    refusals: dict[str, str] = field(default_factory=dict)
    """What failed, with what the game said to it."""
    in_vain: set[str] = field(default_factory=set)
    """What changed nothing when it was tried last, in this episode."""
    reopened: Counter[str] = field(default_factory=Counter)
    """Failed, but something about them has changed since: how often, in this episode."""
    offered: dict[str, Tier] = field(default_factory=dict)
    """What could be tried when the place was seen last in this episode."""
    mentioned: dict[str, None] = field(default_factory=dict)
    """What the texts of this episode mention here, beside the things in sight."""
    dark: bool = False
    _told: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False, compare=False)
    """What memory said last, as far as it is read here."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "visited": self.visited,
            "done": sorted(self.done),
            "remembered": dict(self.remembered),
            "known_before": sorted(self.known_before),
            "failed_before": self.failed_before,
            "refusals": dict(self.refusals),
            "in_vain": sorted(self.in_vain),
            "reopened": dict(self.reopened),
            "offered": dict(self.offered),
            "mentioned": list(self.mentioned),
            "dark": self.dark,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "PlaceNotes":
        return cls(
            visited=state["visited"],
            done=set(state["done"]),
            remembered={action: ActionOutcome(outcome) for action, outcome in state["remembered"].items()},
            known_before=frozenset(state["known_before"]),
            failed_before=dict(state["failed_before"]),
            refusals=dict(state["refusals"]),
            in_vain=set(state["in_vain"]),
            reopened=Counter(state["reopened"]),
            offered={action: Tier(tier) for action, tier in state["offered"].items()},
            mentioned=dict.fromkeys(state["mentioned"]),
            dark=state["dark"],
        )

    def learn(self, memories: Iterable[Memory]) -> None:
        """Take over what memory says."""
        memories = list(memories)
        told = tuple((memory.title, memory.text, memory.outcome, memory.score_change) for memory in memories)
        if told == self._told:
            return
        self._told, self.remembered = told, {}
        for memory in memories:
            if known := remembered_outcome(memory):
                action, outcome = known
                known_as = self.remembered.get(action, outcome)
                self.remembered[action] = min(known_as, outcome, key=_ORDER.index)
                self.dark = self.dark or outcome is ActionOutcome.KILLS_UNLIT
                if outcome is ActionOutcome.FAILS:
                    self.refusals.setdefault(action, memory.text)
            elif memory.persistence == "core" and is_dark(memory.text):
                self.dark = True
        self._renew("deadly", "left")

    def offer(self, seen: Iterable[Candidate]) -> None:
        """Take over what could be tried, now that the place is in sight."""
        offered: dict[str, Tier] = {}
        for candidate in seen:
            offered.setdefault(candidate.action, candidate.tier)
        self.visited = True
        if list(offered.items()) != list(self.offered.items()):
            self.offered = offered
            self._renew("left")

    def offer_beforehand(self, ways: Iterable[Candidate]) -> None:
        """Take over which ways could be tried at a place that is known from an earlier episode."""
        self.offered = {way.action: way.tier for way in ways}
        self._renew("left")

    def mark(self, action: str) -> None:
        """It is done."""
        self.done.add(action)
        self._renew("left")

    def unmark(self, action: str, *, reopened: bool = False) -> None:
        """It is to be done again; `reopened`: since something about it has changed."""
        self.done.discard(action)
        if reopened:
            self.reopened[action] += 1
        self._renew("left")

    def reopen(self, nouns: Iterable[str], *, ways: Collection[str] = ()) -> None:
        """Something about these things has changed: what was tried with them in vain may work now.

        Args:
            ways: which ways out it may have changed too.
        """
        words = set(nouns)
        remembered = {action for action, outcome in self.remembered.items() if outcome is ActionOutcome.FAILS}
        for action in (self.in_vain | remembered).union(self.failed_before):
            barred = canonical_direction(action) and words & set(words_of(self._said_to(action)))
            concerned = barred or words & set(action.split()) or action in ways
            if concerned and self.reopened[action] < _MOST_REOPENED:
                self.unmark(action, reopened=True)

    @property
    def locked(self) -> tuple[str, ...]:
        """What the game said is locked, unless it has said in this episode that it no longer is."""
        refusals = self.failed_before | self.refusals
        tried = ((action.removeprefix("open "), text) for action, text in refusals.items() if "open " in action)
        locked = (noun for noun, text in tried if "locked" in words_of(text))
        return tuple(noun for noun in locked if not self._is_unlocked(noun))

    def _said_to(self, action: str) -> str:
        return self.refusals.get(action) or self.failed_before.get(action, "")

    def _is_unlocked(self, noun: str) -> bool:
        answers = (self.refusals.get(action, "") for action in self.done if action.startswith(f"unlock {noun} with "))
        return any(map(is_unlocked, answers))

    @cached_property
    def deadly(self) -> tuple[tuple[str, ActionOutcome], ...]:
        """What somebody died of here."""
        return tuple((action, outcome) for action, outcome in self.remembered.items() if outcome in _DEADLY)

    @cached_property
    def left(self) -> list[tuple[float, str]]:
        """What is left to try here, with what it costs, the cheapest first."""
        return sorted(((COST[tier], action) for tier, action in self._pending()), key=itemgetter(0))

    def _pending(self) -> Iterator[tuple[Tier, str]]:
        # Someone died here of something other than a way out.
        hurry = any(came is ActionOutcome.KILLS and canonical_direction(action) is None for action, came in self.deadly)
        for action, outcome in self.remembered.items():
            # What failed when it was tried last was there for the taking in another state of the world.
            lapsed = action in self.failed_before and outcome is not ActionOutcome.SCORES
            if action not in self.done and not hurry and not lapsed:
                if outcome in _REWARDING:
                    yield Tier.REWARD, action
                # A way that changed something without leading anywhere is a warning, if anything.
                elif (
                    outcome is ActionOutcome.WORKS
                    and canonical_direction(action) is None
                    and not action.startswith(_UNDOING)
                ):
                    yield Tier.PREPARE, action
        for action, tier in self.offered.items():
            known = action in self.remembered or action in self.failed_before
            fresh = not known or action in self.reopened
            if fresh and action not in self.done and (not hurry or canonical_direction(action)):
                yield tier, action

    def _renew(self, *derived: str) -> None:
        """These are worked out again when they are asked for."""
        for name in derived:
            vars(self).pop(name, None)
