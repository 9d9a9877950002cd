"""The memory book: all memories, lasting and ephemeral. A `Draft` changes them in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zorkgpt.memory.ids import full_id, with_id
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, SubjectKey
from zorkgpt.memory.places import place_in_words, place_order
from zorkgpt.memory.storage.changes import Change, ChangeKind, after_change
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.entry import as_read
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.history import TurnStamp, changes_between, dated, first_version
from zorkgpt.memory.storage.lasting import Filters, Heading
from zorkgpt.memory.storage.rows import MemoryRows
from zorkgpt.memory.storage.traces import Traces
from zorkgpt.memory.storage.versions import observed, superseded


class MemoryBook:
    """All memories.

    Attributes:
        lasting: The lasting memories.
        ephemeral: The memories of the running episode, by place.
    """

    def __init__(self, lasting: MemoryRows, ephemeral: Mapping[SubjectKey, tuple[Memory, ...]]) -> None:
        self.lasting = lasting
        self.ephemeral = dict(ephemeral)

    def memories(self, place: SubjectKey) -> list[Memory]:
        """Return the memories of a place, lasting ones first, including superseded ones."""
        return [*self.lasting.memories(place), *self.ephemeral.get(place, ())]

    def places(self) -> set[SubjectKey]:
        """Return the places that may have memories."""
        return {*self.lasting.places(), *self.ephemeral}

    def named(self, wanted: str, place: SubjectKey | None = None) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories with this id or, ignoring case, this title, with their places, ordered by place.

        Args:
            place: Only at this place. Defaults to all places.
        """
        return self.find(Filters(place, named=wanted, with_past=True))

    def expired(self, now: str) -> list[tuple[SubjectKey, Memory]]:
        """Return the expired memories with their places. Memories that a person pinned or edited don't expire.

        Args:
            now: The time in the format of `Memory.expires_at`.
        """
        candidates = self.find(Filters(expires_by=now, with_past=True))
        return [(place, memory) for place, memory in candidates if not memory.is_settled_by_person]

    def find(self, wanted: Filters, *, limit: int | None = None, offset: int = 0) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories that pass the filters, ordered by place. At each place, lasting ones come first."""
        ephemeral = [
            (place, memory)
            for place, memories in self.ephemeral.items()
            for memory in memories
            if wanted.passes(place, memory)
        ]
        if not ephemeral:
            return self.lasting.find(wanted, limit=limit, offset=offset)
        end = None if limit is None else offset + limit
        lasting = self.lasting.find(wanted, limit=end)
        return sorted([*lasting, *ephemeral], key=lambda located: place_order(located[0]))[offset:end]


class Draft(MemoryBook):
    """The memories while they are changed. Every method applies its change immediately.

    Attributes:
        names: The names of places without a section, for the journal.
        changes: The changes of memories, in order.
        visited: The places whose visits were counted.
        is_discarded: Whether all changes were undone.
        document: The memory file in which the changes are to be shown. None for the present one.
        moves: The places whose keys were changed: the old keys, and the new ones.
        traces: The traces that were erased. None if there were none.
    """

    def __init__(
        self,
        lasting: MemoryRows,
        ephemeral: Mapping[SubjectKey, tuple[Memory, ...]] | None = None,
        names: Mapping[SubjectKey, str] | None = None,
        *,
        at: str,
        turn_stamp: TurnStamp | None = None,
        source: str = "agent",
    ) -> None:
        """
        Args:
            at: The time of the changes, in the format of `Memory.created_at`.
            turn_stamp: The turn of the changes. None if unknown.
            source: The author of the changes. See `HistoryRecord.source`.
        """
        super().__init__(lasting, ephemeral or {})
        self.names = names or {}
        self._at, self._source = at, source
        self._episode = None if turn_stamp is None else turn_stamp.episode
        self.changes: list[Change] = []
        self.visited: set[SubjectKey] = set()
        self.is_discarded = False
        self.document: Document | None = None
        self.moves: list[tuple[SubjectKey, SubjectKey]] = []
        self.traces: Traces | None = None
        self._headed: set[SubjectKey] = set()

    @property
    def changed_places(self) -> set[SubjectKey]:
        """The subjects whose lasting memories, names or visits were changed."""
        changed = {change.location_id for change in self.changes if change.is_lasting}
        return changed | self.visited | self._headed

    def apply(self, *changes: Change) -> list[Memory]:
        """Apply changes, and return the new memories as stored."""
        assert not self.is_discarded
        new = [self._take(dated(each, self._at, self._source)) for each in changes]
        return [memory for memory in new if memory is not None]

    def _take(self, change: Change) -> Memory | None:
        """Apply a change whose memory has its times."""
        if change.is_lasting:
            self.lasting.apply(change)
        else:
            place = change.location_id
            self.ephemeral[place] = after_change(self.ephemeral.get(place, ()), change)
        self.changes.append(change)
        return change.after

    def count_visits(self, place: SubjectKey, name: str, episodes: Sequence[int | str]) -> None:
        """Count a visit to a place in each of these episodes. Creates it if it is missing."""
        self.lasting.count_visits(place, name, episodes)
        self.visited.add(place)

    def lay_out(self, document: Document) -> None:
        """Take over the names and visits of a memory file whose memories were added, and what people wrote in it."""
        for place, heading in document.headings().items():
            self.head(place, heading)
        self.document = document

    def erase(self, traces: Traces) -> None:
        """Erase traces from the lasting memories."""
        self.lasting.erase(traces)
        self.traces = traces

    def head(self, place: SubjectKey, heading: Heading | None) -> None:
        """Set name and visits of a place without recording it. None removes a place without memories."""
        if heading is None:
            self.lasting.remove_place(place)
        else:
            self.lasting.set_heading(place, heading)
        self._headed.add(place)

    def discard(self) -> None:
        """Undo everything. Nothing can be changed afterwards."""
        self.is_discarded = True
        self.changes = []

    def add(
        self,
        place: SubjectKey,
        name: str,
        *memories: Memory,
        visits: tuple[int | str, ...] = (),
        reason: str | None = None,
        other: Memory | None = None,
    ) -> Memory:
        """Add memories of one class to a place, and return the last one as stored.

        Args:
            visits: The episodes of the visits with which a new section begins. Defaults to that of the first memory.
        """
        if visits and memories[0].persistence.outlives_episode and not self.lasting.headings([place]):
            self.count_visits(place, name, visits)
        return self.add_each([(place, name, memory) for memory in memories], reason, other)[-1]

    def add_each(
        self, new: Sequence[tuple[SubjectKey, str, Memory]], reason: str | None = None, other: Memory | None = None
    ) -> list[Memory]:
        """Add memories to the places of these keys and names, and return them as stored, each with an unused id.

        A database is asked for all ids at once.
        """
        assert not self.is_discarded
        named = [(place, self._name(place) or name, as_read(memory)) for place, name, memory in new]
        wanted = {full_id(place, memory.title, memory.id) for place, _, memory in named}
        taken = self._taken(wanted)

        def is_taken(key: str) -> bool:
            return key in taken or (key not in wanted and bool(self._taken({key})))

        stored = []
        for place, name, memory in named:
            is_lasting = memory.persistence.outlives_episode
            # A lasting memory of the same title may be added later, so the id that follows from it is left to that.
            id = with_id(place, memory, is_taken, follows=is_lasting)
            taken.add(id)
            first = first_version(memory, self._at, self._source, id)
            self._take(Change("added", place, name, None, first, reason, other))
            stored.append(first)
        return stored

    def _name(self, place: SubjectKey) -> str:
        return self.lasting.heading(place).name or self.names.get(place, "")

    def _taken(self, ids: set[str]) -> set[str]:
        """Return the ids that a memory has, among these."""
        taken = set(self.lasting.taken(ids))
        for memories in self.ephemeral.values():
            taken.update(memory.id for memory in memories if memory.id in ids)
        return taken

    def replace(
        self,
        place: SubjectKey,
        old: Memory,
        new: Memory,
        kind: ChangeKind,
        reason: str | None = None,
        *,
        other: Memory | None = None,
    ) -> Memory:
        """Replace a memory at its position under its id, and return the new one as stored."""
        new = as_read(new if old.id == new.id else replace(new, id=old.id))
        return self.apply(Change(kind, place, self._name(place), old, new, reason, other))[0]

    def see_again(
        self,
        place: SubjectKey,
        known: Memory,
        turns: int | str | Sequence[int],
        episode: int | str,
        *,
        kind: ChangeKind = "seen again",
        reason: str | None = None,
        other: Memory | None = None,
    ) -> Memory:
        """Count more observations of a memory. The same turn of the same episode counts once.

        Args:
            turns: One turn in the form of `Memory.turns`, or several in order.
        """
        episodes, new = self.lasting.episodes(place) if known.persistence.outlives_episode else (episode,), known
        for turn in (turns,) if isinstance(turns, int | str) else turns:
            new = observed(new, turn, episode, episodes)
        return known if new is known else self.replace(place, known, new, kind, reason, other=other)

    def supersede(
        self,
        place: SubjectKey,
        old: Memory,
        new_title: str,
        turn: int | None,
        reason: str | None = None,
        *,
        other: Memory | None = None,
    ) -> Memory:
        """Mark a memory as replaced by the one with this title, and return it as stored."""
        after = superseded(old, new_title, reason, turn, self._episode)
        return self.replace(place, old, after, "superseded", reason, other=other)

    def invalidate(self, place: SubjectKey, old: Memory, reason: str, turn: int | None) -> Memory:
        """Mark a memory as wrong, and return it as stored."""
        wrong = superseded(old, INVALIDATION_MARKER, reason, turn, self._episode)
        return self.replace(place, old, wrong, "invalidated", single_spaced(reason))

    def remove(self, place: SubjectKey, old: Memory, reason: str | None = None) -> None:
        """Remove a memory."""
        self.apply(Change("removed", place, self._name(place), old, None, reason))

    def set_memories(self, place: SubjectKey, memories: Sequence[Memory]) -> None:
        """Change the lasting memories of a subject to these. Those with the same id or title are replaced."""
        changes = changes_between({place: self.lasting.memories(place)}, {place: memories}, self._name)
        # Removals come first, so that their ids are free.
        for change in sorted(changes, key=lambda change: change.after is not None):
            old, new = change.before, change.after
            if new is not None:
                id = with_id(place, new, lambda id: bool(self._taken({id}))) if old is None else old.id
                change = replace(change, after=replace(new, id=id))
            self.apply(change)

    def move(self, old_place: SubjectKey, new_place: SubjectKey) -> int:
        """Change the key of a place's sections without moving them, and return the number of memories."""
        name, memories = self._name(old_place), self.lasting.memories(old_place)
        self.lasting.move(old_place, new_place)
        self.moves.append((old_place, new_place))
        was, now = f"was {place_in_words(old_place)}", f"now {place_in_words(new_place)}"
        for memory in memories:
            self.changes.append(Change("moved", old_place, name, memory, None, now))
            self.changes.append(Change("moved", new_place, name, None, memory, was))
        return len(memories)
