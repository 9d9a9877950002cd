"""Where the player has been: first visits of the episode, and one count for every visit."""

from collections.abc import Callable
from typing import Any

from zorkgpt.memory.storage import changes
from zorkgpt.memory.storage.changes import ChangedDocument
from zorkgpt.memory.storage.document import Document


class Visits:
    """Knows which locations have had a turn in this episode, and when a new visit begins."""

    def __init__(self) -> None:
        self._processed: dict[int, int] = {}
        self._here: int | None = None
        self._just_reached: int | None = None
        """Where the player has come to and had no turn yet."""
        self._uncounted: dict[int, list[int | str]] = {}
        self._taken: list[int] = []
        """The places whose visits the change that is being written takes along."""

    def is_first(self, location_id: int, turn: int) -> bool:
        """True until a turn *at* the location has been processed; the same all through that turn."""
        return self._processed.get(location_id, turn) == turn

    def processed(self, location_id: int, turn: int) -> None:
        """A turn at this location has been handed in; the first one is kept."""
        self._processed.setdefault(location_id, turn)

    def enter(self, location_id: int, episode: int | str) -> None:
        """The player is here now. If that is a new visit, it is kept until it is counted in the file."""
        self._just_reached = None
        if location_id != self._here:
            self._here = location_id
            self._uncounted.setdefault(location_id, []).append(episode)

    def come_to(self, location_id: int | None, episode: int | str) -> None:
        """The player has left for this place, None if nobody knows; the visit is written with what the way taught."""
        self._here = None
        if location_id is not None:
            self.enter(location_id, episode)
            self._just_reached = location_id

    def settle(self) -> None:
        """No turn follows here: the place that was just reached is to be counted too."""
        self._just_reached = None

    def uncounted(self, location_id: int) -> tuple[int | str, ...]:
        """The episode of each visit that the file does not count yet."""
        return tuple(self._uncounted.get(location_id, ()))

    def with_present(self, location_id: int, episode: int | str) -> tuple[int | str, ...]:
        """The same with the visit that has begun, where nobody has entered it yet."""
        present = () if location_id == self._here else (episode,)
        return (*self.uncounted(location_id), *present)

    def are_waiting(self, document: Document) -> bool:
        """Whether there are any to be counted at the places that the file has, of a turn at least."""
        return any(place in document.section_indexes for place in self._uncounted if place != self._just_reached)

    def along_with(
        self, change: Callable[[Document], ChangedDocument | None], *, always: bool = False
    ) -> Callable[[Document], ChangedDocument | None]:
        """The change with the visits that the file does not count, if it changes anything; then `written` is called.

        A place that the change itself puts into the file begins with its visits.

        Args:
            always: also if it changes nothing.
        """

        def with_visits(document: Document) -> ChangedDocument | None:
            self._taken, visited = [], document
            for place in self._uncounted:
                # First: a change of an episode that the place does not list yet counts a visit of it.
                visited = changes.visited(visited, place, self.uncounted(place)).document
            outcome = change(visited)
            if outcome is None or (outcome.document is visited and not always):
                return outcome and ChangedDocument(document)
            self._taken = [place for place in self._uncounted if place in outcome.document.section_indexes]
            return outcome

        return with_visits

    def written(self) -> None:
        """The last change is on disk."""
        for place in self._taken:
            self._uncounted.pop(place, None)
        self._taken = []

    def reset(self) -> None:
        """A new episode."""
        self._processed.clear()
        self._here = self._just_reached = None

    def drop(self) -> None:
        """Forget the visits that are not counted."""
        self._uncounted.clear()

    def first_turns(self) -> dict[int, int]:
        """At which turn each location visited in this episode had its first one."""
        return dict(self._processed)

    def snapshot(self) -> dict[str, Any]:
        """Where the player is, and which visits the file does not count yet, as plain values."""
        uncounted = [[place, list(of)] for place, of in self._uncounted.items()]
        return {"here": self._here, "just_reached": self._just_reached, "uncounted": uncounted}

    def restore(self, first_turns: dict[int, int], under_way: dict[str, Any] | None = None) -> None:
        """Go on with an episode that was interrupted."""
        self._processed = dict(first_turns)
        if under_way is not None:
            self._here, self._just_reached = under_way["here"], under_way.get("just_reached")
            self._uncounted = {place: list(of) for place, of in under_way["uncounted"]}
