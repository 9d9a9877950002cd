"""From a view of the memory to what the rest of the house asks: place, things, score."""

from dataclasses import dataclass

from game_interface.core.profile import Profile
from game_interface.core.zmachine import View, changes
from game_interface.models import AttributeChange, Item, Location, ObjectMove, Observation

_SEE_INTO = ("open", "transparent", "supporter", "animate")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads views of one story with what is known of it."""

    profile: Profile

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
            dark=self.in_the_dark(view),
            creatures=self._alive(view, visible or ()),
        )

    def _alive(self, view: View, items: tuple[Item, ...]) -> tuple[Item, ...] | None:
        if "animate" not in self.profile.attributes:
            return None
        return tuple(item for item in items if self.profile.has(view, item.num, "animate"))

    def _items(self, view: View, numbers: tuple[int, ...]) -> tuple[Item, ...]:
        return tuple(self.item(view, number) for number in numbers)

    def _inside(self, view: View, number: int) -> tuple[int, ...]:
        """Everything in it, at any depth, holder before held."""
        found: list[int] = []
        left = list(reversed(view.children(number)))
        while left and len(found) <= view.machine.object_count:
            found.append(left.pop())
            left += reversed(view.children(found[-1]))
        return tuple(found)

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

    def moved(self, before: View, after: View) -> tuple[tuple[ObjectMove, ...], tuple[AttributeChange, ...]]:
        """What changed between two moments, the player's own moves left out, and scenery that walks along with it."""
        difference = changes(before, after)
        walked = self.room(before) != self.room(after)
        moves = tuple(
            ObjectMove(
                self.item(after, number),
                self.item(before, origin) if origin else None,
                self.item(after, destination) if destination else None,
            )
            for number, origin, destination in difference.moved
            if number != self.profile.player and not (walked and self._is_scenery(after, number))
        )
        flips = tuple(
            AttributeChange(self.item(after, number), self.profile.attribute_name(attribute), value)
            for number, attribute, value in difference.flipped
        )
        return moves, flips
