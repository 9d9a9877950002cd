"""The view of a turn that the behaviors of the rules player share."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import takewhile
from typing import NamedTuple

from game_interface.models import Item, Language, Scene
from zorkgpt.action_check import check_action
from zorkgpt.directions import canonical_direction
from zorkgpt.memory.claims import Relation
from zorkgpt.memory.models import Persistence
from zorkgpt.memory.retrieval import Recall
from zorkgpt.offline.nouns import Nouns
from zorkgpt.offline.outcomes import ActionOutcome, is_dark_place, is_deadly_company, remembered_outcome
from zorkgpt.offline.phrases import is_dark
from zorkgpt.player import PlayerContext
from zorkgpt.record.experience import ActionResult, Experience, ExperienceRow, Place
from zorkgpt.text import normalized_action
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import PLACE_KILLS
from zorkgpt.world.routes import DangerousSpot, Routes
from zorkgpt.world.tries import things_seen, tries_at

SOMEWHERE = 0
"""The number of an unknown location. No object has it."""
_ENOUGH_SAFE_WALKS = 3
"""The number of safe walks for each death on an exit after which the exit is no danger."""
CARRIED = "carried"
"""The place of carried things."""
_NOTHING = Experience()
_CHANGES = ActionResult.EFFECTIVE | ActionResult.ALTERED
_ORDER = list(ActionOutcome)
_OPENS_A_MENU = frozenset({"help", "hint", "hints", "info", "about"})
"""Commands that open a menu in many stories."""


class Offer(NamedTuple):
    """An action that may be tried at a place."""

    cost: float
    """In steps of a walk."""
    action: str
    kind: str
    """What it is, as the player's reason for it."""


@dataclass(frozen=True)
class PlaceView:
    """What is known about a place."""

    room: int
    now: Mapping[str, Sequence[ExperienceRow]]
    """Action → its rows here in this episode."""
    before: Mapping[str, Sequence[ExperienceRow]]
    """Action → its rows here in earlier episodes."""
    failed_before: Mapping[str, str]
    """Actions that had no effect here in earlier episodes → the response."""
    remembered: Mapping[str, ActionOutcome]
    """Action → its outcome here according to the memories, in the order in which they were learned."""
    things: tuple[Item, ...]
    """The things that were last seen here, without those that the player carries or has seen elsewhere since."""


