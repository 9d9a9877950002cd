"""Turn a view of the memory into an observation, and two of them into what changed."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from game_interface.core.light import Light, RoomState, state_of
from game_interface.core.names import Names, is_shown
from game_interface.core.profile import Profile
from game_interface.core.zmachine import View, changes
from game_interface.models import Door, Item, Location, Observation
from zorkgpt.memory.claims import STATES
from zorkgpt.memory.objects import AttributeChange, ObjectMove

_SEE_INTO = ("open", "transparent", "supporter", "animate")
_BOOKKEEPING = ("visited", "moved", "workflag")
"""Attributes that stories keep for their own use. A change of one says nothing about the world."""


@dataclass(frozen=True, slots=True)
class ViewReader:
    """Interprets views of one story's memory by its profile."""

    profile: Profile
    names: Names
    light: Light
    bookkeeping: frozenset[int] = frozenset()
    """Attributes that the story uses for itself, beside `visited` and the like, which are known by name."""
    own_bookkeeping: frozenset[int] = frozenset()
    """Attributes of the player object that the story uses for itself."""

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
        """Return the number of the room that the player is in; None if unknown."""
        profile = self.profile
        above = view.ancestors(profile.player) if profile.player else ()
        if profile.location_global is not None:
            location = view.global_value(profile.location_global)
            # In the dark, Inform's library keeps `thedark` there, which the player is not in; before the game begins,
            # the room where the player will be put, or the library itself, which has no name to be shown.
            if location and (location in above or (not above and is_shown(view.name(location)))):
                return location if view.exists(location) else None
        if profile.rooms_parent in above:
            above = above[: above.index(profile.rooms_parent)]
        return above[-1] if above else None

    def room_state(self, view: View, room: int) -> RoomState:
        """Return what decides on the light in a room."""
        return state_of(view, room, self.profile.numbers_of(*_BOOKKEEPING) | self.bookkeeping)

    def left_its_room(self, view: View) -> bool:
        """Return whether the variable for the location holds another place than the one that the player is in."""
        profile = self.profile
        if profile.player is None or profile.location_global is None:
            return False
        location = view.global_value(profile.location_global)
        return bool(location) and location not in view.ancestors(profile.player)

    def in_the_dark(self, view: View, room: int | None) -> bool:
        """Return whether it is known to be too dark to see."""
        return room is not None and bool(self.light.is_dark(self.room_state(view, room)))

    def deadflag(self, view: View) -> int | None:
        """Return Inform's `deadflag`; None if unknown."""
        index = self.profile.deadflag_global
        return None if index is None else view.global_value(index)

    def observe(self, view: View, *, score: int | None = None, moves: int | None = None) -> Observation:
        """Return the state of the game.

        Args:
            score: What the interpreter says, used where the memory does not tell; likewise `moves`.
        """
        profile, player, room = self.profile, self.profile.player, self.room(view)
        if profile.score_global is not None:
            score = view.signed_global(profile.score_global)
        if profile.moves_global is not None:
            moves = view.global_value(profile.moves_global)
        held_by = view.parent(player) if player else 0
        dark = self.in_the_dark(view, room)
        visible = None if not room else () if dark else self._items(view, self._visible(view, room))
        carried = self._items(view, self._inside(view, player)) if player else None
        return Observation(
            location=self.place(view, room) if room else None,
            inventory=None if carried is None else tuple(item for item in carried if item.parent == player),
            carried=carried,
            visible=visible,
            score=score,
            moves=moves,
            vehicle=Location(held_by, self.names.of_thing(view, held_by))
            if room and held_by not in (0, room)
            else None,
            dark=dark,
            creatures=self._alive(view, visible or ()),
            circumstances=self._circumstances(view, room, carried, visible, (dark, held_by)),
            doors=self._doors_as_values(view, room, visible or ()) if room else (),
        )

    def revealed(self, view: View, now: Observation, before: Collection[int], named: Collection[int]) -> frozenset[int]:
        """Return what was revealed before, named things that are not elsewhere, what is carried, and what holds any."""
        player, room = self.profile.player, now.location_id
        found = set(before)
        for number in named:
            if number not in found and (room in view.ancestors(number) or self.is_shared(view, number)):
                found.add(number)
        found |= {item.num for item in now.carried or ()}
        if player:
            found.update(view.ancestors(player))
        # Holders come before what they hold.
        for item in reversed(now.visible or ()):
            if item.num in found:
                found.add(item.parent)
        return frozenset(found)

    def is_shared(self, view: View, number: int) -> bool:
        """Return whether it is in the world but in no room, as what several rooms share is."""
        above = view.ancestors(number)
        return bool(above) and bool(self.profile.rooms_parent) and self.profile.rooms_parent not in above

    def moves_between(self, before: View, after: View) -> int | None:
        """Return how many moves passed between two views; None if the story does not tell."""
        index = self.profile.moves_global
        return None if index is None else after.global_value(index) - before.global_value(index)

    def _circumstances(
        self,
        view: View,
        room: int | None,
        carried: tuple[Item, ...] | None,
        visible: tuple[Item, ...] | None,
        dark_and_vehicle: tuple[bool, int],
    ) -> str:
        """Return `Observation.circumstances`."""
        numbers = sorted(item.num for item in carried or ())
        at_hand = {*numbers, *(item.num for item in visible or ()), *(self._doors(view, room) if room else ())}
        state_attributes = self.profile.numbers_of(*STATES)
        states = sorted(
            (number, *sorted(found)) for number in at_hand if (found := view.attributes(number) & state_attributes)
        )
        return hashlib.blake2b(repr((numbers, states, dark_and_vehicle)).encode(), digest_size=8).hexdigest()

    def mentioned(self, view: View, room: int) -> frozenset[int]:
        """Return the objects that the room's properties list.

        Up to version 3, doors and scenery that belong to several rooms are children of none of them.
        """
        if view.machine.header.version > 3:
            return frozenset()
        return frozenset(number for value in view.properties(room).values() for number in value)

    def _doors(self, view: View, room: int) -> Iterator[int]:
        if "door" in self.profile.attributes:
            yield from (number for number in self.mentioned(view, room) if self.profile.has(view, number, "door"))

    def _doors_as_values(self, view: View, room: int, visible: tuple[Item, ...]) -> tuple[Door, ...]:
        seen = (item.num for item in visible if self.profile.has(view, item.num, "door"))
        found = sorted({*self._doors(view, room), *seen})
        return tuple(Door(door, self.name(view, door), self.profile.has(view, door, "open")) for door in found)

    def _alive(self, view: View, items: tuple[Item, ...]) -> tuple[Item, ...] | None:
        if "animate" not in self.profile.attributes:
            return None
        return tuple(item for item in items if self.profile.has(view, item.num, "animate"))

    def _items(self, view: View, numbers: tuple[int, ...]) -> tuple[Item, ...]:
        return tuple(self.item(view, number) for number in numbers)

    def _inside(self, view: View, number: int) -> tuple[int, ...]:
        """Return everything that it holds at any depth, except in what hides it; holders come first."""
        found: list[int] = []
        open_to_sight = self.profile.numbers_of(*_SEE_INTO)
        left = list(reversed(view.children(number)))
        while left and len(found) <= view.machine.object_count:
            found.append(left.pop())
            if not open_to_sight or open_to_sight & view.attributes(found[-1]):
                left += reversed(view.children(found[-1]))
        return tuple(found)

    def _is_shut(self, view: View, number: int) -> bool:
        """Return whether it is a closed opaque container; False if the attributes' meanings are not known."""
        is_set = view.attributes(number)
        return bool(self.profile.numbers_of("container") & is_set) and not self.profile.numbers_of(*_SEE_INTO) & is_set

    def _is_in_closed_container(self, view: View, number: int) -> bool:
        return any(self._is_shut(view, holder) for holder in view.ancestors(number))

    def _visible(self, view: View, room: int) -> tuple[int, ...]:
        profile = self.profile
        found: list[int] = []
        concealed, open_to_sight = profile.numbers_of("concealed"), profile.numbers_of(*_SEE_INTO)
        left = list(reversed(view.children(room)))
        while left and len(found) <= view.machine.object_count:
            number = left.pop()
            is_set = view.attributes(number)
            if number == profile.player or concealed & is_set:
                continue
            found.append(number)
            inside = view.children(number)
            # A vehicle with the player in it shows what else is in it.
            if inside and (open_to_sight & is_set or profile.player in inside):
                left += reversed(inside)
        return tuple(found)

    def _is_scenery(self, view: View, number: int) -> bool:
        # An object that Inform finds in several rooms (a hedge, the sky) is moved along with the player by its library.
        named = self.profile.named_attributes(view, number)
        return named.get("scenery", False) or named.get("static", False)

    def changes_between(
        self, before: View, after: View, at_hand: Collection[int] = ()
    ) -> tuple[tuple[ObjectMove, ...], tuple[AttributeChange, ...]]:
        """Return which objects moved and which attributes changed between two views.

        Left out are the player itself, scenery that moves along with it, the story's bookkeeping, and whatever is in a
        closed container before and after.

        Args:
            at_hand: The objects that are visible or carried. What a creature elsewhere does is not the player's doing.
        """
        difference = changes(before, after)
        if not difference.moved and not difference.flipped:
            return (), ()
        walked = self.room(before) != self.room(after)
        player, ignored = self.profile.player, self.profile.numbers_of(*_BOOKKEEPING) | self.bookkeeping

        def counts(number: int) -> bool:
            return number != player and not self._is_hidden(before, after, number)

        moves = tuple(
            ObjectMove(
                number,
                self.name(after, number),
                *self._parent(before, origin),
                *self._parent(after, destination),
                by_itself=any(self._roams(before, after, each, at_hand) for each in (number, origin, destination)),
            )
            for number, origin, destination in difference.moved
            if counts(number) and not (walked and self._is_scenery(after, number))
        )
        flips = tuple(
            AttributeChange(
                number,
                self.name(after, number),
                self.profile.attribute_name(attribute),
                value,
                by_itself=any(
                    self._roams(before, after, each, at_hand)
                    for each in (number, before.parent(number), after.parent(number))
                ),
            )
            for number, attribute, value in difference.flipped
            if attribute not in ignored and counts(number)
        )
        return moves, flips

    def _parent(self, view: View, number: int) -> tuple[int | None, str]:
        return (number, self.name(view, number)) if number else (None, "nowhere")

    def hidden_changes(self, before: View, after: View) -> frozenset[tuple[int, ...]]:
        """Return the changes of the player object and of what is in closed containers before and after."""
        difference, player = changes(before, after), self.profile.player
        ignored = self.profile.numbers_of(*_BOOKKEEPING) | self.bookkeeping
        moves = ((number, destination) for number, _, destination in difference.moved if number != player)
        flips = (
            (number, attribute, value)
            for number, attribute, value in difference.flipped
            if attribute not in (self.own_bookkeeping if number == player else ignored)
        )
        return frozenset(
            change for change in (*moves, *flips) if change[0] == player or self._is_hidden(before, after, change[0])
        )

    def _is_hidden(self, before: View, after: View, number: int) -> bool:
        return self._is_in_closed_container(before, number) and self._is_in_closed_container(after, number)

    def _roams(self, before: View, after: View, number: int, at_hand: Collection[int]) -> bool:
        """Return whether it is a creature out of the player's reach."""
        if number in at_hand or number == self.profile.player or not self.profile.has(after, number, "animate"):
            return False
        rooms = {self.room(before), self.room(after)}
        return rooms.isdisjoint(view.parent(number) for view in (before, after))
