"""The memory book: all memories, lasting and ephemeral, and the closed set of changes to them.

Applying a change is a pure function from one book to the next. A `Draft` collects the changes of one transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.ids import id_of_title, memory_id, with_id
from zorkgpt.memory.models import Memory, MemoryStatus, SubjectKey, episode_key, same_episode
from zorkgpt.memory.places import is_place, place_in_words, place_order
from zorkgpt.memory.storage.document import Document, Index, first_section
from zorkgpt.memory.storage.entry import as_read
from zorkgpt.memory.storage.escaping import encode, folded, one_line
from zorkgpt.memory.storage.lasting import LastingMemories
from zorkgpt.memory.storage.section import (
    LocationSection,
    new_section,
    parse_section,
    with_all_changed,
    with_memories,
    with_number,
    with_visits,
    without,
)
from zorkgpt.memory.storage.trials import Trial
from zorkgpt.memory.storage.versions import observed, proven_wrong

ChangeKind = Literal[
    "added",
    "seen again",
    "superseded",
    "invalidated",
    "merged",
    "edited",
    "removed",
    "moved",
    "contested",
    "qualified",
    "undone",
    "credited",
    "pinned",
    "unpinned",
    "vetoed",
    "unvetoed",
]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one memory, as recorded in the journal."""

    kind: ChangeKind
    location_id: SubjectKey
    location_name: str
    before: Memory | None
    """None if the memory is new."""
    after: Memory | None
    """None if the memory was removed."""
    reason: str | None = None
    other: Memory | None = None
    """The memory that it was compared with, if the comparison caused the change."""

    @property
    def memory(self) -> Memory:
        """The memory after the change, or before it if it was removed."""
        memory = self.after or self.before
        assert memory is not None
        return memory

    @property
    def is_lasting(self) -> bool:
        """Whether the memory outlives its episode."""
        return self.memory.persistence.outlives_episode


@dataclass(frozen=True, slots=True)
class VisitCount:
    """Visits of a place to be counted. Creates the section if there is none, also of a subject that is no place."""

    location_id: SubjectKey
    location_name: str
    episodes: tuple[int | str, ...]
    """The episode of each visit."""


Step = Change | VisitCount


