"""The tried actions and untried things in the rooms of a map."""

from collections.abc import Collection, Iterable


class Tries:
    """Actions without effect, actions that opened exits, and things that no action has named or changed."""

    def __init__(self) -> None:
        self.without_effect: dict[int, dict[str, str]] = {}
        """Room → action → the response, for actions whose last try had no effect."""
        self.before_failure: dict[int, dict[str, set[str]]] = {}
        """Room → exit → actions with an effect there, in the same episode, before the exit led nowhere."""
        self.opened_by: dict[int, dict[str, tuple[str, ...]]] = {}
        """Room → exit → actions with an effect there, after the exit led nowhere and before it worked."""
        self.untried_things: dict[int, tuple[int, str]] = {}
        """Object number → the room where an untried thing was last seen, and its name."""
        self.tried_things: set[int] = set()
        """The objects that an action has named or changed."""

    def add_failure(self, room_id: int, action: str, response: str, before: Iterable[str] = ()) -> None:
        """Record that an action had no effect in a room.

        Args:
            before: For an exit, the earlier actions with an effect there, which did not open it.
        """
        self.without_effect.setdefault(room_id, {})[action] = response
        if actions := set(before):
            self.before_failure.setdefault(room_id, {}).setdefault(action, set()).update(actions)

    def add_success(self, room_id: int, action: str) -> None:
        """Record that an action had an effect in a room."""
        for records in (self.without_effect, self.before_failure):
            records.get(room_id, {}).pop(action, None)

    def add_opening(self, room_id: int, exit_: str, actions: Iterable[str]) -> None:
        """Record the actions that may have opened an exit. Only those that preceded every opening are kept."""
        known, new = self.opened_by.get(room_id, {}).get(exit_), tuple(actions)
        common = new if known is None else tuple(action for action in known if action in new) or known
        if common:
            self.opened_by.setdefault(room_id, {})[exit_] = common

    def has_failed_after(self, room_id: int, exit_: str, action: str) -> bool:
        """Return whether an exit led nowhere after this action had an effect in the room."""
        return action in self.before_failure.get(room_id, {}).get(exit_, ())

    def add_thing(self, room_id: int, number: int, name: str) -> None:
        """Record that a thing was seen in a room."""
        if number not in self.tried_things:
            self.untried_things[number] = room_id, name

    def add_tried_thing(self, number: int) -> None:
        """Record that an action named or changed a thing."""
        self.tried_things.add(number)
        self.untried_things.pop(number, None)

    def things_in(self, room_id: int, carried: Collection[int] = ()) -> tuple[str, ...]:
        """Return the names of the untried things that were last seen in a room and are not carried."""
        things = self.untried_things.items()
        return tuple(sorted({name for number, (room, name) in things if room == room_id and number not in carried}))
