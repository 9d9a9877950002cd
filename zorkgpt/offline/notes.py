"""The notes of the rules player in one episode: about the game as a whole, and about each place."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Annotated

from pydantic import ConfigDict, Field, PlainSerializer

from session.experience import ActionResult
from zorkgpt.directions import canonical_direction
from zorkgpt.memory.models import Memory, MemoryKind, Persistence
from zorkgpt.offline.advice import opens_a_menu
from zorkgpt.offline.candidates import COST, WAIT, Candidate, Tier, words_of
from zorkgpt.offline.experience import PastEpisodes
from zorkgpt.offline.outcomes import ActionOutcome, is_dark_place, is_deadly_company, remembered_outcome
from zorkgpt.offline.phrases import is_dark, is_laden, quoted_words
from zorkgpt.record.experience import ExperienceRow
from zorkgpt.world.tries import tries_at

_IN_ORDER = PlainSerializer(sorted)
NameSet = Annotated[set[str], _IN_ORDER]
PlaceAndAction = tuple[int, str]


@dataclass
class EpisodeNotes:
    """The notes about the game as a whole. Things are identified by the names that the parser accepts."""

    turn: int = 0
    walking: PlaceAndAction | None = None
    """The room and the exit taken on the last turn, on a walk."""
    target: PlaceAndAction | None = None
    """The player's destination, and the action to try there."""
    held: tuple[str, ...] = ()
    valued: NameSet = field(default_factory=set)
    """Things that scored when they were taken."""
    given_up: NameSet = field(default_factory=set)
    """Things that must not be taken again."""
    blocked: Annotated[set[PlaceAndAction], _IN_ORDER] = field(default_factory=set)
    """Exits that led nowhere on the last try."""

    lamp: str | None = None
    """The last thing that was switched on, as long as it gives light."""
    useful: NameSet = field(default_factory=set)
    """Things that give light."""
    dares_dark: bool = False
    """Whether to enter dark places without a light, because nothing else is left to try."""

    wanted: str | None = None
    """The action of the last turn, if it failed because the player carries too much."""
    take_back: str | None = None
    """The thing that was put somewhere without points on the last turn."""
    repeated: dict[str, int] = field(default_factory=dict)
    """Action with a limited number of repetitions → the repetitions so far."""
    started_over: int | None = None
    """The number of changes of the world at the last retry of everything; None if there was none."""
    unblocked: int = 0
    """The number of retries of all closed exits because nothing else was left to try."""
    holders: dict[int, list[str]] = field(default_factory=dict)
    """Place → the holders for things there: "in case", "on table"."""

    topics: dict[str, None] = field(default_factory=dict)
    """Words in quotation marks or capitals in texts, the latest last. An ordered set."""
    foes: dict[int, list[str]] = field(default_factory=dict)
    """Place → the creatures that were hostile there."""
    answered: dict[str, int] = field(default_factory=dict)
    """Question → the number of answers since the story last read a command."""

    @property
    def lit(self) -> bool:
        return self.lamp is not None and self.lamp in self.held

    def may_repeat(self, action: str, limit: int) -> bool:
        """Return whether an action has fewer repetitions than `limit`."""
        return self.repeated.get(action, 0) < limit

    def count(self, action: str) -> None:
        """Count a repetition of an action."""
        self.repeated[action] = self.repeated.get(action, 0) + 1


_ORDER = list(ActionOutcome)
_MAX_REOPENED = 6
_REPEATED_COST = 15.0
"""The cost, in steps, of each earlier episode in which an action did not score here."""
_ELSEWHERE_COST = 4.0
"""The cost, in steps, of each other place where an action did not score."""
_MAX_ELSEWHERE_COST = 24.0
_NOT_AGAIN = ("drop ", "put ", "attack ")
"""Actions that are not repeated although they changed something, because they undo others or fit only one moment."""
_REWARDING = frozenset({ActionOutcome.SCORES, ActionOutcome.TAKES})
_DEADLY = frozenset({ActionOutcome.KILLS, ActionOutcome.KILLS_UNLIT})


class TriesHere:
    """What was tried at one place, in the running episode and in earlier ones.

    Failures because of weight or darkness in earlier episodes are left out. They say nothing about another time.
    """

    def __init__(self, place: int = 0, past: PastEpisodes | None = None) -> None:
        past = past or PastEpisodes()
        self._place, self._experience = place, past.experience
        failed = tries_at(past.earlier, place).failed
        left_out = {action for action, response in failed.items() if is_laden(response) or is_dark(response)}
        self.failed_before = {action: response for action, response in failed.items() if action not in left_out}
        """Actions that had no effect here in earlier episodes → the response."""
        barren = past.barren.get(place, {}).items()
        self.barren = {action: episodes for action, episodes in barren if action not in left_out}
        """Action → the number of earlier episodes in which it did not score here."""
        self.barren_places = past.barren_places
        """Action → the number of places where it did not score in earlier episodes."""

    @property
    def now(self) -> Mapping[str, Sequence[ExperienceRow]]:
        """Action → its rows in the running episode."""
        return self._experience.tries(self._place)

    def times(self, action: str) -> int:
        """Return how often an action was taken here in the running episode."""
        return self._experience.times(self._place, action)