@dataclass(frozen=True, slots=True)
class MemoryBook:
    """All memories. Never changed in place."""

    lasting: LastingMemories = field(default_factory=Document)
    ephemeral: Mapping[SubjectKey, tuple[Memory, ...]] = field(default_factory=dict)
    """The ephemeral memories of the running episode."""

    def memories(self, place: SubjectKey) -> list[Memory]:
        """Return the memories of a place, lasting ones first, including superseded ones."""
        return [*self.lasting.memories(place), *self.ephemeral.get(place, ())]

    def places(self) -> set[SubjectKey]:
        """Return the places that may have memories."""
        return {*self.lasting.places(), *self.ephemeral}

    def all_memories(self) -> dict[SubjectKey, list[Memory]]:
        """Return the memories of each place that has any."""
        found = dict(self.lasting.all_memories())
        for place, memories in self.ephemeral.items():
            if memories:
                found[place] = [*found.get(place, ()), *memories]
        return found

    def named(self, wanted: str, place: SubjectKey | None = None) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories with this id or, ignoring case, this title, with their places, ordered by place.

        Args:
            place: Only at this place. Defaults to all places.
        """
        title = folded(wanted)
        brief = [
            (each, memory)
            for each, memories in self.ephemeral.items()
            if place in (None, each)
            for memory in memories
            if memory_id(each, memory) == wanted or folded(memory.title) == title
        ]
        return sorted([*self.lasting.named(wanted, place), *brief], key=lambda found: place_order(found[0]))

    def expired(self, now: str) -> list[tuple[SubjectKey, Memory]]:
        """Return what has expired, with its place; not what a person has pinned or edited.

        Args:
            now: As `Memory.expires_at`.
        """
        brief = [
            (place, memory)
            for place, memories in self.ephemeral.items()
            for memory in memories
            if memory.expires_at is not None and memory.expires_at <= now
        ]
        found = [*self.lasting.expired(now), *brief]
        return [(place, memory) for place, memory in found if not memory.is_settled_by_person]

    def apply(self, steps: Iterable[Step]) -> "MemoryBook":
        """Return the book after these steps.

        Raises:
            KeyError: If a memory that is to be changed does not exist.
        """
        document, ephemeral = self._document, self.ephemeral
        for (place, is_addition), group in groupby(steps, key=lambda step: (step.location_id, _is_addition(step))):
            if is_addition:
                document = _with_added(document, place, [step for step in group if isinstance(step, Change)])
                continue
            for step in group:
                if isinstance(step, VisitCount):
                    document = _with_visits(document, step)
                elif step.is_lasting:
                    document = _with_change(document, step)
                else:
                    ephemeral = {**ephemeral, place: after_change(ephemeral.get(place, ()), step)}
        return MemoryBook(document, ephemeral)

    @property
    def _document(self) -> Document:
        assert isinstance(self.lasting, Document)
        return self.lasting


def after_change(memories: tuple[Memory, ...], change: Change) -> tuple[Memory, ...]:
    """Return the memories of a place after a change. A memory that is not among them is added at the end."""
    at = _position(memories, change.before)
    new = () if change.after is None else (change.after,)
    return (*memories[:at], *new, *memories[at + 1 :])


class Draft:
    """A book that is being changed. Every method applies its change at once.

    Attributes:
        book: The book as changed so far.
        steps: The changes, in order.
        trials: The trials that the changes count.
    """

    def __init__(
        self,
        book: MemoryBook,
        names: Mapping[SubjectKey, str] | None = None,
        *,
        episode: int | str | None = None,
    ) -> None:
        """
        Args:
            names: The names of places without a section, for the journal.
            episode: The episode in which the changes are made; None if unknown.
        """
        self._episode = episode
        self.begin(book, names or {})
        self.steps: list[Step] = []
        self.trials: tuple[Trial, ...] = ()
        self._is_rewritten = False

    def begin(self, book: MemoryBook, names: Mapping[SubjectKey, str]) -> None:
        """Begin with this book."""
        self.start = self.book = book
        self._names = names

    @property
    def lasting(self) -> LastingMemories:
        """The lasting memories as changed so far."""
        return self.book.lasting

    @property
    def document(self) -> Document:
        """The lasting memories as changed so far, as a file."""
        document = self.book.lasting
        assert isinstance(document, Document)
        return document

    @property
    def changes(self) -> list[Change]:
        """The changes of memories, in order."""
        return [step for step in self.steps if isinstance(step, Change)]

    @property
    def is_changed(self) -> bool:
        """Whether anything is to be written."""
        return self._is_rewritten or bool(self.steps)

    def memories(self, place: SubjectKey) -> list[Memory]:
        """Return the lasting memories of a place."""
        return self.lasting.memories(place)

    def episodes(self, place: SubjectKey) -> tuple[int | str, ...]:
        """Return the episodes in which a place was visited: see `LastingMemories.episodes`."""
        return self.lasting.episodes(place)

    def name(self, place: SubjectKey) -> str:
        """Return the name of a place; "" if it has none."""
        return self.lasting.name(place) or self._names.get(place, "")

    def apply(self, *steps: Step) -> None:
        """Apply steps to the book."""
        self.book = self.book.apply(steps)
        self.steps += steps

    def rewrite(self, document: Document, changes: Iterable[Change] = ()) -> None:
        """Replace the whole document; `changes` say what changed for the journal."""
        self.book = replace(self.book, lasting=document)
        self.steps += changes
        self._is_rewritten = True

    def discard(self) -> None:
        """Undo everything."""
        self.book, self.steps, self.trials = self.start, [], ()
        self._is_rewritten = False

    def rebase(self, document: Document) -> None:
        """Apply the same steps to another version of the lasting memories.

        Raises:
            MemoryStoreError: If this version lacks a memory that the steps change.
        """
        start = replace(self.start, lasting=document)
        try:
            if self._is_rewritten:
                raise KeyError
            self.book = start.apply(self.steps)
        except KeyError:
            raise MemoryStoreError("The memories were changed by someone else at the same time. Try again.") from None
        self.start = start

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
        is_lasting = memories[0].persistence.outlives_episode
        if is_lasting and not self.lasting.has(place):
            self.apply(VisitCount(place, name, visits or (memories[0].episode,)))
        brief = {memory_id(place, one) for one in self.book.ephemeral.get(place, ())}
        taken = self.lasting.ids(place)
        memories = tuple(map(as_read, memories))
        for memory in memories:
            # A lasting memory of the same title may be added later, so the id that follows from it is left to that.
            memory.id = with_id(place, memory, lambda id: id in brief or id in taken, follows=is_lasting)
            brief.add(memory_id(place, memory))
        name = self.name(place) or name
        self.apply(*(Change("added", place, name, None, memory, reason, other) for memory in memories))
        return memories[-1]

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
        kept_id = memory_id(place, old)
        new = as_read(replace(new, id="" if kept_id == id_of_title(place, new.title) else kept_id))
        self.apply(Change(kind, place, self.name(place), old, new, reason, other))
        return new

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
            turns: One, as it stands in an entry, or several in their order.
        """
        episodes, new = self.episodes(place) if known.persistence.outlives_episode else (episode,), known
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
    ) -> None:
        """Mark a memory as replaced by the one of this title."""
        after = replace(
            old,
            status=MemoryStatus.SUPERSEDED,
            superseded_by=one_line(new_title),
            superseded_at_turn=turn,
            superseded_in_episode=self._episode,
            invalidation_reason=None if reason is None else one_line(reason),
        )
        self.replace(place, old, after, "superseded", reason, other=other)

    def invalidate(self, place: SubjectKey, old: Memory, reason: str, turn: int | None) -> None:
        """Mark a memory as wrong."""
        wrong = proven_wrong(old, reason, turn, self._episode)
        self.replace(place, old, wrong, "invalidated", one_line(reason))

    def remove(self, place: SubjectKey, old: Memory, reason: str | None = None) -> None:
        """Remove a memory."""
        self.apply(Change("removed", place, self.name(place), old, None, reason))

    def count_visits(self, place: SubjectKey, episodes: tuple[int | str, ...]) -> None:
        """Count visits of a place that has a section."""
        if episodes and self.lasting.has(place):
            self.apply(VisitCount(place, "", episodes))

    def move(self, old_place: SubjectKey, new_place: SubjectKey) -> int:
        """Give the sections of a place another key, where they are, and return the number of memories moved."""
        document, changes = self.document, []
        for index in document.section_indexes.get(old_place, ()):
            eol = document.eol(index)
            section = with_number(document.section(index), new_place, eol)
            ids = {id(one): replace(one, id=memory_id(old_place, one)) for one in section.memories}
            section = with_all_changed(section, ids, eol)
            sections = list(document.chunks[index[0]].sections)
            sections[index[1]] = section
            document = document.with_sections(index[0], sections)
            was, now = f"was {place_in_words(old_place)}", f"now {place_in_words(new_place)}"
            for memory in section.memories:
                changes.append(Change("moved", old_place, section.name, memory, None, now))
                changes.append(Change("moved", new_place, section.name, None, memory, was))
        self.rewrite(document, changes)
        return len(changes) // 2


