"""A player without a language model: it remembers what it tried where, and goes where something is left to try.

Its rules are the same for every game. With it, everything else can be run, tested and measured without a model.
"""

from collections.abc import Callable, Sequence
from functools import cache

from game_interface.game import Game
from zorkgpt.memory.retrieval import Recall
from zorkgpt.offline.behaviors import BEHAVIORS, Behavior
from zorkgpt.offline.nouns import Nouns
from zorkgpt.offline.offers import OFFERS
from zorkgpt.offline.view import OfferSource, TurnView
from zorkgpt.player import AgentDecision, Player, PlayerContext
from zorkgpt.record.experience import Experience
from zorkgpt.text import normalized_action
from zorkgpt.world.graph import MapGraph


class OfflineExplorer(Player):
    """A `Player` that follows game-independent rules.

    It has no notes. All that it knows is in the record, the map and the memories.

    Args:
        graph: The map, kept up to date by the turn loop.
        experience: Returns what the actions of this episode led to, and those of earlier ones.
        recall: Returns the memories of a place.
        senses: Rules out actions by the story's own grammar and objects. Without it, nothing is ruled out.
        seed: Decides the order of equally promising actions, so that runs with other seeds are different games.
        hidden_at: Returns the memories of a place that a person has hidden. Their actions are not taken.
        behaviors: On each turn, the first one that has an action decides.
        offers: Yield the actions that can be tried at a place.
    """

    def __init__(
        self,
        graph: MapGraph,
        experience: Callable[[], Experience],
        recall: Recall = lambda location_id: (),
        senses: Game | None = None,
        seed: int = 1,
        *,
        hidden_at: Recall = lambda location_id: (),
        behaviors: Sequence[Behavior] = BEHAVIORS,
        offers: Sequence[OfferSource] = OFFERS,
    ) -> None:
        self._graph = graph
        self._experience = experience
        self._recall = recall
        self._senses = senses
        self._seed = seed
        self._hidden_at = hidden_at
        self._behaviors = behaviors
        self._offers = offers
        self._nouns: Nouns | None = None
        self._rejected: frozenset[str] = frozenset()
        self._proposed = ""

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the action of the first behavior that has one."""
        self._rejected = self._rejected | {self._proposed} if context.refused else frozenset()
        turn = self._view(context)
        decision = next(filter(None, (behavior(turn) for behavior in self._behaviors)))
        self._proposed = normalized_action(decision.action)
        return decision

    def _view(self, context: PlayerContext) -> TurnView:
        language = self._senses.language if self._senses else None
        if self._nouns is None:
            self._nouns = Nouns(frozenset(context.vocabulary), language)
        scene = self._senses.scene() if self._senses else None
        return TurnView(
            context=context,
            graph=self._graph,
            recall=cache(self._recall),
            hidden_at=cache(self._hidden_at),
            experience=self._experience(),
            nouns=self._nouns,
            language=language,
            scene=scene,
            attributes=cache(self._senses.get_object_attributes) if self._senses else lambda thing: {},
            seed=self._seed,
            offers=self._offers,
            rejected=self._rejected,
        )
