"""The trails of earlier episodes of a story, in the record of its folder."""

import logging

from pydantic import TypeAdapter, ValidationError

from zorkgpt.explore.trail import Trail
from zorkgpt.record.events import EventKind, EventRow, Events
from zorkgpt.record.experience import Experience
from zorkgpt.runlog.events import PlayerKind

log = logging.getLogger("zorkgpt.explore")

_FORMAT = TypeAdapter(Trail)


class Trails:
    """Reads each trail of one story's episodes once, with any seed."""

    def __init__(self, events: Events, story_sha256: str) -> None:
        self._events = events
        self._story_sha256 = story_sha256
        self._read: dict[int, Trail | None] = {}
        """Trails by the positions of their events. None for one that can't be read."""
        self._experience = Experience()
        self._folded: list[Trail] = []
        """The trails whose rows are in it."""

    def add(self, trail: Trail, turn: int) -> None:
        """Record the trail of an episode that has ended in this turn. An earlier one of the episode is replaced."""
        event = EventRow(turn, EventKind.TRAIL, _FORMAT.dump_json(trail).decode())
        self._events.add(trail.episode, event, replacing=[EventKind.TRAIL])

    def before(self, episode: int) -> list[Trail]:
        """Return the trails of the episodes that had ended when this one was opened, in the order of their ends."""
        positions = self._events.positions(EventKind.TRAIL, before=episode)
        for position in positions:
            if position not in self._read:
                self._read[position] = self._trail(position)
        trails = (self._read[position] for position in positions)
        return [trail for trail in trails if trail is not None and self._is_used(trail)]

    def experience(self, episode: int) -> Experience:
        """Return what the actions of these episodes led to."""
        trails = self.before(episode)
        if trails[: len(self._folded)] != self._folded:
            # An episode was resumed since, or this one is earlier than the last one.
            self._experience, self._folded = Experience(), []
        for trail in trails[len(self._folded) :]:
            self._folded.append(trail)
            for row in trail.rows:
                self._experience.add(row)
        return self._experience

    def _is_used(self, trail: Trail) -> bool:
        # The commands of a walkthrough come from outside the game.
        return trail.story_sha256 == self._story_sha256 and trail.player != PlayerKind.WALKTHROUGH

    def _trail(self, position: int) -> Trail | None:
        try:
            return _FORMAT.validate_json(self._events.content(position))
        except ValidationError as error:
            log.warning("an earlier episode can't be used", extra={"position": position, "reason": str(error)})
            return None
