"""Search for new objectives, and reduce their number."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from game_interface.models import Observation
from session.history import TurnRecord
from zorkgpt.errors import LLMError
from zorkgpt.memory.retrieval import Recall
from zorkgpt.objectives.finder import (
    ObjectiveFinder,
    ObjectiveProposal,
    SeenWorld,
    Situation,
    objective_from_proposal,
)
from zorkgpt.objectives.models import EpisodeTurn, Scope
from zorkgpt.objectives.tracker import ObjectiveTracker


class NamedRoom(Protocol):
    """A room of the map."""

    id: int
    name: str


class RoomMap(Protocol):
    """The part of a map that the search uses."""

    @property
    def rooms(self) -> Mapping[int, NamedRoom]:
        """The rooms by number."""
        ...

    def routes(self, from_id: int) -> Mapping[int, object]:
        """Return the rooms that can be reached, the nearest first."""
        ...

    def frontiers(self) -> Mapping[int, tuple[str, ...]]:
        """Return the untried exits of each room that has any."""
        ...


class ObjectiveSearch:
    """Describes the situation to a finder and applies its answers to a tracker.

    Args:
        graph: The map.
        rules: Finds objectives without a model, and refines them if the model fails.
        model: Finds objectives by asking a model; None without a model.
        recall: Returns the memories of a location.
        knowledge: Returns the lines of the knowledge base that are relevant to an observation.
    """

    def __init__(
        self,
        graph: RoomMap,
        *,
        rules: ObjectiveFinder,
        model: ObjectiveFinder | None = None,
        recall: Recall = lambda location_id: (),
        knowledge: Callable[[Observation], Sequence[str]] = lambda now: (),
    ) -> None:
        self._rules = rules
        self._finder = model or rules
        self._graph = graph
        self._recall = recall
        self._knowledge = knowledge
        self.asks_model = model is not None

    def discover(
        self, tracker: ObjectiveTracker, turns: Sequence[TurnRecord], *, max_score: int | None, is_last_turn: bool
    ) -> None:
        """Add the objectives that the finder proposes, and accept its reports of reached ones.

        Args:
            turns: The turns since the last search, oldest first; at least one.

        Raises:
            LLMError: If the model gave no answer. Nothing was changed.
        """
        situation = self._situation(tracker, turns, max_score, is_last_turn)
        findings = self._finder.discover(situation)
        tracker.accept_reports(findings.reached, {record.turn: record for record in situation.turns})
        origin = EpisodeTurn(situation.episode, situation.turn)
        proposed = (objective_from_proposal(proposal, situation.known, origin) for proposal in findings.proposals)
        tracker.add(objective for objective in proposed if objective is not None)

    def add_own(self, tracker: ObjectiveTracker, texts: Iterable[str], record: TurnRecord) -> None:
        """Add the player's own objectives, which outlive the episode."""
        now = record.transition.after
        known = SeenWorld(now, self.room_names(), tracker.things, tracker.visited)
        origin = EpisodeTurn(record.episode, record.turn)
        proposals = (ObjectiveProposal(text, scope=Scope.WORLD) for text in texts)
        objectives = (objective_from_proposal(proposal, known, origin) for proposal in proposals)
        tracker.add(objective for objective in objectives if objective is not None)

    def refine(self, tracker: ObjectiveTracker, turn: TurnRecord, most: int, *, max_score: int | None) -> None:
        """Keep at most `most` pursued objectives. If the finder chooses none, the rules choose.

        Raises:
            LLMError: If the model gave no answer. The rules have chosen instead.
        """
        situation = self._situation(tracker, (turn,), max_score)
        keys: Sequence[str] = ()
        shown = {objective.key for objective in situation.objectives}
        try:
            keys = self._finder.refine(situation, most)
        except LLMError:
            tracker.prioritize(self._rules.refine(situation, most), among=shown)
            raise
        tracker.prioritize(keys or self._rules.refine(situation, most), among=shown)

    def room_names(self) -> dict[int, str]:
        """Return the names of the rooms on the map."""
        return {room.id: room.name for room in self._graph.rooms.values()}

    def _situation(
        self,
        tracker: ObjectiveTracker,
        turns: Sequence[TurnRecord],
        max_score: int | None,
        is_last_turn: bool = False,
    ) -> Situation:
        """Return the situation after the last of these turns."""
        last = turns[-1]
        now = last.transition.after
        rooms, pursued = self.room_names(), tuple(tracker.pursued())
        walked = [turn.transition.after.location.num for turn in reversed(turns) if turn.transition.after.location]
        places = dict.fromkeys((*walked, *(place for objective in pursued for place in objective.places)))
        return Situation(
            episode=last.episode,
            turn=last.turn,
            known=SeenWorld(now, rooms, tracker.things, tracker.visited, max_score),
            turns=tuple(turns),
            objectives=pursued,
            settled=tuple(tracker.settled()),
            scored=tracker.scored,
            carried=tracker.carried,
            untried=self._untried(now.location_id),
            memories=tuple(self._memories(places, rooms)),
            knowledge=tuple(self._knowledge(now)),
            is_last_turn=is_last_turn,
        )

    def _untried(self, here: int | None) -> dict[int, tuple[str, ...]]:
        frontiers = self._graph.frontiers()
        nearest = self._graph.routes(here) if here is not None else {}
        return {room: frontiers[room] for room in nearest if room in frontiers}

    def _memories(self, places: Iterable[int], rooms: dict[int, str]) -> Iterable[str]:
        for place in places:
            for memory in self._recall(place):
                yield f"{rooms.get(place, place)}: {memory.title}: {memory.text}"