@dataclass
class PlaceNotes:
    """Notes about one place. Actions are normalized."""

    __pydantic_config__ = ConfigDict(arbitrary_types_allowed=True)

    visited: bool = False
    """Whether it was visited in this episode."""
    done: NameSet = field(default_factory=set)
    """Actions taken in this episode."""
    remembered: dict[str, ActionOutcome] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """The single words in quotation marks in texts read here."""
    tries: Annotated[TriesHere, Field(exclude=True)] = field(default_factory=TriesHere)
    told: dict[str, str] = field(default_factory=dict)
    """Actions that have no effect according to a memory → its text."""
    started_over: bool = False
    """Whether what failed in earlier episodes is tried again."""
    before: NameSet = field(default_factory=set)
    """Actions taken in this episode before everything was tried again."""
    reopened: Counter[str] = field(default_factory=Counter)
    """Failed action whose things have changed since → the number of changes in this episode."""
    offered: dict[str, Tier] = field(default_factory=dict)
    """Action offered when the place was last seen in this episode → its kind."""
    portable: Annotated[frozenset[str], _IN_ORDER] = frozenset()
    """The offered actions with carried things, which can be tried elsewhere too."""
    mentioned: dict[str, None] = field(default_factory=dict)
    """Words in this episode's texts for things here that are not listed as visible. An ordered set."""
    advice: dict[str, None] = field(default_factory=dict)
    """Actions that texts of this episode suggested here. An ordered set."""
    grammar_tries: int = 0
    """The number of commands of the story's grammar tried here in this episode."""
    dark: bool = False
    feared: bool = False
    """Whether the place or a creature here has killed the player, according to a memory."""
    everywhere: NameSet = field(default_factory=set)
    """Actions that need not be tried at other places either."""
    read: Annotated[tuple[tuple[str, str, str, int | None], ...] | None, Field(exclude=True)] = None
    """The fields of the memories that were last read."""

    def learn(self, memories: Iterable[Memory]) -> None:
        """Read the memories of this place, if they have changed."""
        memories = list(memories)
        self.feared = any(map(is_deadly_company, memories))
        fields = tuple((memory.title, memory.text, memory.outcome, memory.score_change) for memory in memories)
        if fields == self.read:
            return
        self.read, self.remembered, self.told = fields, {}, {}
        texts = (memory.text for memory in memories if memory.kind is MemoryKind.TEXT)
        self.words = tuple(dict.fromkeys(word for text in texts for word in quoted_words(text)))
        for memory in memories:
            result = remembered_outcome(memory)
            if result and not opens_a_menu(result[0]):
                action, outcome = result
                self.remembered[action] = min(self.remembered.get(action, outcome), outcome, key=_ORDER.index)
                self.dark = self.dark or outcome is ActionOutcome.KILLS_UNLIT
                if outcome is ActionOutcome.FAILS:
                    self.told.setdefault(action, memory.text)
            elif memory.persistence is Persistence.CORE and is_dark_place(memory):
                self.dark = True
        self._renew()

    def offer(self, candidates: Iterable[Candidate]) -> None:
        """Record the actions offered by the visible place."""
        offered: dict[str, Tier] = {}
        for candidate in candidates:
            offered.setdefault(candidate.action, candidate.tier)
        self.visited = True
        if list(offered.items()) != list(self.offered.items()):
            self.offered = offered
            self._renew()

    def offer_more(self, candidates: Iterable[Candidate]) -> None:
        """Record more actions to try here."""
        for candidate in candidates:
            self.offered.setdefault(candidate.action, candidate.tier)
        self._renew()

    def is_fresh(self, action: str) -> bool:
        """Return whether an action is not known to have been tried here in any episode."""
        known = action in self.remembered or self._has_failed_before(action) or action in self.tries.barren
        return not known and action not in self.done

    def mark(self, action: str) -> None:
        """Record that an action was taken."""
        self.grammar_tries += self.offered.get(action) is Tier.GRAMMAR and action not in self.done
        self.done.add(action)
        self._renew()

    def unmark(self, action: str, *, reopened: bool = False) -> None:
        """Allow an action to be taken again. `reopened` means that something about it has changed."""
        self.done.discard(action)
        if reopened:
            self.reopened[action] += 1
        self._renew()

    def reopen(self, nouns: Iterable[str]) -> None:
        """Reopen the failed actions that involve these things, since something about them has changed."""
        words = set(nouns)
        for action, response in self.all_refusals.items():
            is_barred = canonical_direction(action) and words & set(words_of(response))
            is_concerned = is_barred or words & set(action.split())
            if is_concerned and self.reopened[action] < _MAX_REOPENED:
                self.unmark(action, reopened=True)

    def retry(self, failed_here: Collection[str]) -> bool:
        """Reopen the actions that failed here in another state of the world. Return whether there are any.

        Args:
            failed_here: The actions that failed in the present state.
        """
        failed = [action for action in self.refusals if action in self.offered and not self.reopened[action]]
        outdated = [action for action in failed if action in self.done and action not in failed_here]
        for action in outdated:
            self.unmark(action, reopened=True)
        return bool(outdated)

    def start_over(self) -> None:
        """Clear the failed actions here, so that they are tried again in another state of the world."""
        self.before |= self.done
        self.done &= self.remembered.keys()
        self.started_over = True
        self.everywhere.clear()
        self._renew()

    @property
    def failed_before(self) -> dict[str, str]:
        """Actions that had no effect here in earlier episodes → the response. Without those tried in this one."""
        if self.started_over:
            return {}
        tried = self.tries.now
        return {action: response for action, response in self.tries.failed_before.items() if action not in tried}

    def _has_failed_before(self, action: str) -> bool:
        return not self.started_over and action in self.tries.failed_before and action not in self.tries.now

    @property
    def refusals(self) -> dict[str, str]:
        """Actions that had no effect when last tried in this episode, or according to a memory → the response."""
        tried = self.tries.now
        told = {action: text for action, text in self.told.items() if action not in tried}
        latest = {action: rows[-1] for action, rows in tried.items()}
        return told | {action: row.response for action, row in latest.items() if row.shows(ActionResult.FAILED)}

    @property
    def all_refusals(self) -> dict[str, str]:
        """Action that failed here in any episode → the latest response."""
        return self.failed_before | self.refusals

    @property
    def locked(self) -> list[str]:
        """Things that the game called locked when the player last tried to open them."""
        refusals = self.all_refusals.items()
        return [way.removeprefix("open ") for way, said in refusals if "open " in way and "locked" in words_of(said)]

    def openers(self, response: str) -> Iterator[str]:
        """Yield the actions that are known to open the things that a response names."""
        words = set(words_of(response))
        for action, outcome in self.remembered.items():
            works = outcome in (ActionOutcome.WORKS, ActionOutcome.SCORES)
            if works and action.startswith("open ") and words.issuperset(words_of(action)[1:]):
                yield action

    @property
    def deadly(self) -> list[str]:
        """Actions that killed the player here."""
        return [action for action, outcome in self.remembered.items() if outcome in _DEADLY]

    @cached_property
    def left(self) -> list[tuple[float, str]]:
        """Actions left to try here as (cost, action), the cheapest first."""
        costs = ((self._cost(tier) + self._cost_of_repeating(action, tier), action) for tier, action in self._pending())
        return sorted(costs, key=itemgetter(0))

    def _cost(self, tier: Tier) -> float:
        if tier is Tier.GRAMMAR:
            # The increasing cost spreads these commands over the places.
            return COST[tier] + self.grammar_tries
        return COST[tier] * (1 + self.tries.times(WAIT)) if tier is Tier.WAIT else COST[tier]

    def _cost_of_repeating(self, action: str, tier: Tier) -> float:
        """Return the cost of an action from the earlier episodes in which it did not score."""
        if self.remembered.get(action) is ActionOutcome.SCORES or action in self.reopened:
            return 0.0
        here = self.tries.barren.get(action, 0)
        # A tool that a refusal here asks for may work here, even if it failed elsewhere.
        elsewhere = self.tries.barren_places.get(action, 0) - bool(here) if tier is not Tier.TOOL else 0
        return _REPEATED_COST * here + min(_ELSEWHERE_COST * elsewhere, _MAX_ELSEWHERE_COST)

    @property
    def untried(self) -> Iterator[tuple[Tier, str]]:
        """Yield the kinds and names of the actions that were never tried here, in the order of their offer."""
        lasting = ((tier, action) for tier, action in self._pending() if tier is not Tier.WAIT)
        pending = ((tier, action) for tier, action in lasting if action not in self.portable)
        return ((tier, action) for tier, action in pending if action not in self.tries.barren | self.remembered.keys())

    def _pending(self) -> Iterator[tuple[Tier, str]]:
        for action, outcome in self.remembered.items():
            if action not in self.done:
                if outcome in _REWARDING:
                    yield Tier.REWARD, action
                # An exit that changed something without leading anywhere is at most a warning.
                elif (
                    outcome is ActionOutcome.WORKS
                    and canonical_direction(action) is None
                    and not action.startswith(_NOT_AGAIN)
                ):
                    yield Tier.PREPARE, action
        for action, tier in self.offered.items():
            known = action in self.remembered or self._has_failed_before(action)
            fresh = not known or action in self.reopened
            if fresh and action not in self.done:
                yield tier, action

    def _renew(self) -> None:
        """Discard `left`, so that the next access computes it again."""
        vars(self).pop("left", None)
