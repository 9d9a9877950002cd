"""All memories as last read, lasting and ephemeral, and the names of their places."""

import logging
from collections.abc import Iterable

from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import place_in_words
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.book import MemoryBook
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.versions import is_current


class KnownMemories(MemoryBook):
    """All memories as last read, and the names of their places.

    Attributes:
        store: Keeps the lasting memories.
        names: The name of each place, as given first.
    """

    def __init__(self, store: Store, log: logging.Logger) -> None:
        super().__init__(store.lasting, {})
        self.store = store
        self.names: dict[SubjectKey, str] = {}
        self._other_names: set[tuple[SubjectKey, str]] = set()
        """Ignored names of places that were already logged."""
        self._log = log

    def current(self, place: SubjectKey) -> list[Memory]:
        """Return the current memories of a place, lasting ones first."""
        with self.store.guard:
            return [memory for memory in self.memories(place) if is_current(memory)]

    def all_ephemeral(self) -> list[Memory]:
        """Return the memories of the running episode."""
        return [memory for memories in self.ephemeral.values() for memory in memories]

    def located(self, memories: Iterable[tuple[SubjectKey, Memory]]) -> list[LocatedMemory]:
        """Return memories with their places and names. All names are read in one query."""
        placed = list(memories)
        headings = self.store.lasting.headings({place for place, _ in placed})
        names = self.names | {place: heading.name for place, heading in headings.items() if heading.name}
        return [LocatedMemory(place, names.get(place, ""), memory) for place, memory in placed]

    def name_of(self, place: SubjectKey) -> str:
        """Return the name of a place in the store, or else the first one given; "" if unknown."""
        return self.store.lasting.heading(place).name or self.names.get(place, "")

    def note_name(self, place: SubjectKey, name: str) -> None:
        """Record the name of a place if it has none. Another name is logged once and ignored."""
        if not (name := single_spaced(name)):
            return
        known = self.name_of(place)
        if not known:
            self.names[place] = name
        elif known != name and (place, name) not in self._other_names:
            self._other_names.add((place, name))
            self._log.warning("%s has the name %r; the other name %r is ignored", place_in_words(place), known, name)
