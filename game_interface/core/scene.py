"""From a view of the memory to what a sentence can be about."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from game_interface.core.discovery import DIRECTIONS
from game_interface.core.grammar import word_addresses
from game_interface.core.language import pairs
from game_interface.core.observe import Reader
from game_interface.core.zmachine import View
from game_interface.language import Language, Scene
from game_interface.models import Item, Location, Observation, PlacedObject, ThingState


class SceneReader:
    """Reads scenes of one story; what never changes in it is worked out once."""

    def __init__(self, reader: Reader, view: View, language: Language) -> None:
        self._reader = reader
        self._words = word_addresses(view.machine)
        self._small = view.machine.header.version <= 3
        self._everywhere = _everywhere(reader, view, language)
        self._parts: dict[int, frozenset[int]] = {}
        self._meaning: dict[frozenset[int], Mapping[str, bool]] = {}
        """Attributes → what they say by name."""

    def scene(self, view: View, now: Observation) -> Scene | None:
        """What may be meant now; None if the place, the player or the attributes are not known."""
        profile, room = self._reader.profile, now.location
        if room is None or profile.player is None or now.carried is None or not profile.attributes:
            return None
        held = frozenset(item.num for item in now.inventory or ())
        carried = frozenset(item.num for item in now.carried)
        here = self._within(view, room.num) - carried - {profile.player}
        numbers, words = self._mentioned(view, room.num)
        near = {room.num, profile.player} | self._everywhere | carried | here | numbers
        near.update(*(self._added(view, number) for number in carried | here))
        marks = {number: view.attributes(number) for number in near}
        return Scene(
            held=held,
            carried=carried,
            here=here,
            near=frozenset(near),
            words=words,
            attributes={number: self._named(view, number, marks[number]) for number in carried | here},
            marks=marks,
        )

    def things(self, view: View, now: Observation, scene: Scene | None) -> tuple[ThingState, ...]:
        """Everything in sight or in hand, and beside it the doors and the like that are at hand, with their states."""
        room, player = now.location.num if now.location else None, self._reader.profile.player
        carried = {item.num: item for item in now.carried or ()}
        seen = {item.num: item for item in now.visible or ()} | carried
        beside = sorted(scene.near - seen.keys() - {room, player}) if scene else ()
        found = [self._thing(view, item, room, item.num in carried) for item in seen.values()]
        for number in beside:
            if self._is_shared_scenery(view, number):
                thing = self._thing(view, self._reader.item(view, number), room, False)
                if thing.states and thing.item.name:
                    found.append(replace(thing, holder=None, on_top=False))
        return tuple(found)

    def all_objects(self, view: View) -> tuple[PlacedObject, ...]:
        """Return every named object, the player and what it carries left out."""
        profile, found = self._reader.profile, []
        for number in range(1, view.machine.object_count + 1):
            item, above = self._reader.item(view, number), view.ancestors(number)
            if not item.name or profile.player in (number, *above):
                continue
            if profile.rooms_parent:
                # What is not below the rooms' parent is out of play.
                above = above[: above.index(profile.rooms_parent)] if profile.rooms_parent in above else ()
            room = Location(above[-1], view.name(above[-1])) if above and view.name(above[-1]) else None
            named = profile.named_attributes(view, number)
            movable = named.get("takeable", False) or named.get("animate", False)
            holder = above[0] if len(above) > 1 else None
            found.append(PlacedObject(item, room, holder, movable, tuple(_states(named))))
        return tuple(found)

    def _is_shared_scenery(self, view: View, number: int) -> bool:
        """Whether it is kept out of all rooms, as what is found in several of them is, and is not hidden."""
        profile, above = self._reader.profile, view.ancestors(number)
        in_a_room = profile.rooms_parent in above if profile.rooms_parent else bool(above)
        return bool(above) and not in_a_room and not profile.has(view, number, "concealed")

    def thing(self, view: View, number: int, now: Observation) -> ThingState:
        """One object, wherever it is."""
        room, carried = now.location.num if now.location else None, {item.num for item in now.carried or ()}
        return self._thing(view, self._reader.item(view, number), room, number in carried)

    def _thing(self, view: View, item: Item, room: int | None, carried: bool) -> ThingState:
        profile = self._reader.profile
        named = self._named(view, item.num, view.attributes(item.num)) if profile.attributes else {}
        held_by = item.parent if item.parent not in (0, room, profile.player) else 0
        return ThingState(
            item,
            self._reader.item(view, held_by) if held_by else None,
            bool(held_by) and profile.has(view, held_by, "supporter"),
            carried,
            bool(named) and not named.get("takeable", False),
            named.get("animate", False),
            tuple(_states(named)),
        )

    def _named(self, view: View, number: int, marks: frozenset[int]) -> Mapping[str, bool]:
        if marks not in self._meaning:
            self._meaning[marks] = self._reader.profile.named_attributes(view, number)
        return self._meaning[marks]

    def _mentioned(self, view: View, room: int) -> tuple[set[int], frozenset[str]]:
        """Numbers and words in the room's own properties: Infocom's way to tell what several rooms have in common."""
        properties = view.properties(room).values()
        numbers = {number for value in properties for number in value} if self._small else set()
        addresses = (address for value in properties for address in pairs(value))
        return numbers, frozenset(self._words[address] for address in addresses if address in self._words)

    def _added(self, view: View, number: int) -> frozenset[int]:
        """What an object's properties name: Inform's way to put parts of it within reach."""
        if self._small:
            return frozenset()
        if number not in self._parts:
            values = (pairs(value) for value in view.properties(number).values())
            self._parts[number] = frozenset(one for value in values if all(map(view.exists, value)) for one in value)
        return self._parts[number]

    def _within(self, view: View, top: int) -> frozenset[int]:
        """What is inside at any depth, but for what is shut away in a closed container."""
        profile, left, found = self._reader.profile, list(view.children(top)), set()
        container, shows = profile.numbers_of("container"), profile.numbers_of("open", "transparent", "supporter")
        while left:
            number = left.pop()
            if number in found:
                continue
            found.add(number)
            if inside := view.children(number):
                is_set = view.attributes(number)
                shut = container & is_set and not shows & is_set
                if not shut or profile.player in inside:
                    left += inside
        return frozenset(found)


def _everywhere(reader: Reader, view: View, language: Language) -> frozenset[int]:
    """What is at hand in every room: the directions, and what is in nameless objects that are nowhere and no rooms."""
    rooms = reader.profile.rooms_parent
    found = {number for way in DIRECTIONS for number in language.names.get(way, ())}
    if not rooms:
        return frozenset(found)
    named = {number for numbers in language.names.values() for number in numbers}
    for number in range(1, view.machine.object_count + 1):
        if view.parent(number) == 0 and number != rooms and number not in named:
            found.update(view.children(number))
    return frozenset(found)


def _states(named: Mapping[str, bool]) -> Iterator[str]:
    """What the attributes, as far as their meaning is known, say of a thing that can be in more than one state."""
    if named.get("openable") or (named.get("door") and "openable" not in named):
        yield "open" if named.get("open") else "closed"
    if named.get("lockable"):
        yield "locked" if named.get("locked") else "unlocked"
    if named.get("switchable") or (named.get("light") and "switchable" not in named):
        yield "lit" if named.get("on") else "unlit"
    elif named.get("light"):
        yield "lit"
