"""The exits and rooms to avoid: deadly, dark, dangerous or closed."""

from collections import Counter
from collections.abc import Mapping

from zorkgpt.directions import canonical_direction
from zorkgpt.offline.notes import EpisodeNotes, PlaceNotes
from zorkgpt.offline.outcomes import ActionOutcome
from zorkgpt.offline.scoring_plan import ScoringPlan
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import MoveKind
from zorkgpt.world.routes import DangerousSpot


def deaths(graph: MapGraph) -> Counter[tuple[int, str]]:
    """Return (room, action) → the number of deaths it caused, in all episodes."""
    died: Counter[tuple[int, str]] = Counter()
    for move, times in graph.moves.counts.items():
        if move.kind is MoveKind.DIED:
            died[move.from_id, move.way] += times
    return died


def fights_lost(graph: MapGraph) -> dict[str, set[int]]:
    """Return creature → the places where it killed the player in a fight."""
    places: dict[str, set[int]] = {}
    for room, action in deaths(graph):
        if action.startswith("attack "):
            enemy = action.removeprefix("attack ").partition(" with ")[0]
            places.setdefault(enemy, set()).add(room)
    return places


def died_at(graph: MapGraph) -> Counter[int | None]:
    """Return place → the number of deaths there and on the way to it, which the place probably caused."""
    died: Counter[int | None] = Counter()
    for (room, action), times in deaths(graph).items():
        died[graph.leads_to(room, action) if canonical_direction(action) else room] += times
    return died


def deadly_walks(graph: MapGraph) -> Counter[str]:
    """Return name → the number of exits from places of this name that killed the player on every walk."""
    deadly = (
        room for room, way in deaths(graph) if canonical_direction(way) and graph.connections.get(room, way) is None
    )
    return Counter(graph.rooms[room].name for room in deadly if room in graph.rooms)


def dangerous_rooms(graph: MapGraph, plan: ScoringPlan, accepted: int = 0) -> frozenset[DangerousSpot]:
    """Return the rooms with more than one death, beyond the number of points that can be scored there.

    Args:
        accepted: The number of additional deaths to accept.
    """
    died = {room: times for room, times in died_at(graph).items() if room is not None}
    # A single death may be bad luck.
    return frozenset(room for room, times in died.items() if times > max(1, plan.scores_at(room) + accepted))


def closed(
    graph: MapGraph, places: Mapping[int, PlaceNotes], notes: EpisodeNotes, plan: ScoringPlan
) -> frozenset[DangerousSpot]:
    """Return the exits and rooms that must not be entered now."""
    shut: set[DangerousSpot] = set(notes.blocked)
    died = deaths(graph)
    for room, noted in places.items():
        for action in noted.deadly:
            died.setdefault((room, action), 1)
        if noted.feared or (noted.dark and not notes.lit and not notes.dares_dark):
            shut.add(room)
    for (room, action), times in died.items():
        unlit = room in places and places[room].remembered.get(action) is ActionOutcome.KILLS_UNLIT
        # If an exit was also survived, the cause is beyond it. An action that scored is worth one more try.
        survived = graph.connections.get(room, action) is not None or (times == 1 and plan.scores_at(room, action))
        if not ((unlit and notes.lit) or survived):
            shut.add((room, action))
    return frozenset(shut)
