"""Turn a view of the memory into a scene, the states of things, and the objects of the world."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from game_interface.core.grammar import property_words, word_addresses
from game_interface.core.observe import ViewReader
from game_interface.core.zmachine import View
from game_interface.models import DIRECTIONS, Item, Language, Observation, Scene
from zorkgpt.memory.claims import STATES, Relation
from zorkgpt.memory.objects import PlacedObject, ThingState


class SceneReader:
    """Reads the scenes of a story. Caches what never changes."""

    def __init__(self, reader: ViewReader, view: View, language: Language) -> None:
        self._reader = reader
        self._words = word_addresses(view.machine)
        self._small = view.machine.header.version <= 3
        self._everywhere = _in_every_room(reader, view, language)
        self._added: dict[int, frozenset[int]] = {}
        """Object → the objects that its properties add to scope."""
        self._named: dict[frozenset[int], Mapping[str, bool]] = {}
        """Numbers of the set attributes → all attributes by name."""

    def scene(self, view: View, now: Observation) -> Scene | None:
        """Return the objects in scope. None if the room or the player is unknown."""
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

    def things(
        self, view: View, now: Observation, scene: Scene | None, revealed: frozenset[int]
    ) -> tuple[ThingState, ...]:
        """Return the visible and carried things, and the shared scenery in scope that has a state, such as doors.

        Args:
            now: The observation, limited to revealed things.
            revealed: The revealed things.
        """
        reader, room = self._reader, now.location_id
        carried = {item.num: item for item in now.carried or ()}
        at_hand = {item.num: item for item in now.visible or ()} | carried
        others = sorted((scene.in_scope & revealed) - at_hand.keys() - {room, reader.profile.player}) if scene else ()
        things = [self._thing(view, item, room, item.num in carried) for item in at_hand.values()]
        for number in others:
            if reader.is_shared(view, number) and not reader.profile.has(view, number, "concealed"):
                thing = self._thing(view, reader.item(view, number), room, False)
                if thing.states and thing.name:
                    things.append(replace(thing, holder_number=None, holder="", on_top=False))
        return tuple(things)

    def all_objects(self, view: View) -> tuple[PlacedObject, ...]:
        """Return every named object, except the player and carried things."""
        profile, objects = self._reader.profile, []
        for number in range(1, view.machine.object_count + 1):
            name, above = self._reader.name(view, number), view.ancestors(number)
            if not name or profile.player in (number, *above):
                continue
            if profile.rooms_parent:
                # Objects that are not below the rooms' parent are out of play.
                above = above[: above.index(profile.rooms_parent)] if profile.rooms_parent in above else ()
            room = self._reader.place(view, above[-1]) if above and view.name(above[-1]) else None
            named = profile.named_attributes(view, number)
            is_fixed = named.get("scenery", False) or named.get("static", False)
            movable = named.get("takeable", False) or (named.get("animate", False) and not is_fixed)
            holder = above[0] if len(above) > 1 else None
            objects.append(
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
        return tuple(objects)

    def _thing(self, view: View, item: Item, room: int | None, carried: bool) -> ThingState:
        profile = self._reader.profile
        named = self._named_attributes(view, item.num, view.attributes(item.num)) if profile.attributes else {}
        holder = item.parent if item.parent not in (0, room, profile.player) else 0
        return ThingState(
            item.num,
            item.name,
            holder or None,
            self._reader.name(view, holder) if holder else "",
            on_top=bool(holder) and profile.has(view, holder, "supporter"),
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
        """Return the objects and words in the room's properties. Infocom lists shared scenery there."""
        properties = view.properties(room).values()
        numbers = {number for value in properties for number in value} if self._small else set()
        addresses = (address for value in properties for address in property_words(value))
        return numbers, frozenset(self._words[address] for address in addresses if address in self._words)

    def _added_to_scope(self, view: View, number: int) -> frozenset[int]:
        """Return the objects in an object's properties. Inform lists its parts there (`add_to_scope`)."""
        if self._small:
            return frozenset()
        if number not in self._added:
            added: set[int] = set()
            for value in view.properties(number).values():
                words = property_words(value)
                if all(map(view.exists, words)):
                    added.update(words)
            self._added[number] = frozenset(added)
        return self._added[number]

    def _within(self, view: View, top: int) -> frozenset[int]:
        """Return everything inside an object, except in closed containers."""
        profile, pending = self._reader.profile, list(view.children(top))
        contents: set[int] = set()
        container, shows = profile.numbers_of("container"), profile.numbers_of("open", "transparent", "supporter")
        while pending:
            number = pending.pop()
            if number in contents:
                continue
            contents.add(number)
            if children := view.children(number):
                attributes = view.attributes(number)
                is_closed = container & attributes and not shows & attributes
                if not is_closed or profile.player in children:
                    pending += children
        return frozenset(contents)


def _in_every_room(reader: ViewReader, view: View, language: Language) -> frozenset[int]:
    """Return the objects in scope everywhere: directions, and the children of nameless objects outside all rooms."""
    rooms = reader.profile.rooms_parent
    everywhere = {number for direction in DIRECTIONS for number in language.names.get(direction, ())}
    if not rooms:
        return frozenset(everywhere)
    named = {number for numbers in language.names.values() for number in numbers}
    for number in range(1, view.machine.object_count + 1):
        if view.parent(number) == 0 and number != rooms and number not in named:
            everywhere.update(view.children(number))
    return frozenset(everywhere)


def states_of(named: Mapping[str, bool]) -> Iterator[str]:
    """Yield the states of a thing with these attributes, such as open or locked."""
    if named.get("openable") or (named.get("door") and "openable" not in named):
        yield STATES["open"][named.get("open", False)].value
    if named.get("lockable"):
        yield STATES["locked"][named.get("locked", False)].value
    if named.get("switchable") or (named.get("light") and "switchable" not in named):
        yield STATES["on"][named.get("on", False)].value
    elif named.get("light"):
        yield Relation.LIT.value
