"""Record the results of turns in the memory."""

from collections.abc import Sequence
from itertools import takewhile

from game_interface.models import Location, Transition
from orchestration.services import Services
from session.ground_truth import ground_truth
from session.outcome import shows_outcome
from zorkgpt.directions import DIRECTIONS, exit_name
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.synthesis import SynthesisRequest, request_from
from zorkgpt.record.experience import ActionResult, ExperienceRow

MEMORY = "memory"
"""The kind of background work that asks what a turn teaches."""


class TurnLearner:
    """Passes outcomes and first arrivals to the memory, and starts the questions that they raise.

    Without memory it does nothing.
    """

    def __init__(self, services: Services) -> None:
        self._game, self._state, self._memory = services.game, services.state, services.memory
        self._graph = services.map.graph
        self._background = services.background
        if services.memory is not None:
            self._background.add(MEMORY, services.memory.learn_from, request_from)

    def things(self) -> Sequence[ThingState]:
        """Return the visible and carried things, for `learn`. Empty without memory."""
        return self._game.things() if self._memory else ()

    def learn(self, step: Transition, row: ExperienceRow, before: Sequence[ThingState]) -> None:
        """Record the outcome of the action, and the first arrival at its destination.

        Call it before the map and the state process the turn: it compares the turn with what they knew before.

        Args:
            row: The row of the turn, which the experience has already.
            before: The visible and carried things before the action.
        """
        memory, source, destination = self._memory, step.before.location, step.after.location
        if memory is None or step.refused or step.fault:
            return
        if source is None or not shows_outcome(step):
            reads_commands = step.after.question is None and not step.finished
            if destination is None or not reads_commands or not self.learn_arrival(step, destination):
                memory.note_moves(ground_truth(step, turn=self._state.turn_count, first_visit=False))
            return
        arrived_at = destination if destination != source and not step.finished else None
        truth = ground_truth(
            step,
            turn=self._state.turn_count,
            first_visit=memory.is_first_visit(source.num),
            first_look=arrived_at is not None and memory.is_first_visit(arrived_at.num),
            before=before,
            after=self._game.things(),
            known_way=self._is_known_way(step),
            failed_before=self._graph.has_failed(source.num, step.action),
        )
        self._ask(memory.take_turn(source.num, source.name, step.action, step.response, truth, row=row))

    def learn_arrival(self, step: Transition, place: Location) -> bool:
        """Record an arrival without an action, such as the opening. Return False if it is not the first visit."""
        if self._memory is None or not self._memory.is_first_visit(place.num):
            return False
        truth = ground_truth(step, turn=self._state.turn_count, first_visit=True, after=self._game.things())
        self._ask(self._memory.take_turn(place.num, place.name, "", step.response, truth, arrival=True))
        return True

    def _ask(self, question: SynthesisRequest | None) -> None:
        if question is not None:
            self._background.start(MEMORY, question)

    def _is_known_way(self, step: Transition) -> bool:
        """Return whether the map knew or expected the destination of this walk.

        If the player has changed something here, a way that was not walked before counts as unknown, because the change
        may be a condition of the way.
        """
        source, destination = step.before.location, step.after.location
        if source is None or destination is None or source == destination:
            return False
        graph, way = self._graph, exit_name(step.action)
        if graph.exits(source.num).get(way) == destination.num:
            return True
        if way not in DIRECTIONS or graph.has_failed(source.num, way) or self._has_changed_something(source.num):
            return False
        return way in graph.rooms[source.num].exits or graph.ways_back(source.num).get(way) == destination.num

    def _has_changed_something(self, place: int) -> bool:
        """Return whether the player had changed something since arriving at the place of this turn."""
        before = self._state.experience.rows[-2::-1]
        stay = takewhile(lambda row: row.place == row.reached == place, before)
        return any(row.shows(ActionResult.ALTERED) for row in stay)
