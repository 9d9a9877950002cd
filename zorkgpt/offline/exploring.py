"""Find the cheapest untried action. The cost depends on its kind, the walk and the danger."""

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from zorkgpt.directions import canonical_direction
from zorkgpt.offline import dangers
from zorkgpt.offline.candidates import COST, Tier
from zorkgpt.offline.notes import PlaceNotes
from zorkgpt.offline.offers import tools_wanted
from zorkgpt.offline.view import TurnView
from zorkgpt.player import AgentDecision
from zorkgpt.text import normalized_action
from zorkgpt.world.routes import DangerousSpot

_PUT_COST = 1.0
"""The cost of putting a scoring thing into a holder that may be the right one."""
_PROVEN_COST = -10.0
"""The cost of putting a scoring thing where other things have scored. It is worth a walk."""
_DANGER_COSTS = ((0, 0.0), (2, 15.0), (sys.maxsize, 40.0))
"""Pairs: maximum deaths at a place or on the way to it, and the cost of these."""
_KNOWN_STEP_COST = 0.25
"""The cost of a step after the first episode, when most actions near the start have been tried."""


_AGAIN = "Nothing is left to try for the first time; again, in another state of the world"


class Choice(NamedTuple):
    """An untried action with its cost."""

    cost: float
    action: str
    room: int
    route: list[str]
    """The exits to take from here to the room."""


def explore(turn: TurnView) -> AgentDecision | None:
    """Try untried actions, which may score: the most promising and nearest first, dangerous ones last."""
    notes, failed = turn.notes, frozenset(map(normalized_action, turn.context.failed_here))
    while best := _ActionSearch(turn).best():
        place = turn.episode.place(best.room)
        if best.route:
            notes.walking, notes.target = (turn.here, best.route[0]), (best.room, best.action)
            name = turn.graph.rooms[best.room].name if best.room in turn.graph.rooms else str(best.room)
            if best.action in place.before:
                return AgentDecision(best.route[0], f"{_AGAIN}: {best.action!r} at {name}.")
            return AgentDecision(best.route[0], f"On the way to {name}, where {best.action!r} is left to try.")
        turn.mark_done(best.action)
        # Try an action from a memory once, even if the check rejects it.
        is_target = notes.target == (turn.here, best.action) and best.action in place.remembered
        if is_target:
            notes.target = None
        if best.action in failed:
            continue
        if turn.is_valid(best.action) or is_target:
            return AgentDecision(best.action, _reason(place, best.action))
    return None


