"""Turn a view of the memory into an observation, and two views into the changes between them.

Darkness is detected from the response to `look`, played from a saved state. In the light, the response has the name of
the room as a heading. In the dark, it does not. The result is stored for each state of a room and its contents, so that
it changes when a lamp goes out.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeAlias

from game_interface.core.names import Names, heading_in, is_shown
from game_interface.core.profile import Profile
from game_interface.core.zmachine import View, changes
from game_interface.models import Door, Item, Location, Observation
from zorkgpt.memory.claims import STATES
from zorkgpt.memory.objects import AttributeChange, ObjectMove

RoomState: TypeAlias = tuple[int, frozenset[tuple[frozenset[int], ...]]]
"""A room and the kinds of objects in it. The kind of an object is its attributes, preceded by those of its holders."""
_MAX_OBJECTS = 200


@dataclass(slots=True)
class Light:
    """The known darkness of the rooms of a story."""

    prints_headings: bool = False
    """Whether a response to `look` had the name of the room as a heading."""
    _dark: dict[RoomState, bool] = field(default_factory=dict)
    _dark_headings: set[str] = field(default_factory=set)
    _other_headings: dict[str, int] = field(default_factory=dict)
    """Heading that is not the name of its room → the first room where it was printed."""

    def is_dark(self, state: RoomState) -> bool | None:
        """Return whether a room in this state is dark. None if unknown."""
        return self._dark.get(state)

    def record_description(self, state: RoomState, name: str, text: str, *, left_its_room: bool) -> None:
        """Record the darkness of a room in this state.

        Args:
            name: The name of the room as players see it. "" if unknown.
            text: The response to `look`. "" if there is none.
            left_its_room: Whether the location global contains another place than the room. Inform's library does this
                in the dark.
        """
        heading, room = heading_in(text), state[0]
        if name and _shares_a_word(heading, name):
            self.prints_headings = True
            dark = False
        elif not text:
            dark = left_its_room
        elif not heading:
            dark = self.prints_headings or left_its_room
        elif name:
            # The heading may differ from the name of the object, but two such rooms don't have the same heading.
            dark = left_its_room or self._other_headings.setdefault(heading, room) != room
        else:
            dark = left_its_room or heading in self._dark_headings
        if dark:
            self._dark_headings.add(heading)
        self._dark[state] = dark


@lru_cache(maxsize=4)
def state_of(view: View, room: int, ignored: frozenset[int]) -> RoomState:
    """Return the state of a room that determines whether it is dark.

    Args:
        ignored: Attributes for the story's own use.
    """
    kinds: set[tuple[frozenset[int], ...]] = set()
    pending: list[tuple[int, tuple[frozenset[int], ...]]] = [(room, ())]
    for _ in range(_MAX_OBJECTS):
        if not pending:
            break
        number, holders = pending.pop()
        kind = (*holders, view.attributes(number) - ignored)
        kinds.add(kind)
        pending += ((child, kind) for child in view.children(number))
    return room, frozenset(kinds)


def _shares_a_word(heading: str, name: str) -> bool:
    words = {word.strip("(),").casefold() for word in heading.split()}
    return any(word.casefold() in words for word in name.split())


_SHOWS_CONTENTS = ("open", "transparent", "supporter", "animate")
_BOOKKEEPING = ("visited", "moved", "workflag")
"""Attributes that stories keep for their own use. They say nothing about the world."""


@dataclass(frozen=True)
class ViewReader:
    """Interprets views of a story's memory with its profile."""

    profile: Profile
    names: Names
    light: Light
    bookkeeping: frozenset[int] = frozenset()
    """Attributes for the story's own use, in addition to those that are known by name."""
    own_bookkeeping: frozenset[int] = frozenset()
    """Such attributes of the player object."""

    @cached_property
    def _ignored(self) -> frozenset[int]:
        """All attributes for the story's own use."""
        return self.profile.numbers_of(*_BOOKKEEPING) | self.bookkeeping

    @cached_property
    def _shows_contents(self) -> frozenset[int]:
        """The attributes that make the contents of an object visible."""
        return self.profile.numbers_of(*_SHOWS_CONTENTS)

    @cached_property
    def _states(self) -> frozenset[int]:
        """The attributes that are states, such as open or locked."""
        return self.profile.numbers_of(*STATES)

    def item(self, view: View, number: int) -> Item:
        """Return an object as a value."""
        return Item(number, self.name(view, number), view.parent(number))

    def name(self, view: View, number: int) -> str:
        """Return the name of an object."""
        return view.name(number) if number == self.profile.player else self.names.of_thing(view, number)

    def place(self, view: View, number: int) -> Location:
        """Return a room as a value."""
        return Location(number, self.names.of_place(view, number))

    def room(self, view: View) -> int | None:
        """Return the number of the player's room. None if unknown."""
        return _room(view, self.profile.player, self.profile.location_global, self.profile.rooms_parent)

    def room_state(self, view: View, room: int) -> RoomState:
        """Return the state that determines whether a room is dark."""
        return state_of(view, room, self._ignored)

    def left_its_room(self, view: View) -> bool:
        """Return whether the location global contains another place than the player's room."""
        profile = self.profile
        if profile.player is None or profile.location_global is None:
            return False
        location = view.global_value(profile.location_global)
        return bool(location) and location not in view.ancestors(profile.player)

    def deadflag(self, view: View) -> int | None:
        """Return Inform's `deadflag`. None if unknown."""
        index = self.profile.deadflag_global
        return None if index is None else view.global_value(index)

    def observe(self, view: View, *, score: int | None = None, moves: int | None = None) -> Observation:
        """Return the state of the game.

        Args:
            score: The interpreter's score, used if the story's memory has none.
            moves: The interpreter's number of moves, likewise.
        """
        profile, player, room = self.profile, self.profile.player, self.room(view)
        if profile.score_global is not None:
            score = view.signed_global(profile.score_global)
        if profile.moves_global is not None:
            moves = view.global_value(profile.moves_global)
        holder = view.parent(player) if player else 0
        dark = room is not None and bool(self.light.is_dark(self.room_state(view, room)))
        carried = self._items(view, self._contents(view, player)) if player else None
        visible: tuple[Item, ...] | None = None
        if room:
            visible = () if dark else self._items(view, self._visible(view, room))
        doors = self._doors(view, room, visible or ()) if room else ()
        return Observation(
            location=self.place(view, room) if room else None,
            inventory=None if carried is None else tuple(item for item in carried if item.parent == player),
            carried=carried,
            visible=visible,
            score=score,
            moves=moves,
            vehicle=Location(holder, self.names.of_thing(view, holder)) if room and holder not in (0, room) else None,
            dark=dark,
            creatures=self._creatures(view, visible or ()),
            circumstances=self._circumstances(
                view, carried or (), (*(visible or ()), *doors), dark=dark, holder=holder
            ),
            doors=doors,
        )

    def revealed(self, view: View, now: Observation, before: Collection[int], named: Collection[int]) -> frozenset[int]:
        """Return the objects that the player knows about.

        These are the objects that were revealed before, that are carried, or that are named here, and the holders of
        all of these.

        Args:
            before: The objects that were revealed before.
            named: The objects that the text may have named.
        """
        player, room = self.profile.player, now.location_id
        revealed = set(before)
        for number in set(named) - revealed:
            if room in view.ancestors(number) or self.is_shared(view, number):
                revealed.add(number)
        revealed |= {item.num for item in now.carried or ()}
        if player:
            revealed.update(view.ancestors(player))
        # In reverse order, contents come before their holders.
        for item in reversed(now.visible or ()):
            if item.num in revealed:
                revealed.add(item.parent)
        return frozenset(revealed)

    def is_shared(self, view: View, number: int) -> bool:
        """Return whether an object is in the world but in no room, like scenery that several rooms share."""
        above = view.ancestors(number)
        return bool(above) and bool(self.profile.rooms_parent) and self.profile.rooms_parent not in above

    def moves_between(self, before: View, after: View) -> int | None:
        """Return the number of moves between two views. None if unknown."""
        index = self.profile.moves_global
        return None if index is None else after.global_value(index) - before.global_value(index)

    def _circumstances(
        self, view: View, carried: tuple[Item, ...], others: tuple[Item | Door, ...], *, dark: bool, holder: int
    ) -> str:
        numbers = sorted(item.num for item in carried)
        states: list[tuple[int, ...]] = []
        for number in {*numbers, *(thing.num for thing in others)}:
            if attributes := view.attributes(number) & self._states:
                states.append((number, *sorted(attributes)))
        return hashlib.blake2b(repr((numbers, sorted(states), (dark, holder))).encode(), digest_size=8).hexdigest()

    def mentioned(self, view: View, room: int) -> frozenset[int]:
        """Return the objects that the room's properties list.

        Up to version 3, doors and scenery that several rooms share are not children of these rooms.
        """
        if view.machine.header.version > 3:
            return frozenset()
        return frozenset(number for value in view.properties(room).values() for number in value)

    def _doors(self, view: View, room: int, visible: tuple[Item, ...]) -> tuple[Door, ...]:
        profile = self.profile
        if "door" not in profile.attributes:
            return ()
        numbers = sorted(self.mentioned(view, room).union(item.num for item in visible))
        return tuple(
            Door(number, self.name(view, number), profile.has(view, number, "open"))
            for number in numbers
            if profile.has(view, number, "door")
        )

    def _creatures(self, view: View, items: tuple[Item, ...]) -> tuple[Item, ...] | None:
        if "animate" not in self.profile.attributes:
            return None
        return tuple(item for item in items if self.profile.has(view, item.num, "animate"))

    def _items(self, view: View, numbers: list[int]) -> tuple[Item, ...]:
        return tuple(self.item(view, number) for number in numbers)

    def _contents(self, view: View, number: int) -> list[int]:
        """Return everything inside an object, except in closed containers. Holders come before their contents."""
        contents: list[int] = []
        pending = list(reversed(view.children(number)))
        while pending and len(contents) <= view.machine.object_count:
            contents.append(pending.pop())
            if not self._shows_contents or self._shows_contents & view.attributes(contents[-1]):
                pending += reversed(view.children(contents[-1]))
        return contents

    def _visible(self, view: View, room: int) -> list[int]:
        """Return the visible objects in a room. Holders come before their contents."""
        profile = self.profile
        visible: list[int] = []
        pending = list(reversed(view.children(room)))
        while pending and len(visible) <= view.machine.object_count:
            number = pending.pop()
            if number == profile.player or profile.has(view, number, "concealed"):
                continue
            visible.append(number)
            children = view.children(number)
            # The player sees the contents of the vehicle that the player is in.
            if children and (self._shows_contents & view.attributes(number) or profile.player in children):
                pending += reversed(children)
        return visible

    def _is_scenery(self, view: View, number: int) -> bool:
        named = self.profile.named_attributes(view, number)
        return named.get("scenery", False) or named.get("static", False)

    def changes_between(
        self, before: View, after: View, at_hand: Collection[int] = ()
    ) -> tuple[tuple[ObjectMove, ...], tuple[AttributeChange, ...]]:
        """Return the objects that moved and the attributes that changed between two views.

        The player, bookkeeping and the contents of closed containers are left out. Changes by creatures in other rooms
        are marked as independent of the player.

        Args:
            at_hand: The visible and carried objects, which are not in other rooms.
        """
        difference = changes(before, after)
        if not difference.moved and not difference.flipped:
            return (), ()
        player, rooms = self.profile.player, {self.room(before), self.room(after)}

        def is_distant_creature(number: int) -> bool:
            if number in at_hand or number == player or not self.profile.has(after, number, "animate"):
                return False
            return before.parent(number) not in rooms and after.parent(number) not in rooms

        moves: list[ObjectMove] = []
        for number, origin, destination in difference.moved:
            if number == player or self._is_hidden(before, after, number):
                continue
            # Inform's library moves an object that is in several rooms (a hedge, the sky) along with the player.
            if len(rooms) > 1 and self._is_scenery(after, number):
                continue
            moves.append(
                ObjectMove(
                    number,
                    self.name(after, number),
                    *self._holder(before, origin),
                    *self._holder(after, destination),
                    by_itself=any(map(is_distant_creature, (number, origin, destination))),
                )
            )
        flips: list[AttributeChange] = []
        for number, attribute, value in difference.flipped:
            if attribute in self._ignored or number == player or self._is_hidden(before, after, number):
                continue
            name, attribute_name = self.name(after, number), self.profile.attribute_name(attribute)
            holders = before.parent(number), after.parent(number)
            by_itself = any(map(is_distant_creature, (number, *holders)))
            flips.append(AttributeChange(number, name, attribute_name, value, by_itself=by_itself))
        return tuple(moves), tuple(flips)

    def _holder(self, view: View, number: int) -> tuple[int | None, str]:
        return (number, self.name(view, number)) if number else (None, "nowhere")

    def hidden_changes(self, before: View, after: View) -> frozenset[tuple[int, ...]]:
        """Return the changes of the player's attributes, and of objects in closed containers."""
        difference, player = changes(before, after), self.profile.player
        hidden: set[tuple[int, ...]] = set()
        for number, _, destination in difference.moved:
            if number != player and self._is_hidden(before, after, number):
                hidden.add((number, destination))
        for number, attribute, value in difference.flipped:
            if number == player:
                if attribute not in self.own_bookkeeping:
                    hidden.add((number, attribute, value))
            elif attribute not in self._ignored and self._is_hidden(before, after, number):
                hidden.add((number, attribute, value))
        return frozenset(hidden)

    def _is_hidden(self, before: View, after: View, number: int) -> bool:
        """Return whether an object is in a closed container both before and after."""
        return all(
            any(self._is_closed_container(view, holder) for holder in view.ancestors(number))
            for view in (before, after)
        )

    def _is_closed_container(self, view: View, number: int) -> bool:
        return self.profile.has(view, number, "container") and not self._shows_contents & view.attributes(number)


@lru_cache(maxsize=8)
def _room(view: View, player: int | None, location_global: int | None, rooms_parent: int | None) -> int | None:
    above = view.ancestors(player) if player else ()
    if location_global is not None:
        location = view.global_value(location_global)
        # In the dark, Inform's library sets this global to `thedark`, which does not contain the player. Before the
        # game begins, it is the room where the player will be put, or the nameless library object.
        if location and (location in above or (not above and is_shown(view.name(location)))):
            return location if view.exists(location) else None
    if rooms_parent in above:
        above = above[: above.index(rooms_parent)]
    return above[-1] if above else None
