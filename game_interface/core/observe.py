"""From a view of the memory to what the rest of the house asks: place, things, score."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from game_interface.core.profile import Profile
from game_interface.core.zmachine import View, changes
from game_interface.models import AttributeChange, Item, Location, ObjectMove, Observation

_SEE_INTO = ("open", "transparent", "supporter", "animate")
_BOOKKEEPING = ("visited", "moved", "workflag")
"""Attributes that games keep for themselves: that they were set says nothing about the world."""
_STANDING = ("open", "locked", "on")
"""What decides, of a thing at hand, whether an action works."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads views of one story with what is known of it."""

    profile: Profile
    bookkeeping: frozenset[int] = frozenset()
    """Attributes that the story keeps for itself, beside those that are known by name."""
    own_bookkeeping: frozenset[int] = frozenset()
    """Such attributes of the player itself."""

    def item(self, view: View, number: int) -> Item:
        return Item(number, view.name(number), view.parent(number))

    def room(self, view: View) -> int | None:
        """The number of the room that the player is in; None if that is not known."""
        profile = self.profile
        above = view.ancestors(profile.player) if profile.player else ()
        if profile.location_global is not None:
            told = view.global_value(profile.location_global)
            # In the dark, Inform's library has an object of its own there, that the player is not in.
            if told and (told in above or not above):
                return told if view.exists(told) else None
        if profile.rooms_parent in above:
            above = above[: above.index(profile.rooms_parent)]
        return above[-1] if above else None

    def in_the_dark(self, view: View) -> bool:
        """Inform's library says so; other stories don't tell."""
        profile = self.profile
        if profile.player is None or profile.location_global is None:
            return False
        told = view.global_value(profile.location_global)
        return bool(told) and told not in view.ancestors(profile.player)

    def deadflag(self, view: View) -> int | None:
        index = self.profile.deadflag_global
        return None if index is None else view.global_value(index)

    def observe(self, view: View, *, score: int | None = None, moves: int | None = None) -> Observation:
        """`score` and `moves` are what the interpreter says, used where the memory does not tell."""
        profile, player, room = self.profile, self.profile.player, self.room(view)
        if profile.score_global is not None:
            score = view.signed_global(profile.score_global)
        if profile.moves_global is not None:
            moves = view.global_value(profile.moves_global)
        held_by = view.parent(player) if player else 0
        dark = self.in_the_dark(view)
        visible = self._items(view, self._seen(view, room)) if room else None
        carried = self._items(view, self._inside(view, player)) if player else None
        return Observation(
            location=Location(room, view.name(room)) if room else None,
            inventory=None if carried is None else tuple(item for item in carried if item.parent == player),
            carried=carried,
            visible=visible,
            score=score,
            moves=moves,
            vehicle=Location(held_by, view.name(held_by)) if room and held_by not in (0, room) else None,
            dark=dark,
            creatures=self._alive(view, visible or ()),
            circumstances=self._circumstances(view, room, carried, visible, (dark, held_by)),
        )

    def passed(self, before: View, after: View) -> int | None:
        """The moves that lie between two moments; None if the story does not tell."""
        index = self.profile.moves_global
        return None if index is None else after.global_value(index) - before.global_value(index)

    def _circumstances(
        self,
        view: View,
        room: int | None,
        carried: tuple[Item, ...] | None,
        visible: tuple[Item, ...] | None,
        besides: tuple[object, ...],
    ) -> str:
        numbers = sorted(item.num for item in carried or ())
        at_hand = {*numbers, *(item.num for item in visible or ()), *(self._doors(view, room) if room else ())}
        standing = self.profile.numbers_of(*_STANDING)
        states = sorted((number, *sorted(found)) for number in at_hand if (found := view.attributes(number) & standing))
        return hashlib.blake2b(repr((numbers, states, besides)).encode(), digest_size=8).hexdigest()

    def mentioned(self, view: View, room: int) -> frozenset[int]:
        """What the room's own properties name: up to version 3, doors and scenery of several rooms are in none."""
        if view.machine.header.version > 3:
            return frozenset()
        return frozenset(number for value in view.properties(room).values() for number in value)

    def _doors(self, view: View, room: int) -> Iterator[int]:
        if "door" in self.profile.attributes:
            yield from (number for number in self.mentioned(view, room) if self.profile.has(view, number, "door"))

    def _alive(self, view: View, items: tuple[Item, ...]) -> tuple[Item, ...] | None:
        if "animate" not in self.profile.attributes:
            return None
        return tuple(item for item in items if self.profile.has(view, item.num, "animate"))

    def _items(self, view: View, numbers: tuple[int, ...]) -> tuple[Item, ...]:
        return tuple(self.item(view, number) for number in numbers)

    def _inside(self, view: View, number: int) -> tuple[int, ...]:
        """Everything in it at any depth that is not shut away, holder before held."""
        found: list[int] = []
        left = list(reversed(view.children(number)))
        while left and len(found) <= view.machine.object_count:
            found.append(left.pop())
            if not self._is_shut(view, found[-1]):
                left += reversed(view.children(found[-1]))
        return tuple(found)

    def _is_shut(self, view: View, number: int) -> bool:
        """A closed container that can't be seen into; nothing is where the attributes' numbering is not known."""
        is_set = view.attributes(number)
        return bool(self.profile.numbers_of("container") & is_set) and not self.profile.numbers_of(*_SEE_INTO) & is_set

    def _shut_away(self, view: View, number: int) -> bool:
        return any(self._is_shut(view, holder) for holder in view.ancestors(number))

    def _seen(self, view: View, room: int) -> tuple[int, ...]:
        if self.in_the_dark(view):
            return ()
        profile, found = self.profile, []
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
        # What Inform finds in several rooms (a hedge, the sky) is one object that its library puts where the player is.
        named = self.profile.named_attributes(view, number)
        return named.get("scenery", False) or named.get("static", False)

    def moved(
        self, before: View, after: View, near: Collection[int] = ()
    ) -> tuple[tuple[ObjectMove, ...], tuple[AttributeChange, ...]]:
        """What changed between two moments.

        Left out are the player itself, scenery that walks along with it, bookkeeping, and what is shut away in closed
        containers before and after.

        Args:
            near: what is in sight or in hand. What is alive elsewhere, and what it has to do with, changes by itself.
        """
        difference = changes(before, after)
        if not difference.moved and not difference.flipped:
            return (), ()
        walked = self.room(before) != self.room(after)
        player, kept = self.profile.player, self.profile.numbers_of(*_BOOKKEEPING) | self.bookkeeping

        def counts(number: int) -> bool:
            return number != player and not self._is_hidden(before, after, number)

        moves = tuple(
            ObjectMove(
                self.item(after, number),
                self.item(before, origin) if origin else None,
                self.item(after, destination) if destination else None,
                by_itself=any(self._roams(before, after, one, near) for one in (number, origin, destination)),
            )
            for number, origin, destination in difference.moved
            if counts(number) and not (walked and self._is_scenery(after, number))
        )
        flips = tuple(
            AttributeChange(
                self.item(after, number),
                self.profile.attribute_name(attribute),
                value,
                by_itself=any(
                    self._roams(before, after, one, near) for one in (number, *_holders(number, before, after))
                ),
            )
            for number, attribute, value in difference.flipped
            if attribute not in kept and counts(number)
        )
        return moves, flips

    def unnamed_changes(self, before: View, after: View) -> frozenset[tuple[int, ...]]:
        """What changed of the player itself, and of things that are shut away in closed containers before and after."""
        difference, player = changes(before, after), self.profile.player
        kept = self.profile.numbers_of(*_BOOKKEEPING) | self.bookkeeping
        moves = ((number, destination) for number, _, destination in difference.moved if number != player)
        flips = (
            (number, attribute, value)
            for number, attribute, value in difference.flipped
            if attribute not in (self.own_bookkeeping if number == player else kept)
        )
        return frozenset(one for one in (*moves, *flips) if one[0] == player or self._is_hidden(before, after, one[0]))

    def _is_hidden(self, before: View, after: View, number: int) -> bool:
        return self._shut_away(before, number) and self._shut_away(after, number)

    def _roams(self, before: View, after: View, number: int, near: Collection[int]) -> bool:
        """It is alive, and out of the player's reach."""
        if number in near or number == self.profile.player or not self.profile.has(after, number, "animate"):
            return False
        rooms = {self.room(before), self.room(after)}
        return rooms.isdisjoint(view.parent(number) for view in (before, after))


def _holders(number: int, before: View, after: View) -> Iterator[int]:
    yield from (view.parent(number) for view in (before, after))