@dataclass(frozen=True)
class TurnView:
    """One turn: what the player is told, and what was recorded before."""

    context: PlayerContext
    graph: MapGraph
    recall: Recall
    hidden_at: Recall
    """Returns the memories of a place that a person has hidden."""
    experience: Experience
    """What the actions of this episode led to, and those of earlier ones."""
    nouns: Nouns
    language: Language | None
    """The story's grammar; None if unknown or unused."""
    scene: Scene | None
    """The things in scope; None if unknown or unused."""
    attributes: Callable[[int], Mapping[str, bool]]
    """Returns the attributes of a thing whose meaning in this story is known."""
    seed: int
    offers: Sequence["OfferSource"] = ()
    """Yield the actions that can be tried at a place."""
    rejected: frozenset[str] = frozenset()
    """The actions that were proposed for this turn and rejected."""

    @property
    def here(self) -> int:
        """The number of the location."""
        return self.context.observation.location_id or SOMEWHERE

    @property
    def earlier(self) -> Experience:
        """What the actions of earlier episodes led to."""
        return self.experience.earlier or _NOTHING

    @cached_property
    def place(self) -> PlaceView:
        """What is known about the location."""
        return self.place_at(self.here)

    def place_at(self, room: int) -> PlaceView:
        """Return what is known about a place."""
        return PlaceView(
            room,
            now=self.experience.tries(room),
            before=self.earlier.tries(room),
            failed_before=_failed_at(self.earlier, len(self.earlier.rows), room),
            remembered=self.remembered_at(room),
            things=self._things.get(room, ()),
        )

    @cached_property
    def _things(self) -> dict[Place, tuple[Item, ...]]:
        return things_seen(self.experience, self.context.observation)

    @cached_property
    def tried(self) -> frozenset[str]:
        """The actions of this episode, at any place."""
        return frozenset(row.action for row in self.experience.rows)

    @cached_property
    def since_change(self) -> frozenset[tuple[Place, str]]:
        """The places and actions of the turns since an object was last moved or changed, including that one."""
        rows = self.experience.rows
        affecting = (at for at in range(len(rows) - 1, -1, -1) if rows[at].shows(ActionResult.AFFECTED))
        return frozenset((row.place, row.action) for row in rows[next(affecting, 0) :])

    def is_dark(self, room: int) -> bool:
        """Return whether it is too dark to see at a place, as far as is known."""
        if room == self.here:
            return self.context.observation.dark or is_dark(self.context.response)
        last = self.experience.latest.get(room)
        return last is not None and last.shows(ActionResult.DARK) and not self.has_light

    @cached_property
    def _verbs(self) -> tuple[Counter[str], Counter[str]]:
        """How often each verb was tried and how often it worked, at any place in all episodes."""
        tries, worked = Counter[str](), Counter[str]()
        for action, outcomes in self.experience.outcomes.items():
            verb = action.partition(" ")[0]
            tries[verb] += outcomes.total()
            worked[verb] += sum(times for outcome, times in outcomes.items() if outcome & ActionResult.WORKED)
        return tries, worked

    def promise(self, action: str) -> float:
        """Return an estimate of how often the verb of an action works, from 0 to 1."""
        tries, worked = (counts[action.partition(" ")[0]] for counts in self._verbs)
        return (worked + 0.5) / (tries + 1)

    @property
    def has_light(self) -> bool:
        """Whether the player carries something that is lit."""
        return any(thing.carried and Relation.LIT in thing.states for thing in self.context.things)

    @cached_property
    def text(self) -> str:
        """The description of the place, if it is known, and the last response."""
        return "\n".join(filter(None, (self.context.room_description, self.context.response)))

    @cached_property
    def _remembered(self) -> dict[int, dict[str, ActionOutcome]]:
        return {}

    def remembered_at(self, place: int) -> dict[str, ActionOutcome]:
        """Return action → its worst outcome at a place according to the memories."""
        if place not in self._remembered:
            outcomes = self._remembered[place] = dict[str, ActionOutcome]()
            for action, outcome in filter(None, map(remembered_outcome, self.recall(place))):
                outcomes[action] = min(outcomes.get(action, outcome), outcome, key=_ORDER.index)
        return self._remembered[place]

    def is_hidden(self, place: int, action: str) -> bool:
        """Return whether a person has hidden the memory of an action."""
        return any(memory.action and normalized_action(memory.action) == action for memory in self.hidden_at(place))

    def is_open(self, action: str, place: PlaceView | None = None) -> bool:
        """Return whether an action may be taken: the parser accepts it, and it neither failed nor killed.

        Args:
            place: Where. Defaults to here.
        """
        place = place or self.place
        if action.partition(" ")[0] in _OPENS_A_MENU or (place.room, action) in self.shut:
            return False
        is_refused = canonical_direction(action) is None and self.experience.count(action, ActionResult.REFUSED)
        if is_refused or self.is_hidden(place.room, action):
            return False
        if place.room != self.here:
            return check_action(action, self.language, self._scene_at(place)).valid
        if action in self.rejected or action in map(normalized_action, self.context.failed_here):
            return False
        answering = "?" in self.context.response
        return check_action(action, self.language, self.scene, answering=answering).valid

    def _scene_at(self, place: PlaceView) -> Scene | None:
        """Return what a command could refer to at another place."""
        if self.scene is None:
            return None
        here = frozenset(thing.num for thing in place.things)
        in_scope = here | self.scene.carried
        attributes = {number: self.attributes(number) for number in in_scope}
        return Scene(self.scene.held, self.scene.carried, here, in_scope, attributes=attributes)

    def rank(self, action: str) -> bytes:
        """Return a key that sorts equally promising actions. It depends on the seed."""
        return blake2b(f"{self.seed} {action}".encode(), digest_size=8).digest()

    @cached_property
    def shut(self) -> frozenset[DangerousSpot]:
        """The rooms and exits that must not be entered now: deadly, dark or closed ones."""
        return frozenset((*self._deadly(), *self._closed()))

    @cached_property
    def routes(self) -> Routes:
        """Every place that can be reached without these → the exits to take."""
        return self.graph.routes(self.here, dangers=self.shut)

    def open_exits(self) -> list[str]:
        """Return the exits that may be taken from here, the ways back last."""
        exits = {**self.graph.exits(self.here), **self.graph.ways_back(self.here)}
        return [way for way, to in exits.items() if to not in self.shut and self.is_open(way)]

    def _deadly(self) -> Iterator[DangerousSpot]:
        safe = {ActionOutcome.KILLS_UNLIT} if self.has_light else set()
        survivable: set[DangerousSpot] = set()
        for room in self.graph.rooms:
            memories = self.recall(room)
            if any(map(is_deadly_company, memories)):
                yield room
            unlit = any(memory.persistence is Persistence.CORE and is_dark_place(memory) for memory in memories)
            if unlit and not self.has_light:
                yield room
            for action, outcome in self.remembered_at(room).items():
                if outcome in safe:
                    survivable.add((room, action))
                elif outcome in (ActionOutcome.KILLS, ActionOutcome.KILLS_UNLIT):
                    yield room, action
        for room, way in self.graph.moves.deadly:
            connection = self.graph.connections.get(room, way)
            is_survived = connection is not None and connection.walks >= _ENOUGH_SAFE_WALKS
            if not is_survived and (room, way) not in survivable:
                yield room if way == PLACE_KILLS else (room, way)

    def _closed(self) -> Iterator[DangerousSpot]:
        """Yield the exits that led nowhere on the last try, if nothing has changed since."""
        for row in takewhile(lambda row: not row.shows(_CHANGES), reversed(self.experience.rows)):
            if row.stayed and isinstance(row.place, int) and self._is_exit(row.place, row.action):
                yield row.place, row.action

    def _is_exit(self, room: int, action: str) -> bool:
        return canonical_direction(action) is not None or action in self.graph.connections.of(room)


@lru_cache(maxsize=1000)
def _failed_at(experience: Experience, rows: int, place: Place) -> Mapping[str, str]:
    """Return the actions that had no effect at a place, with the responses.

    Args:
        rows: The number of rows of the experience.
    """
    return tries_at(experience, place).failed


OfferSource = Callable[[TurnView, PlaceView], Iterable[Offer]]
