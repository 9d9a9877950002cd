"""Which exits and rooms are shunned: where the player died or fled, what is dark or was found closed."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from zorkgpt.offline.notes import EpisodeNotes, PlaceNotes
from zorkgpt.offline.outcomes import ActionOutcome
from zorkgpt.offline.scoring_plan import ScoringPlan
from zorkgpt.world.directions import canonical_direction
from zorkgpt.world.graph import DangerousSpot, MapGraph
from zorkgpt.world.movement import MoveKind

_ACCEPTED_RISK = 0.15
"""Deaths for each arrival at a room; who roams about may kill anywhere."""
_WORTH_A_FIGHT = 0.25
"""The least chance to survive a fight that is fought in each episode: one that was lost three times of three is not."""
_AVOIDED_TURNS = 10
"""Turns for which a place is avoided after fleeing from it; each further time doubles them."""


def deaths(graph: MapGraph) -> Counter[tuple[int, str]]:
    """Return (room, action) → the number of deaths it caused, in all episodes."""
    died: Counter[tuple[int, str]] = Counter()
    for move, times in graph.moves.items():
        if move.kind is MoveKind.DIED:
            died[move.from_id, move.way] += times
    return died


@dataclass(frozen=True)
class LostFights:
    """Fights that ended in the player's death in earlier episodes. A blow is an action: "attack ogre with club"."""

    fatal: Collection[str] = ()
    """Blows that were the last here, as memory tells; another weapon is preferred."""
    hopeless: Collection[str] = ()
    """Blows that are not worth the risk here in this episode."""
    killers: Collection[str] = ()
    """Creatures that won."""
    roaming: Collection[str] = ()
    """Those of them that won elsewhere: they roam, and guard no exit."""


def lost_fights(
    graph: MapGraph, here: int, fought: Mapping[str, int], episode: int, fatal: Collection[str] = ()
) -> LostFights:
    """Return the fights that were lost, as seen from a place.

    Args:
        fought: blow → the number of earlier episodes in which it was struck here.
        episode: the number of earlier episodes.
        fatal: see `LostFights`.
    """
    lost = {pair: times for pair, times in deaths(graph).items() if pair[1].startswith("attack ")}
    hopeless: set[str] = set()
    for (room, blow), times in lost.items():
        fights = max(fought.get(blow, 0), times)
        # By Laplace's rule of succession; the less likely it is to be survived, the more seldom it is tried.
        chance = (fights - times + 1) / (fights + 2)
        if room == here and chance < _WORTH_A_FIGHT and episode % round(1 / chance):
            hopeless.add(blow)
    won = {(room, blow.removeprefix("attack ").partition(" with ")[0]) for room, blow in lost}
    return LostFights(fatal, hopeless, {name for _, name in won}, {name for room, name in won if room != here})


def deadly_exits(graph: MapGraph) -> dict[int, dict[str, int]]:
    """Return room → the exits by which nobody came out alive → how often somebody died by them."""
    found: dict[int, dict[str, int]] = {}
    for (room, action), times in deaths(graph).items():
        if canonical_direction(action) and graph.connection(room, action) is None:
            found.setdefault(room, {})[action] = times
    return found


def died_at(graph: MapGraph) -> Counter[int | None]:
    """Return place → the number of deaths there and on the way to it: something there probably caused them."""
    died: Counter[int | None] = Counter()
    for (room, action), times in deaths(graph).items():
        died[graph.leads_to(room, action) if canonical_direction(action) else room] += times
    return died


def deadly_walks(graph: MapGraph) -> Counter[str]:
    """Return name of a place → the number of exits, of all places of this name, by which nobody came out alive."""
    found: Counter[str] = Counter()
    for room, ways in deadly_exits(graph).items():
        if room in graph.rooms:
            found[graph.rooms[room].name] += len(ways)
    return found


def dangerous_rooms(graph: MapGraph, plan: ScoringPlan, accepted: int = 0) -> frozenset[DangerousSpot]:
    """Return the rooms where more episodes ended in death than did what scores there, and not just once in a while.

    Args:
        accepted: by how many more at least, without being one.
    """
    died = died_at(graph)
    feared = [room for room, times in died.items() if room is not None and times - plan.times(room) > accepted]
    # Once may have been bad luck.
    risk = {room: max(1, _ACCEPTED_RISK * (_arrivals(graph, room) + died[room])) for room in feared}
    return frozenset(room for room in feared if died[room] > risk[room])


def _arrivals(graph: MapGraph, room: int) -> int:
    """Return how often a room was walked to, in all episodes."""
    return sum(way.ends.get(room, 0) for _, _, way in graph.all_connections())


def closed(
    graph: MapGraph,
    places: Mapping[int, PlaceNotes],
    notes: EpisodeNotes,
    plan: ScoringPlan,
    place: Callable[[int], PlaceNotes],
) -> frozenset[DangerousSpot]:
    """Return the exits and rooms that must not be entered now."""
    shut: set[DangerousSpot] = set(notes.blocked)
    died = deaths(graph)
    for room, noted in places.items():
        if noted.deadly:
            died.update({(room, way): 1 for way, _ in noted.deadly if (room, way) not in died})
        if noted.dark and not notes.lit and not notes.dares_dark:
            shut.add(room)
    for (room, action), times in died.items():
        unlit = place(room).remembered.get(action) is ActionOutcome.KILLS_UNLIT
        # Where an exit was walked too, something beyond it was the cause; an action that scored as often is worth it.
        survived = graph.connection(room, action) is not None or plan.times(room, action) >= times
        if not ((unlit and notes.lit) or survived):
            shut.add((room, action))
    fled = notes.fled_from.items()
    shut.update(room for room, turns in fled if notes.turn - turns[-1] < _AVOIDED_TURNS * 2 ** (len(turns) - 1))
    return frozenset(shut)
