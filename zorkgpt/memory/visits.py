"""The number of the player's visits."""

from collections.abc import Collection
from typing import Any

from zorkgpt.memory.models import PlaceKey, SubjectKey, episode_key
from zorkgpt.memory.places import saved_place
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.rows import MemoryRows


class Visits:
    """Tracks when a new visit begins."""

    def __init__(self) -> None:
        self._here: PlaceKey | None = None
        self._uncounted: dict[SubjectKey, list[int | str]] = {}

    def enter(self, location_id: PlaceKey, episode: int | str) -> None:
        """Record that the player is here now. A new visit is kept until it is counted in the file."""
        if location_id != self._here:
            self._here = location_id
            self._uncounted.setdefault(location_id, []).append(episode)

    def record_move(self, location_id: PlaceKey | None, episode: int | str) -> None:
        """Record a move to this location, or to an unknown one if None."""
        self._here = None
        if location_id is not None:
            self.enter(location_id, episode)

    def uncounted(self, subject: SubjectKey) -> tuple[int | str, ...]:
        """Return the episode of each visit that is not counted in the file yet. () for other subjects."""
        return tuple(self._uncounted.get(subject, ()))

    @property
    def uncounted_places(self) -> Collection[SubjectKey]:
        """The places with visits that are not counted in the file yet."""
        return self._uncounted.keys()

    def totals(self, lasting: MemoryRows, location_id: PlaceKey, *present: int | str) -> tuple[int, int]:
        """Return the number of visits to a location, counted or not, and of episodes with a visit.

        Args:
            present: The episode, to include a visit that begins now.
        """
        begins = present if location_id != self._here else ()
        uncounted = (*self.uncounted(location_id), *begins)
        episodes = {episode_key(episode) for episode in (*lasting.episodes(location_id), *uncounted, *present)}
        return lasting.heading(location_id).visits + len(uncounted), len(episodes)

    def are_waiting(self, lasting: MemoryRows) -> bool:
        """Return whether there are uncounted visits to locations in the file."""
        return bool(lasting.headings(self._uncounted))

    def count_in(self, draft: Draft) -> None:
        """Count the visits to all locations in the draft. Call `written` once it is stored."""
        for place in draft.lasting.headings(self._uncounted) if self._uncounted else ():
            draft.count_visits(place, "", self._uncounted[place])

    def written(self, draft: Draft) -> None:
        """Drop the visits that a stored draft has counted."""
        for place in draft.visited:
            self._uncounted.pop(place, None)

    def reset(self) -> None:
        """Begin a new episode."""
        self._here = None

    def drop(self) -> None:
        """Drop the uncounted visits."""
        self._uncounted.clear()

    def snapshot(self) -> dict[str, Any]:
        """Return the visits of the episode as plain values."""
        return {
            "here": self._here,
            "uncounted": [[place, list(episodes)] for place, episodes in self._uncounted.items()],
        }

    def return_to(self, saved: dict[str, Any]) -> None:
        """Return to the place of what `snapshot` returned. The visits since then stay."""
        self._here = None if saved["here"] is None else saved_place(saved["here"])

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue an interrupted episode from what `snapshot` returned."""
        self.return_to(saved)
        self._uncounted = {saved_place(place): list(of) for place, of in saved["uncounted"]}
