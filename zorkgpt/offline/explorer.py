"""A player without a language model: it counts what it tried where, and goes where something is left to try.

Its rules are the same for every game. It scores far below a model that reads; it is there so that everything else can
be run, tested and measured without one.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Protocol

from game_interface.language import Language, Scene
from zorkgpt.action_check import check_action
from zorkgpt.memory.models import Memory
from zorkgpt.offline.candidates import COST, Tier, candidates
from zorkgpt.offline.mind import LastTurn, Mind
from zorkgpt.offline.notes import PlaceNotes
from zorkgpt.offline.nouns import Nouns
from zorkgpt.offline.phrases import Outcome, is_dark, normal
from zorkgpt.offline.reflexes import ballast, blow, is_stuck_aboard, learn_of_last, names_of_held
from zorkgpt.player import AgentDecision, PlayerContext
from zorkgpt.world.directions import canonical_direction, directions_in
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.routes import Danger

Recall = Callable[[int], Iterable[Memory]]
"""Location → what is remembered of it and still believed."""

_PUT_AWAY = 1.0
"""Of putting a thing that was worth points into something that may be its place."""
_CLEARING = ("open ", "push ", "pull ", "unlock ")
"""What may clear a way."""
_OF_CARRIED = ("turn on ", "read ", "examine ")
"""What fails with a thing that is carried fails wherever it is tried."""
_ONCE = (Tier.INSPECT, Tier.HANDLE, Tier.LIGHT, Tier.COMBINE)
"""What is not tried again elsewhere with things of the same name."""


class Senses(Protocol):
    """What the Z-machine tells of the words and things at hand."""

    @property
    def language(self) -> Language | None: ...

    def scene(self) -> Scene | None: ...


class OfflineExplorer:
    """A `Player` that follows game-independent rules.

    Args:
        graph: the map, kept up to date by the turn loop.
        recall: what is remembered of a place; None to play from this episode's experience alone.
        senses: keeps it from proposing what the story's own grammar and objects rule out; None: it proposes all.
    """

    def __init__(self, graph: MapGraph, recall: Recall | None = None, senses: Senses | None = None) -> None:
        self._graph = graph
        self._recall = recall or (lambda location_id: ())
        self._senses = senses
        self._nouns: Nouns | None = None
        self._forget()

    def _forget(self) -> None:
        self._mind = Mind()
        self._notes: dict[int, PlaceNotes] = {}
        self._blocked: set[tuple[int, str]] = set()
        self._done_everywhere: set[str] = set()
        self._touched: set[int] = set()
        self._newly_done: list[str] = []
        self._scene_of: tuple[int, Scene | None] = (0, None)

    def _begin(self) -> None:
        self._forget()
        for room in self._graph.rooms:
            self._notes_of(room)

    # What a resumed episode gives back

    def changed_notes(self) -> dict[str, Any]:
        changed = {
            "mind": self._mind.to_dict(),
            "blocked": sorted(self._blocked),
            "done_everywhere": self._newly_done,
            "places": {str(room): self._notes[room].to_dict() for room in sorted(self._touched)},
        }
        self._touched, self._newly_done = set(), []
        return changed

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        self._forget()
        for changed in notes:
            self._mind = Mind.from_dict(changed["mind"])
            self._blocked = {(room, way) for room, way in changed["blocked"]}
            self._done_everywhere.update(changed["done_everywhere"])
            self._notes.update((int(room), PlaceNotes.from_dict(each)) for room, each in changed["places"].items())

    # Playing

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        here = self._look_round(context)
        if here is None:
            return AgentDecision("look", "The story does not tell where this is.")
        decision = self._react(here, context) or self._choose(here, context)
        self._remember(here, decision.action, context)
        return decision

    def look_on(self, context: PlayerContext, action: str) -> None:
        """Another one plays this turn: what it does is done."""
        here = self._look_round(context)
        if here is not None:
            self._do(here, normal(action))
            self._remember(here, action, context)

    def _remember(self, here: int, action: str, context: PlayerContext) -> None:
        now = context.observation
        self._mind.last = LastTurn(here, normal(action), now.score, now.vehicle is not None)

    # Taking in

    def _look_round(self, context: PlayerContext) -> int | None:
        """Take in a turn's context; the number of the place, if the story tells."""
        if context.turn <= self._mind.turn and context.refused is None:
            self._begin()
        again = context.turn == self._mind.turn
        self._mind.turn = context.turn
        where = context.observation.location
        if where is None:
            return None
        if self._nouns is None:
            self._nouns = Nouns(frozenset(context.vocabulary), self._senses.language if self._senses else None)
        if not again:
            self._learn_of_last(where.num, context)
        self._take_in(where.num, context)
        return where.num

    def _learn_of_last(self, here: int, context: PlayerContext) -> None:
        held = names_of_held(context.observation, self._nouns)
        learn_of_last(self._mind, here, context, held)
        last = self._mind.last
        if last is not None and here == last.place:
            notes, in_vain = self._notes_of(here), last.action in map(normal, context.failed_here)
            if in_vain:
                notes.refusals[last.action] = context.response
            (notes.in_vain.add if in_vain else notes.in_vain.discard)(last.action)

    def _take_in(self, here: int, context: PlayerContext) -> None:
        """Bring the notes of this place up to date."""
        if self._mind.walking and self._mind.walking[0] == here:
            self._blocked.add(self._mind.walking)
        self._mind.walking = None
        notes = self._notes_of(here)
        self._touched.add(here)
        notes.learn(self._recall(here))
        if context.changed:
            named = (self._nouns.name(item) or "" for item in context.changed)
            action = self._mind.last.action if self._mind.last else ""
            # What it cleared in an earlier episode was found out then.
            ways = action.startswith(_CLEARING) and action not in notes.known_before
            notes.reopen(chain.from_iterable(noun.split() for noun in named), ways=ways)
            self._blocked = {way for way in self._blocked if way[0] != here}
        self._see(here, notes, context)

    def _see(self, here: int, notes: PlaceNotes, context: PlayerContext) -> None:
        """What there is at this place, and what it offers to try."""
        now, scene, last = context.observation, self._scene(), self._mind.last
        text = "\n".join(filter(None, (context.room_description, context.response)))
        if last is None or canonical_direction(last.action) or last.place != here:
            seen = (*(now.visible or ()), *(now.carried or ()))
            notes.mentioned |= dict.fromkeys(self._nouns.mentioned(text, scene, seen))
        self._mind.held = names_of_held(now, self._nouns)
        if is_dark(context.response):
            notes.dark = True
            self._mind.lamp = None
            self._mind.in_the_dark = here
        elif self._mind.in_the_dark != here:
            self._mind.in_the_dark = None
        self._mind.holders[here] = list(self._holders(context, scene))
        room, name = self._graph.rooms.get(here), now.location.name if now.location else ""
        named = {*(room.exits if room else ()), *directions_in(text.replace(name, ""))}
        named |= {"up", "down"}.intersection(text.lower().split())
        traits = scene.attributes if scene else None
        offers = candidates(
            now, self._nouns, named=named, mentioned=notes.mentioned, locked=notes.locked, traits=traits
        )
        walked = self._graph.exits(here)
        notes.offer(one for one in offers if one.action not in walked and one.action not in self._done_everywhere)

    def _holders(self, context: PlayerContext, scene: Scene | None) -> Iterable[str]:
        """What stands here that a thing can be put into or onto."""
        for item in context.observation.visible or () if scene else ():
            told, name = scene.attributes.get(item.num, {}), self._nouns.name(item)
            if not name or told.get("takeable") or told.get("animate"):
                continue
            if told.get("container") and told.get("open"):
                yield f"in {name}"
            elif told.get("supporter"):
                yield f"on {name}"

    def _scene(self) -> Scene | None:
        """What is at hand on this turn."""
        if self._senses is not None and self._scene_of[0] != self._mind.turn:
            self._scene_of = self._mind.turn, self._senses.scene()
        return self._scene_of[1]

    # Choosing

    def _react(self, here: int, context: PlayerContext) -> AgentDecision | None:
        """What can't wait."""
        mind, scene = self._mind, self._scene()
        fatal = [action for action, came in self._notes_of(here).remembered.items() if came is Outcome.KILLS]
        if strike := blow(mind, context, self._nouns, scene, fatal):
            return AgentDecision(strike, "Somebody here means harm, and there is something to fight with.")
        if mind.take_back is not None:
            return AgentDecision(f"take {mind.take_back}", "It was not worth anything there.")
        if is_stuck_aboard(mind, here, context):
            self._blocked = {one for one in self._blocked if one[0] != here}
            self._notes_of(here).unmark(mind.last.action)
            return AgentDecision("out", "This vehicle does not go there: out of it.")
        if useless := ballast(mind, context, self._nouns, scene):
            mind.given_up.add(useless)
            self._notes_of(here).unmark(mind.wanted, reopened=True)
            return AgentDecision(f"drop {useless}", "Too much is carried, and this was good for nothing yet.")
        return self._leave_the_dark(here, context) if mind.in_the_dark == here and not mind.lit else None

    def _leave_the_dark(self, here: int, context: PlayerContext) -> AgentDecision | None:
        notes = self._notes_of(here)
        for noun in self._mind.held:
            action = f"turn on {noun}"
            if action in notes.offered and action not in notes.done and self._sensible(action, context):
                self._do(here, action)
                return AgentDecision(action, "It is dark here.")
        for way in self._open_ways(here):
            return AgentDecision(way, "It is dark here, and nothing gives light: to where it is not.")
        back = self._mind.way_back
        if back and back not in notes.done and back not in notes.refusals:
            notes.mark(back)
            return AgentDecision(back, "It is dark here, and nothing gives light: back.")
        return None

    def _choose(self, here: int, context: PlayerContext) -> AgentDecision:
        """The cheapest thing left to try, the walk there included."""
        while best := self._best(here):
            _, action, room, route = best
            notes = self._notes_of(room)
            if route:
                self._mind.walking = (here, route[0])
                name = self._graph.rooms[room].name if room in self._graph.rooms else str(room)
                return AgentDecision(route[0], f"On the way to {name}, where {action!r} is left to try.")
            self._do(here, action)
            if self._sensible(action, context):
                return AgentDecision(action, self._why(notes, action))
        return self._wander(here, context.observation.vehicle is not None)

    def _best(self, here: int) -> tuple[float, str, int, list[str]] | None:
        """What is left to try with what it costs, its place and the way there; of several, in the nearest place."""
        best = self._cheaper(here, [], None)
        # Nothing elsewhere is cheaper than a single step.
        if best is None or best[0] > 1:
            for room, route in self._graph.routes(here, dangers=self._shut()).items():
                if best is None or len(route) < best[0]:
                    best = self._cheaper(room, route, best)
        return best

    def _cheaper(
        self, room: int, route: list[str], best: tuple[float, str, int, list[str]] | None
    ) -> tuple[float, str, int, list[str]] | None:
        for cost, action in self._prospects(room):
            if best is None or cost + len(route) < best[0]:
                best = cost + len(route), action, room, route
        return best

    def _do(self, here: int, action: str) -> None:
        notes = self._notes_of(here)
        notes.mark(action)
        self._touched.add(here)
        held = action.startswith("open ") and action.removeprefix("open ") in self._mind.held
        if held or notes.offered.get(action) in _ONCE:
            self._done_everywhere.add(action)
            self._newly_done.append(action)

    def _sensible(self, action: str, context: PlayerContext) -> bool:
        if self._senses is None:
            return True
        return check_action(action, self._senses.language, self._scene(), answering="?" in context.response).valid

    def _prospects(self, room: int) -> Iterable[tuple[float, str]]:
        notes, mind = self._notes_of(room), self._mind
        for cost, action in notes.left:
            if action.removeprefix("take ") not in mind.given_up:
                yield cost, action
                break
        if not notes.visited:
            yield COST[Tier.NAMED_EXIT], "look around"
        for holder in mind.holders.get(room, ()):
            for noun in mind.held:
                action = f"put {noun} {holder}"
                in_vain = action in notes.done or notes.remembered.get(action) is Outcome.FAILS
                if noun in mind.valued - mind.useful and not in_vain:
                    yield _PUT_AWAY, action

    def _notes_of(self, room: int) -> PlaceNotes:
        if room not in self._notes:
            notes = self._notes[room] = PlaceNotes()
            self._touched.add(room)
            notes.learn(self._recall(room))
            notes.known_before = frozenset(notes.remembered)
            for action, outcome in notes.remembered.items():
                if outcome is Outcome.SCORES and action.startswith("take "):
                    self._mind.valued.add(action.removeprefix("take "))
                if outcome is Outcome.FAILS and action.startswith(_OF_CARRIED):
                    self._done_everywhere.add(action)
                    self._newly_done.append(action)
        return self._notes[room]

    def _shut(self) -> frozenset[Danger]:
        """Ways that are not to be taken now, and places that are not to be gone to."""
        for room in self._graph.rooms:
            self._notes_of(room)
        lit, shut = self._mind.lit, set(self._blocked)
        for room, notes in self._notes.items():
            if notes.deadly:
                shut.update((room, way) for way, came in notes.deadly if came is Outcome.KILLS or not lit)
            if notes.dark and not lit:
                shut.add(room)
        return frozenset(shut)

    def _open_ways(self, here: int) -> list[str]:
        shut = self._shut()
        return [way for way, to in self._graph.exits(here).items() if (here, way) not in shut and to not in shut]

    def _wander(self, here: int, aboard: bool) -> AgentDecision:
        """Nothing is left to try anywhere: take the way that was taken least, or wait."""
        ways = self._open_ways(here)
        if ways:
            way = ways[self._mind.turn % len(ways)]
            self._mind.walking = (here, way)
            return AgentDecision(normal(way), "Nothing is left to try; walking on.")
        return AgentDecision("out" if aboard else "wait", "Nothing is left to try.")

    @staticmethod
    def _why(notes: PlaceNotes, action: str) -> str:
        remembered = notes.remembered.get(action)
        if remembered is None:
            tier = notes.offered.get(action)
            kind = tier.name.lower().replace("_", " ") if tier is not None else "put away"
            return f"Not tried here yet ({kind})."
        if action in notes.reopened:
            return "It failed before, but something about it has changed."
        return f"Memory says that it {remembered}."
