"""What the manager tells of the past: each a thin call."""

from typing import TYPE_CHECKING

from zorkgpt.memory.keeping.keeper import Keeper
from zorkgpt.memory.models import Memory
from zorkgpt.memory.provenance import AsOf
from zorkgpt.memory.storage.store import MemoryStore

if TYPE_CHECKING:
    from zorkgpt.memory.provenance import Provenance


class Lookback:
    """For the manager to inherit; it brings the store and the keeper."""

    store: MemoryStore
    _keeper: Keeper
    _as_of: AsOf | None = None

    def as_of(self, episode: int | str, turn: int) -> dict[int, list[Memory]]:
        """The memories of each location as they stood at the end of this turn, the superseded and the ephemeral too.

        Ephemeral ones are read from the episode's log, in `runs/` beside the memory file. Of an episode that nobody
        played there is nothing to tell: see `knows_episode`.
        """
        with self.store.guard:
            return self._past().all_memories(episode, turn)

    def knows_episode(self, episode: int | str) -> bool:
        """Whether the history or `runs/` hold anything of it."""
        with self.store.guard:
            return self._past().knows(episode)

    def _past(self) -> AsOf:
        if self._as_of is None:
            self._as_of = AsOf.of(self.store.file.path)
        self._as_of.refresh()
        return self._as_of

    def why(self, title: str, location_id: int | None = None) -> "list[Provenance]":
        """What taught the memories of this title, when they were shown, what came of it; one for each location."""
        from zorkgpt.memory.provenance import why

        self._keeper.refresh()
        with self.store.guard:
            return why(self.store, title, location_id=location_id)
