"""Turn a view of the memory into what a command can refer to, and the things at hand with their states."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from game_interface.core.discovery import DIRECTIONS
from game_interface.core.grammar import property_words, word_addresses
from game_interface.core.observe import ViewReader
from game_interface.core.zmachine import View
from game_interface.models import Item, Language, Observation, Scene
from zorkgpt.memory.claims import STATES, Relation
from zorkgpt.memory.objects import PlacedObject, ThingState


class SceneReader:
    """Reads scenes of one story; what never changes is computed once."""

    def __init__(self, reader: ViewReader, view: View, language: Language) -> None:
        self._reader = reader
        self._words = word_addresses(view.machine)
        self._small = view.machine.header.version <= 3
        self._everywhere = _in_every_room(reader, view, language)
        self._added: dict[int, frozenset[int]] = {}
        """Object → the objects that its properties add to scope."""
        self._named: dict[frozenset[int], Mapping[str, bool]] = {}
        """Attribute numbers → the attributes by name."""

    def scene(self, view: View, now: Observation) -> Scene | None:
        """Return what is in scope; None if the room or the player is not known."""
        profile, room = self._reader.profile, now.location
        if room is None or profile.player is None or now.carried is None:
            return None
        held = frozenset(item.num for item in now.inventory or ())
        carried = frozenset(item.num for item in now.carried)
        here = self._within(view, room.num) - carried - {profile.player}
        numbers, words = self._in_room_properties(view, room.num)
        in_scope = {room.num, profile.player} | self._everywhere | carried | here | numbers
        in_scope.update(*(self._added_to_scope(view, number) for number in carried | here))
        set_attributes = {number: view.attributes(number) for number in in_scope}
        return Scene(
            held=held,
            carried=carried,
            here=here,
            in_scope=frozenset(in_scope),
            words=words,
            attributes={
                number: self._named_attributes(view, number, is_set)
                for number, is_set in set_attributes.items()
                if profile.attributes and number not in (room.num, profile.player)
            },
            set_attributes=set_attributes,
        )

    def things(self, view: View, now: Observation, scene: Scene | None) -> tuple[ThingState, ...]:
        """Return everything visible or carried, and the doors and the like in scope that have a state."""
        room, player = now.location_id, self._reader.profile.player
        carried = {item.num: item for item in now.carried or ()}
        seen = {item.num: item for item in now.visible or ()} | carried
        others = sorted(scene.in_scope - seen.keys() - {room, player}) if scene else ()
        found = [self._thing(view, item, room, item.num in carried) for item in seen.values()]
        for number in others:
            if self._is_shared_scenery(view, number):
                thing = self._thing(view, self._reader.item(view, number), room, False)
                if thing.states and thing.name:
                    found.append(replace(thing, holder_number=None, holder="", on_top=False))
        return tuple(found)

    def all_objects(self, view: View) -> tuple[PlacedObject, ...]:
        """Return every named object, the player and what it carries left out."""
        profile, found = self._reader.profile, []
        for number in range(1, view.machine.object_count + 1):
            name, above = self._reader.name(view, number), view.ancestors(number)
            if not name or profile.player in (number, *above):
                continue
            if profile.rooms_parent:
                # What is not below the rooms' parent is out of play.
                above = above[: above.index(profile.rooms_parent)] if profile.rooms_parent in above else ()
            room = self._reader.place(view, above[-1]) if above and view.name(above[-1]) else None
            named = profile.named_attributes(view, number)
            is_bound = named.get("scenery", False) or named.get("static", False)
            movable = named.get("takeable", False) or (named.get("animate", False) and not is_bound)
            holder = above[0] if len(above) > 1 else None
            found.append(
                PlacedObject(
                    number,
                    name,
                    room.num if room else None,
                    room.name if room else "",
                    holder,
                    movable,
                    tuple(states_of(named)),
                )
            )
        return tuple(found)

    def _is_shared_scenery(self, view: View, number: int) -> bool:
        """Return whether it is a child of no room, as what several rooms share is, and not concealed."""
        return self._reader.is_shared(view, number) and not self._reader.profile.has(view, number, "concealed")

    def _thing(self, view: View, item: Item, room: int | None, carried: bool) -> ThingState:
        profile = self._reader.profile
        named = self._named_attributes(view, item.num, view.attributes(item.num)) if profile.attributes else {}
        held_by = item.parent if item.parent not in (0, room, profile.player) else 0
        return ThingState(
            item.num,
            item.name,
            held_by or None,
            self._reader.name(view, held_by) if held_by else "",
            on_top=bool(held_by) and profile.has(view, held_by, "supporter"),
            carried=carried,
            worn=named.get("worn", False),
            fixed=bool(named) and not named.get("takeable", False),
            alive=named.get("animate", False),
            states=tuple(states_of(named)),
        )

    def _named_attributes(self, view: View, number: int, set_attributes: frozenset[int]) -> Mapping[str, bool]:
        if set_attributes not in self._named:
            self._named[set_attributes] = self._reader.profile.named_attributes(view, number)
        return self._named[set_attributes]

    def _in_room_properties(self, view: View, room: int) -> tuple[set[int], frozenset[str]]:
        """Return the objects and words in the room's properties, where Infocom lists what several rooms share."""
        properties = view.properties(room).values()
        numbers = {number for value in properties for number in value} if self._small else set()
        addresses = (address for value in properties for address in property_words(value))
        return numbers, frozenset(self._words[address] for address in addresses if address in self._words)

    def _added_to_scope(self, view: View, number: int) -> frozenset[int]:
        """Return the objects in an object's properties (`add_to_scope`), where Inform lists parts of it."""
        if self._small:
            return frozenset()
        if number not in self._added:
            values = (property_words(value) for value in view.properties(number).values())
            self._added[number] = frozenset(each for value in values if all(map(view.exists, value)) for each in value)
        return self._added[number]

    def _within(self, view: View, top: int) -> frozenset[int]:
        """Return everything inside at any depth, except in closed containers."""
        profile, left = self._reader.profile, list(view.children(top))
        found: set[int] = set()
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


def _in_every_room(reader: ViewReader, view: View, language: Language) -> frozenset[int]:
    """Return what is in scope everywhere: the directions, and the children of nameless objects outside all rooms."""
    rooms = reader.profile.rooms_parent
    found = {number for way in DIRECTIONS for number in language.names.get(way, ())}
    if not rooms:
        return frozenset(found)
    named = {number for numbers in language.names.values() for number in numbers}
    for number in range(1, view.machine.object_count + 1):
        if view.parent(number) == 0 and number != rooms and number not in named:
            found.update(view.children(number))
    return frozenset(found)


def states_of(named: Mapping[str, bool]) -> Iterator[str]:
    """Yield the states of a thing that can be in more than one, as far as its attributes tell."""
    if named.get("openable") or (named.get("door") and "openable" not in named):
        yield STATES["open"][named.get("open", False)].value
    if named.get("lockable"):
        yield STATES["locked"][named.get("locked", False)].value
    if named.get("switchable") or (named.get("light") and "switchable" not in named):
        yield STATES["on"][named.get("on", False)].value
    elif named.get("light"):
        yield Relation.LIT.value