class _ActionSearch:
    def __init__(self, turn: TurnView) -> None:
        self._turn = turn
        self._past = turn.episode.past
        self._deadly_walks = dangers.deadly_walks(turn.graph)
        self._postponed = turn.postponed
        self._step_cost = _KNOWN_STEP_COST if turn.episode.past.earlier.rows else 1.0

    @cached_property
    def _shut(self) -> frozenset[DangerousSpot]:
        return self._turn.episode.closed()

    def best(self) -> Choice | None:
        """Return the cheapest untried action. Of several, return the nearest."""
        turn, step = self._turn, self._step_cost
        best = self._cheaper(turn.here, [], None)
        least = _PROVEN_COST if self._past.holders and turn.notes.valued.intersection(turn.notes.held) else 0
        # Actions elsewhere cost at least one step, except for scoring things.
        if best is None or best.cost > step + least:
            reached = {turn.here}
            for deaths, cost in _DANGER_COSTS:
                feared = dangers.dangerous_rooms(turn.graph, turn.episode.plan, deaths)
                for room, route in turn.graph.routes(turn.here, dangers=self._shut | feared).items():
                    if room not in reached and (best is None or step * len(route) + cost + least < best.cost):
                        best = self._cheaper(room, route, best, cost)
                    reached.add(room)
        return best

    def _cheaper(self, room: int, route: list[str], best: Choice | None, danger: float = 0) -> Choice | None:
        walk = self._step_cost * len(route) + danger
        options = self._options(room, elsewhere=bool(route))
        if route and (best is None or COST[Tier.TOOL] + walk < best.cost):
            options = chain(options, self._bring(room))
        for cost, action in options:
            cost += self._risk(room, action) + walk
            if best is None or cost < best.cost:
                best = Choice(cost, action, room, route)
        return best

    def _risk(self, room: int, action: str) -> float:
        """Return the cost of the danger of an untried exit, from all places with the same name."""
        rooms = self._turn.graph.rooms
        if room not in rooms or not canonical_direction(action):
            return 0
        deadly = self._deadly_walks[rooms[room].name]
        return next(cost for most, cost in _DANGER_COSTS if deadly <= most)

    def _options(self, room: int, *, elsewhere: bool) -> Iterable[tuple[float, str]]:
        place, notes = self._turn.episode.place(room), self._turn.notes
        idle = {f"take {thing}" for thing in notes.given_up}
        if elsewhere:
            idle |= place.portable
        idle |= {action for where, action in self._postponed if where == room}
        walked = {way for way in self._turn.graph.exits(room) if place.tries.times(way)}
        if not elsewhere and notes.target and notes.target[0] == room and notes.target[1] in place.remembered:
            # The memory that led the player here is tested first.
            yield 0.0, notes.target[1]
        left = (option for option in place.left if option[1] not in idle | walked)
        yield from islice(left, 1)
        # The cheapest option may be a dangerous exit, so offer another one.
        yield from islice((option for option in left if not canonical_direction(option[1])), 1)
        if not place.visited and room not in self._past.left:
            yield COST[Tier.HANDLE], "look around"
        yield from self._put_away(room)
        yield from self._random_exits(room)

    def _random_exits(self, room: int) -> Iterator[tuple[float, str]]:
        """Yield the exits that may lead to yet another place, because chance decides where they end."""
        graph = self._turn.graph
        for way in graph.exits(room):
            connection = graph.connections.get(room, way)
            walks = list(connection.ends.values()) if connection else []
            # Good-Turing estimate: the rate of new places is the share of walks to places seen once.
            if len(walks) > 1 and 1 in walks and (room, way) not in self._shut and self._is_possible(room, way):
                yield COST[Tier.NAMED_EXIT] * sum(walks) / walks.count(1), way

    def _is_possible(self, room: int, way: str) -> bool:
        turn = self._turn
        return room != turn.here or (turn.is_valid(way) and way not in map(normalized_action, turn.context.failed_here))

    def _put_away(self, room: int) -> Iterator[tuple[float, str]]:
        """Yield the actions that put scoring things where things scored before, or into other holders."""
        place, notes = self._turn.episode.place(room), self._turn.notes
        known = self._past.holders
        proven = known.get(room, ())
        holders = notes.holders.get(room) or sorted(proven)
        for noun in notes.held if holders else ():
            for holder in holders:
                if noun in notes.valued - notes.useful and place.is_fresh(action := f"put {noun} {holder}"):
                    # If no holder has scored yet, any may be the right one.
                    unproven = COST[Tier.HANDLE] if known else _PUT_COST
                    yield _PROVEN_COST if holder in proven else unproven, action

    def _bring(self, room: int) -> Iterator[tuple[float, str]]:
        """Yield actions for earlier refusals: with a key, with a carried thing that a refusal names, or with a word."""
        place, episode, notes = self._turn.episode.place(room), self._turn.episode, self._turn.notes
        carried = self._turn.context.observation.carried or ()
        keys = (f"unlock {lock} with {key}" for lock in place.locked for key in notes.held)
        tools = (f"use {tool}" for _, tool in tools_wanted(place, episode.nouns, carried))
        yield from ((COST[Tier.TOOL], action) for action in chain(keys, tools) if place.is_fresh(action))
        passwords = [action for word in episode.words if place.is_fresh(action := f"say {word}")]
        if passwords and episode.is_barred(room):
            yield from ((COST[Tier.TOOL], action) for action in passwords)


def _reason(place: PlaceNotes, action: str) -> str:
    if action in place.before:
        return f"{_AGAIN}."
    remembered = place.remembered.get(action)
    if remembered is None:
        if action in place.tries.barren:
            return "It did not score here in earlier episodes, but may in another state of the world."
        tier = place.offered.get(action)
        kind = tier.name.lower().replace("_", " ") if tier is not None else "put away"
        return f"Not tried here yet ({kind})."
    if action in place.reopened:
        return "It failed before, but something about it has changed."
    return f"Memory says that it {remembered}."
