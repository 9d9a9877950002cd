"""What an explorer knows of one place: remembered from earlier episodes, and tried in this one."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from zorkgpt.memory.claims import Relation
from zorkgpt.memory.models import Category, Memory, Persistence
from zorkgpt.offline.candidates import COST, Candidate, Tier
from zorkgpt.offline.nouns import words_of
from zorkgpt.offline.phrases import Outcome, is_dark, is_unlocked, normal, read_title
from zorkgpt.world.directions import canonical_direction

_ORDER = list(Outcome)
_MOST_REOPENED = 6
_UNDOING = ("drop ", "put ")
_REWARDING = frozenset({Outcome.SCORES, Outcome.TAKES})
_DEADLY = frozenset({Outcome.KILLS, Outcome.KILLS_UNLIT})


def what_came_of(memory: Memory) -> tuple[str, Outcome] | None:
    """The action that a memory tells of, and its outcome; None if it tells of none.

    By its fields; a memory from before there were any by its title, as the rules word it.
    """
    if not (memory.action and memory.outcome):
        return read_title(memory)
    action = normal(memory.action)
    if memory.outcome == "died":
        unlit = any(claim.relation is Relation.DARK for claim in (*memory.when, *memory.claims)) or is_dark(memory.text)
        return action, Outcome.KILLS_UNLIT if unlit else Outcome.KILLS
    if (memory.score_change or 0) > 0:
        return action, Outcome.SCORES
    if memory.outcome == "changed":
        taken = any(claim.relation is Relation.CARRIED for claim in memory.claims)
        return action, Outcome.TAKES if taken else Outcome.WORKS
    if memory.outcome == "nothing":
        return action, Outcome.FAILS if memory.category == Category.FAILURE else Outcome.TELLS
    return action, Outcome.LEADS


@dataclass
class PlaceNotes:
    """One place. Actions are kept in their normal form."""

    visited: bool = False
    """In this episode."""
    done: set[str] = field(default_factory=set)
    """In this episode."""
    remembered: dict[str, Outcome] = field(default_factory=dict)
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
            remembered={action: Outcome(outcome) for action, outcome in state["remembered"].items()},
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
            if known := what_came_of(memory):
                action, outcome = known
                known_as = self.remembered.get(action, outcome)
                self.remembered[action] = min(known_as, outcome, key=_ORDER.index)
                self.dark = self.dark or outcome is Outcome.KILLS_UNLIT
                if outcome is Outcome.FAILS:
                    self.refusals.setdefault(action, memory.text)
            elif memory.persistence is Persistence.CORE and is_dark(memory.text):
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
        remembered = {action for action, outcome in self.remembered.items() if outcome is Outcome.FAILS}
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
    def deadly(self) -> tuple[tuple[str, Outcome], ...]:
        """What somebody died of here."""
        return tuple((action, outcome) for action, outcome in self.remembered.items() if outcome in _DEADLY)

    @cached_property
    def left(self) -> list[tuple[float, str]]:
        """What is left to try here, with what it costs, the cheapest first."""
        return sorted(((COST[tier], action) for tier, action in self._pending()), key=itemgetter(0))

    def _pending(self) -> Iterator[tuple[Tier, str]]:
        # Someone died here of something other than a way out.
        hurry = any(came is Outcome.KILLS and canonical_direction(action) is None for action, came in self.deadly)
        for action, outcome in self.remembered.items():
            # What failed when it was tried last was there for the taking in another state of the world.
            lapsed = action in self.failed_before and outcome is not Outcome.SCORES
            if action not in self.done and not hurry and not lapsed:
                if outcome in _REWARDING:
                    yield Tier.REWARD, action
                # A way that changed something without leading anywhere is a warning, if anything.
                elif (
                    outcome is Outcome.WORKS and canonical_direction(action) is None and not action.startswith(_UNDOING)
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
