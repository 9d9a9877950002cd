"""A player without a language model: it remembers what it tried where, and goes where something is left to try.

Its rules are the same for every game. With it, everything else can be run, tested and measured without a model.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from game_interface.game import Game
from zorkgpt.memory.retrieval import Recall
from zorkgpt.offline.behaviors import BEHAVIORS, Behavior
from zorkgpt.offline.candidates import COST, Nouns
from zorkgpt.offline.experience import PastEpisodes
from zorkgpt.offline.notes import EpisodeNotes, PlaceNotes, TriesHere
from zorkgpt.offline.observing import observe_place, observe_result
from zorkgpt.offline.offers import OFFERS, Offer
from zorkgpt.offline.scoring_plan import PlanProgress, ScoringPlan, ScoringStep
from zorkgpt.offline.view import SOMEWHERE, Episode, TurnView
from zorkgpt.player import AgentDecision, PlayerContext
from zorkgpt.text import normalized_action
from zorkgpt.world.graph import MapGraph

Past = Callable[[], PastEpisodes]
"""Returns what earlier episodes showed."""


class OfflineExplorer:
    """A `Player` that follows game-independent rules.

    Args:
        graph: The map, kept up to date by the turn loop.
        recall: Returns the memories of a place. Without it, only this episode's experience is used.
        senses: Rules out actions by the story's own grammar and objects. Without it, nothing is ruled out.
        past: Called once an episode.
        seed: Decides the order of equally promising actions, so that runs with other seeds are different games.
        behaviors: On each turn, the first one that has an action decides.
        offers: Yield the actions that can be tried at a place.
    """

    def __init__(
        self,
        graph: MapGraph,
        recall: Recall | None = None,
        senses: Game | None = None,
        past: Past = PastEpisodes,
        seed: int = 1,
        *,
        behaviors: Sequence[Behavior] = BEHAVIORS,
        offers: Sequence[Offer] = OFFERS,
    ) -> None:
        self._graph = graph
        self._recall = recall or (lambda location_id: ())
        self._senses = senses
        self._past = past
        self._seed = seed
        self._behaviors = behaviors
        self._offers = offers
        self._nouns: Nouns | None = None
        self._saved: Sequence[dict[str, Any]] = ()
        """The notes of a resumed episode."""
        self._begun: Episode | None = None
        self._is_plan_saved = False

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the action of the first behavior that has one."""
        turn = self._observe(context)
        return next(filter(None, (behavior(turn) for behavior in self._behaviors)))

    def look_on(self, context: PlayerContext, action: str) -> None:
        """Record the action of another player for this turn."""
        turn = self._observe(context)
        if context.observation.question is None:
            turn.mark_done(normalized_action(action))

    def left_to_try(self) -> dict[int, tuple[str, ...]]:
        """Return place → the cheapest untried action there and its kind; () if none is left."""
        left: dict[int, tuple[str, ...]] = {}
        for room in self._graph.rooms:
            notes = self._episode.place(room)
            if notes.visited or room in self._episode.past.left:
                untried = min(notes.untried, key=lambda option: COST[option[0]], default=None)
                left[room] = (untried[1], untried[0].name) if untried else ()
        return left

    # Checkpoints

    def changed_notes(self) -> dict[str, Any]:
        """Return the notes about the episode, and those about places that have changed since the last call."""
        episode = self._episode
        changed = {
            "episode": _as_json(EpisodeNotes, episode.notes),
            "places": {str(room): _as_json(PlaceNotes, episode.places[room]) for room in sorted(episode.touched)},
            "plan": _as_json(PlanProgress, episode.plan.progress),
        }
        if not self._is_plan_saved:
            changed["steps"] = _as_json(tuple[ScoringStep, ...], episode.plan.steps)
        episode.touched, self._is_plan_saved = set(), True
        return changed

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        """Resume an episode with its saved notes."""
        self._begun, self._saved = None, notes

    @property
    def _episode(self) -> Episode:
        """The running episode. A resumed one is restored on first use, after memory and map."""
        if self._begun is None:
            self._begun = self._open_episode()
        return self._begun

    def _open_episode(self) -> Episode:
        past = self._past()
        self._is_plan_saved = False
        plan = ScoringPlan(past.steps)
        language = self._senses.language if self._senses else None
        episode = Episode(self._graph, self._recall, self._nouns or Nouns(), past, plan, self._seed, language)
        for saved in self._saved:
            self._restore(episode, saved)
        if not self._saved:
            # What failed with a thing at one place is not tried with it at others.
            for room in self._graph.rooms:
                episode.place(room)
        self._saved = ()
        return episode

    def _restore(self, episode: Episode, saved: dict[str, Any]) -> None:
        episode.notes = _from_json(EpisodeNotes, saved["episode"])
        if "steps" in saved:
            episode.plan = ScoringPlan(_from_json(tuple[ScoringStep, ...], saved["steps"]))
            self._is_plan_saved = True
        episode.plan.progress = _from_json(PlanProgress, saved["plan"])
        for room, fields in saved["places"].items():
            place = episode.places[int(room)] = _from_json(PlaceNotes, fields)
            place.tries = TriesHere(int(room), episode.past)
            episode.done_everywhere |= place.everywhere

    # Observing

    def _observe(self, context: PlayerContext) -> TurnView:
        """Record the observations of this turn, and return its view."""
        senses, where = self._senses, context.observation.location
        if self._nouns is None:
            self._nouns = Nouns(frozenset(context.vocabulary), senses.language if senses else None)
        if context.turn <= self._episode.notes.turn and context.refused is None:
            self._begun = self._open_episode()
        episode = self._episode
        episode.nouns = self._nouns
        turn = TurnView(
            context,
            episode,
            where.num if where else SOMEWHERE,
            language=senses.language if senses else None,
            scene=senses.scene() if senses else None,
            checks=senses is not None,
        )
        is_new = context.turn != episode.notes.turn
        episode.notes.turn = context.turn
        if context.observation.question is None:
            if is_new:
                observe_result(turn)
            observe_place(turn, self._offers)
        return turn


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _as_json(kind: Any, value: Any) -> Any:
    return _adapter(kind).dump_python(value, mode="json")


def _from_json(kind: Any, value: Any) -> Any:
    return _adapter(kind).validate_python(value)
