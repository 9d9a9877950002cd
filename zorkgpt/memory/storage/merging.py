"""Merges a memory file that somebody has edited with the record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from zorkgpt.memory.ids import with_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.history import HistoryRecord, changes_between, dated, kind_of, with_history_of
from zorkgpt.memory.storage.lasting import Heading
from zorkgpt.memory.storage.section import unique_episodes

Memories = Mapping[SubjectKey, Sequence[Memory]]
"""Memories by place."""


@dataclass(frozen=True)
class FileEdits:
    """The edits of a file that shows memories."""

    theirs: Memories
    """The memories of the edited file."""
    undated: Sequence[Memory]
    """Those without an episode in their header."""
    is_broken: bool
    """Whether a part of the file is not understood."""
    present: Memories
    """The memories of the record."""
    at: str
    """The time of the merge, in the format of `HistoryRecord.at`."""
    names: Mapping[SubjectKey, str]
    """The names of places."""
    versions: Callable[[SubjectKey, str], Sequence[Memory]]
    """Returns the versions of the memory with an id at a place, oldest first."""

    def since(self, base: Memories) -> list[HistoryRecord]:
        """Return the edits as changes of the record.

        A known memory that was changed, and one without an episode in its header, is a person's. An unknown memory
        with a complete header was written by another memory, for example on another branch.

        Args:
            base: The memories that the file showed before it was edited.
        """
        changes = self._differences(base, self.theirs)
        gone = {
            change.before.id: change.before for change in changes if change.before is not None and change.after is None
        }
        edits = (self._edit(change, gone) for change in changes)
        return [edit for edit in edits if edit is not None]

    def returning_to(self, earlier: Memories) -> list[HistoryRecord]:
        """Return the changes that bring back the memories of an older copy. They keep their sources.

        Args:
            earlier: The memories that the copy shows.
        """
        changes = self._differences(self.present, earlier, by_title=False)
        return [HistoryRecord(self.at, replace(self._returned(change), kind="reverted"), "hand") for change in changes]

    def _returned(self, change: Change) -> Change:
        after = change.after
        return change if after is None else replace(change, after=replace(after, updated_at=self.at))

    def _differences(self, one: Memories, other: Memories, *, by_title: bool = True) -> list[Change]:
        """Return the changes between memories: removals first, so that an id that moves is free, and additions last."""
        changes = changes_between(one, other, lambda place: self.names.get(place, ""), by_title=by_title)
        if self.is_broken:
            # A part of the file that was not understood may be a memory that seems to be missing.
            changes = [change for change in changes if change.after is not None]
        return sorted(changes, key=lambda change: (change.after is not None, change.before is None))

    def _edit(self, change: Change, gone: Mapping[str, Memory]) -> HistoryRecord | None:
        """Return an edit as a change of the present memory. None if the record has it already.

        Args:
            gone: The memories that are no longer in the file, by their ids.
        """
        place, base, theirs = change.location_id, change.before, change.after
        at, now = self._located.get((base or change.memory).id, (None, None))
        if now is None or at != place:
            return None if theirs is None else self._addition(change, theirs, gone)
        if theirs is None:
            return HistoryRecord(self.at, replace(change, before=now), "hand")
        after = replace(theirs if base is None else _merged(base, theirs, now), id=now.id)
        if after == now:
            return None
        edit = replace(change, kind=kind_of(now, after), before=now, after=after)
        return HistoryRecord(self.at, dated(edit, self.at, "hand"), "hand")

    def _addition(self, change: Change, theirs: Memory, gone: Mapping[str, Memory]) -> HistoryRecord:
        place = change.location_id
        id = with_id(place, theirs, lambda id: id in self._located and id not in gone)
        addition = replace(change, kind="added", before=None, after=replace(theirs, id=id))
        known = self.versions(place, addition.memory.id)
        if (version := next((each for each in reversed(known) if each == theirs), None)) is not None:
            # A person deleted it, and brought it back as it was.
            back = replace(addition, after=with_history_of(addition.memory, version, self.at))
            return HistoryRecord(self.at, back, "hand")
        is_renamed = any(theirs == replace(old, title=theirs.title) for old in gone.values())
        is_by_person = theirs in self.undated or change.before is not None or is_renamed
        source = "hand" if is_by_person else "import"
        return HistoryRecord(self.at, dated(addition, self.at, source), source)

    @cached_property
    def _located(self) -> dict[str, tuple[SubjectKey, Memory]]:
        """The memories of the record with their places, by their ids."""
        return {memory.id: (place, memory) for place, memory in _each(self.present)}


def _each(memories: Memories) -> Iterator[tuple[SubjectKey, Memory]]:
    return ((place, memory) for place, each in memories.items() for memory in each)


_FIELDS = tuple(field.name for field in fields(Memory) if field.init and (field.compare or field.name == "turns"))


def _merged(base: Memory, theirs: Memory, ours: Memory) -> Memory:
    """Return our version with the fields that they have changed."""
    changed = {name: value for name in _FIELDS if (value := getattr(theirs, name)) != getattr(base, name)}
    return replace(ours, **changed)


def merged_heading(theirs: Heading, ours: Heading) -> Heading:
    """Return the heading of a place whose visits have been counted in the file and in the record."""
    episodes = unique_episodes((*ours.episodes, *theirs.episodes))
    return Heading(theirs.name or ours.name, max(theirs.visits, ours.visits, len(episodes)), episodes)