def with_replaced(document: Document, place: SubjectKey, pairs: Iterable[tuple[Memory, Memory]]) -> Document:
    """Replace memories of a place, found by identity, each under its id."""
    new = {id(old): replace(new, id=old.id) for old, new in pairs}
    for index in document.section_indexes.get(place, ()) if new else ():
        section = document.section(index)
        if any(id(memory) in new for memory in section.memories):
            document = document.replaced(index, with_all_changed(section, new, document.eol(index)))
    return document


def _is_addition(step: Step) -> bool:
    return isinstance(step, Change) and step.is_lasting and step.before is None


def _with_added(document: Document, place: SubjectKey, additions: Sequence[Change]) -> Document:
    memories = [change.memory for change in additions]
    if place not in document.section_indexes:
        document = _with_location(document, place, additions[0].location_name, (memories[0].episode,))
    index = document.section_indexes[place][0]
    section, eol = document.section(index), document.eol(index)
    for memory in memories:
        section = _with_episode(section, memory.episode, eol)
    return document.replaced(index, with_memories(section, memories, eol))


def _with_change(document: Document, change: Change) -> Document:
    old, new = change.before, change.after
    assert old is not None
    section, index = _section_of(document, change.location_id, old)
    kept = section.memories[_position(section.memories, old)]
    eol = document.eol(index)
    if new is None:
        return document.replaced(index, without(section, kept, eol))
    if change.kind in ("seen again", "merged") and new.observation_count > kept.observation_count:
        section = _with_episode(section, new.episode, eol)
    return document.replaced(index, with_all_changed(section, {id(kept): new}, eol))


