"""What the manager tells of the past: each a thin call."""

from typing import TYPE_CHECKING

from zorkgpt.memory.as_of import AsOf
from zorkgpt.memory.keeper import Keeper
from zorkgpt.memory.models import Memory
from zorkgpt.memory.store import MemoryStore

if TYPE_CHECKING:
    from zorkgpt.memory.provenance import Provenance


class Lookback:
    """For the manager to inherit; it brings the store and the keeper."""

    store: MemoryStore
    _keeper: Keeper
    _as_of: AsOf | None = None

    def as_of(self, episode: int | str, turn: int) -> dict[int, list[Memory]]:
        """The memories of each location as they stood at the end of this turn, the superseded and the ephemeral too.

        Ephemeral ones are read from the episode's log, in `runs/` beside the memory file.
        """
        if self._as_of is None:
            self._as_of = AsOf.of(self.store.file.path)
        with self.store.guard:
            self._as_of.refresh()
            return self._as_of.all_memories(episode, turn)

    def why(self, title: str, location_id: int | None = None) -> "list[Provenance]":
        """What taught the memories of this title, when they were shown, what came of it; one for each location."""
        from zorkgpt.memory.provenance import why

        self._keeper.refresh()
        with self.store.guard:
            return why(self.store, title, location_id=location_id)
