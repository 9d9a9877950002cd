"""A player without a language model: it counts what it tried where, and goes where something is left to try.

Its rules are the same for every game. It scores far below a model that reads; it is there so that everything else can
be run, tested and measured without one.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from zorkgpt.memory.models import Memory
from zorkgpt.offline.candidates import Tier, candidates, noun_of
from zorkgpt.offline.notes import PlaceNotes
from zorkgpt.offline.phrases import Outcome, normal
from zorkgpt.player import AgentDecision, PlayerContext
from zorkgpt.world.graph import MapGraph

Recall = Callable[[int], Iterable[Memory]]
"""Location → what is remembered of it and still believed."""

# How many steps a kind of action is worth walking for less than a reward is.
_COST = {
    Tier.REWARD: 0.0,
    # As good as a reward: among what is remembered of a place the order of learning decides, and what came first is
    # often what the rest needs.
    Tier.PREPARE: 0.0,
    Tier.GATHER: 0.5,
    Tier.NAMED_EXIT: 2.0,
    Tier.INSPECT: 4.0,
    Tier.HANDLE: 6.0,
    Tier.OTHER_EXIT: 8.0,
    Tier.COMBINE: 9.0,
    Tier.FIDDLE: 12.0,
}


class OfflineExplorer:
    """A `Player` that follows game-independent rules.

    Args:
        graph: the map, kept up to date by the turn loop.
        recall: what is remembered of a place; None to play from this episode's experience alone.
    """

    def __init__(self, graph: MapGraph, recall: Recall | None = None) -> None:
        self._graph = graph
        self._recall = recall or (lambda location_id: ())
        self._begin()

    def _begin(self) -> None:
        self._notes: dict[int, PlaceNotes] = {}
        self._blocked: set[tuple[int, str]] = set()
        self._carried_done: set[str] = set()
        self._walking: tuple[int, str] | None = None
        self._turn = 0
        self._touched: set[int] = set()
        self._newly_done: list[str] = []

    def changed_notes(self) -> dict[str, Any]:
        changed = {
            "turn": self._turn,
            "walking": self._walking,
            "blocked": sorted(self._blocked),
            "carried_done": self._newly_done,
            "places": {room: self._notes[room].to_dict() for room in sorted(self._touched)},
        }
        self._touched, self._newly_done = set(), []
        return changed

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        self._begin()
        for changed in notes:
            self._turn = changed["turn"]
            self._walking = tuple(changed["walking"]) if changed["walking"] else None
            self._blocked = {(room, way) for room, way in changed["blocked"]}
            self._carried_done.update(changed["carried_done"])
            self._notes.update((int(room), PlaceNotes.from_dict(each)) for room, each in changed["places"].items())

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        where = self._look_round(context)
        if where is None:
            return AgentDecision("look", "The story does not tell where this is.")
        return self._choose(where)

    def look_on(self, context: PlayerContext, action: str) -> None:
        """Another one plays this turn: what it does is done."""
        where = self._look_round(context)
        if where is not None:
            self._notes_of(where).done.add(normal(action))

    def _look_round(self, context: PlayerContext) -> int | None:
        """Take in a turn's context; the number of the place, if the story tells."""
        if context.turn <= self._turn and context.refused is None:
            self._begin()
        self._turn = context.turn
        where = context.observation.location
        if where is None:
            return None
        self._take_in(where.num, context)
        return where.num

    def _take_in(self, here: int, context: PlayerContext) -> None:
        """Bring the notes of this place up to date."""
        if self._walking and self._walking[0] == here:
            self._blocked.add(self._walking)
        self._walking = None
        vocabulary = frozenset(context.vocabulary)
        notes = self._notes_of(here)
        self._touched.add(here)
        notes.learn(self._recall(here))
        if context.changed:
            nouns = [noun for item in context.changed if (noun := noun_of(item, vocabulary))]
            notes.reopen(chain.from_iterable(noun.split() for noun in nouns), context.failed_here)
            self._blocked = {way for way in self._blocked if way[0] != here}
        walked = self._graph.exits(here)
        text = context.room_description or context.response
        notes.offer(
            option
            for option in candidates(context.observation, text, vocabulary)
            if option.action not in walked and option.action not in self._carried_done
        )

    def _choose(self, here: int) -> AgentDecision:
        """The cheapest thing left to try, the walk there included."""
        routes = self._graph.routes(here, without=self._shut)
        best: tuple[float, str, int] | None = None
        for room, route in routes.items():
            for cost, action in self._prospects(room):
                option = (cost + len(route), action, room)
                best = min(best, option, key=lambda one: one[0]) if best else option
        if best is None:
            return self._wander(here)
        _, action, room = best
        if room == here:
            notes = self._notes_of(here)
            notes.done.add(action)
            if notes.offered.get(action) in (Tier.INSPECT, Tier.HANDLE):
                self._carried_done.add(action)
                self._newly_done.append(action)
            return AgentDecision(action, self._why(notes, action))
        step = routes[room][0]
        self._walking = (here, step)
        name = self._graph.rooms[room].name if room in self._graph.rooms else str(room)
        return AgentDecision(step, f"On the way to {name}, where {action!r} is left to try.")

    def _prospects(self, room: int) -> Iterable[tuple[float, str]]:
        notes = self._notes_of(room)
        pending = [(_COST[tier], action) for tier, action in notes.pending() if tier in _COST]
        if pending:
            yield min(pending, key=lambda one: one[0])
        if not notes.visited:
            yield _COST[Tier.INSPECT], "look around"

    def _notes_of(self, room: int) -> PlaceNotes:
        if room not in self._notes:
            self._notes[room] = PlaceNotes()
            self._touched.add(room)
            self._notes[room].learn(self._recall(room))
        return self._notes[room]

    def _shut(self, room: int, way: str) -> bool:
        return (room, way) in self._blocked or self._notes_of(room).remembered.get(way) is Outcome.KILLS

    def _wander(self, here: int) -> AgentDecision:
        """Nothing is left to try anywhere: take the way that was taken least, or wait."""
        ways = [way for way in self._graph.exits(here) if not self._shut(here, way)]
        if ways:
            way = ways[self._turn % len(ways)]
            self._walking = (here, way)
            return AgentDecision(normal(way), "Nothing is left to try; walking on.")
        return AgentDecision("wait", "Nothing is left to try.")

    @staticmethod
    def _why(notes: PlaceNotes, action: str) -> str:
        remembered = notes.remembered.get(action)
        if remembered is None:
            return f"Not tried here yet ({notes.offered[action].name.lower().replace('_', ' ')})."
        if action in notes.reopened:
            return "It failed before, but something about it has changed."
        return f"Memory says that it {remembered}."