def _with_visits(document: Document, visits: VisitCount) -> Document:
    place, episodes = visits.location_id, visits.episodes
    if place not in document.section_indexes:
        return _with_location(document, place, visits.location_name, episodes)
    if not is_place(place):
        return document
    index = document.section_indexes[place][0]
    section = document.section(index)
    seen = _unique((*section.episodes, *episodes))
    return document.replaced(index, with_visits(section, section.visits + len(episodes), seen, document.eol(index)))


def _section_of(document: Document, place: SubjectKey, memory: Memory) -> tuple[LocationSection, Index]:
    indexes = document.section_indexes[place]
    for index in indexes:
        if any(kept is memory for kept in document.section(index).memories):
            return document.section(index), index
    for index in indexes:
        if memory in document.section(index).memories:
            return document.section(index), index
    raise KeyError(memory.title)


def _position(memories: tuple[Memory, ...], memory: Memory | None) -> int:
    """Return the position of a memory, of this very one if it is there; that after the last if it is not."""
    if memory is None:
        return len(memories)
    identical = next((at for at, kept in enumerate(memories) if kept is memory), None)
    if identical is not None:
        return identical
    return memories.index(memory) if memory in memories else len(memories)


def _with_location(document: Document, place: SubjectKey, name: str, visits: tuple[int | str, ...]) -> Document:
    """Insert a section for a new location before the first one with a later key."""
    order = place_order(place)
    later = (i for i, each in enumerate(document.chunks) if (last := each.last) is not None and last > order)
    number = next(later, len(document.chunks) - 1)
    chunk = document.chunks[number]
    eol = chunk.eol
    sections = list(chunk.sections) or [first_section(eol)]
    at = next(
        (i for i, s in enumerate(sections) if s.location_id is not None and place_order(s.location_id) > order),
        len(sections),
    )
    if at > 0:
        sections[at - 1] = _ending_blank(sections[at - 1], eol)
    section = new_section(place, name, len(visits), _unique(visits), eol)
    sections.insert(at, _ending_blank(section, eol) if at < len(sections) else section)
    return document.with_sections(number, sections)


def _with_episode(section: LocationSection, episode: int | str, eol: str) -> LocationSection:
    if not is_place(section.location_id) or any(same_episode(known, episode) for known in section.episodes):
        return section
    episodes = (*section.episodes, episode)
    return with_visits(section, max(section.visits, len(episodes)), episodes, eol)


def _unique(episodes: Iterable[int | str]) -> tuple[int | str, ...]:
    """Return each episode once, in the form in which it occurs first."""
    found: dict[int | str, int | str] = {}
    for episode in episodes:
        found.setdefault(episode_key(episode), episode)
    return tuple(found.values())


def _ending_blank(section: LocationSection, eol: str) -> LocationSection:
    missing = 0 if section.data.endswith(encode(eol + eol)) else 1 if section.data.endswith(b"\n") else 2
    return parse_section(section.data + encode(eol * missing)) if missing and section.data else section
