"""A store that is limited to the places of a scope."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import has_prefix, place_in_words
from zorkgpt.memory.scope import PlaceScope
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.changes import Step
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.lasting import EVERY, Filters, Heading, LastingMemories, Prefix
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.traces import Traces
from zorkgpt.memory.storage.words import WordCounts, matches, words_in

if TYPE_CHECKING:
    # Imported only if there are vectors.
    from zorkgpt.embeddings.table import VectorTable


class ScopedMemories:
    """The lasting memories of a scope, under the same keys as in the whole store."""

    def __init__(self, whole: LastingMemories, scope: PlaceScope) -> None:
        self.whole = whole
        self._scope = scope

    def places(self, prefix: Prefix | None = None, *, believed: bool = False) -> list[SubjectKey]:
        places = self.whole.places(self._scope.path, believed=believed)
        return [place for place in places if prefix is None or has_prefix(place, prefix)]

    def headings(self, places: Iterable[SubjectKey]) -> Mapping[SubjectKey, Heading]:
        return self.whole.headings(filter(self._scope.contains, places))

    def memories(self, place: SubjectKey) -> list[Memory]:
        return self.whole.memories(place) if self._scope.contains(place) else []

    def taken(self, ids: Set[str]) -> Set[str]:
        """Return the ids that a memory of the whole store has, among these."""
        return self.whole.taken(ids)

    def count(self) -> int:
        return len(self.find(EVERY))

    def find(self, wanted: Filters, *, limit: int | None = None, offset: int = 0) -> list[tuple[SubjectKey, Memory]]:
        path, prefix = self._scope.path, wanted.prefix
        within = replace(wanted, prefix=path)
        if prefix is None or (isinstance(prefix, tuple) and prefix[: len(path)] == path):
            return self.whole.find(within if prefix is None else wanted, limit=limit, offset=offset)
        passing = self.whole.find(within)
        end = None if limit is None else offset + limit
        return [(place, memory) for place, memory in passing if has_prefix(place, prefix)][offset:end]

    def text_keys(self, since: object = None) -> tuple[set[bytes], object]:
        return self.whole.text_keys(since)

    def read_ahead(self, places: Iterable[SubjectKey]) -> None:
        self.whole.read_ahead(filter(self._scope.contains, places))

    def applied(self, step: Step) -> "ScopedMemories":
        check_inside(self._scope, step.location_id)
        return ScopedMemories(self.whole.applied(step), self._scope)

    def erased(self, traces: Traces) -> "ScopedMemories":
        return ScopedMemories(self.whole.erased(traces), self._scope)

    def headed(self, place: SubjectKey, heading: Heading | None) -> "ScopedMemories":
        check_inside(self._scope, place)
        return ScopedMemories(self.whole.headed(place, heading), self._scope)

    def moved(self, old: SubjectKey, new: SubjectKey) -> "ScopedMemories":
        check_inside(self._scope, old)
        check_inside(self._scope, new)
        return ScopedMemories(self.whole.moved(old, new), self._scope)


class ScopedStore:
    """A store that is limited to a scope. Its keys are those of the whole store."""

    def __init__(self, whole: Store, scope: PlaceScope) -> None:
        self._whole = whole
        self.scope = scope
        self.path, self.name, self.recovered = whole.path, whole.name, whole.recovered
        self.notices = whole.notices
        self.guard = whole.guard
        self.has_file, self.database = whole.has_file, whole.database
        self.journal = whole.journal.within(scope)
        self.answers = whole.answers.within(scope)

    @property
    def document(self) -> Document:
        whole = self._whole.document
        return replace(whole, sections=tuple(each for each in whole.sections if self.scope.contains(each.location_id)))

    @property
    def lasting(self) -> ScopedMemories:
        return ScopedMemories(self._whole.lasting, self.scope)

    def refresh(self) -> None:
        self._whole.refresh()

    def matching(
        self, asked: Iterable[str], wanted: Filters, limit: int
    ) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
        """Return memories of the scope with any of the words that pass filters, and the frequencies in the scope.

        Reads every memory of the scope, because an index counts the words of the whole store.
        """
        with self.guard:
            lasting = self.lasting
            names = {place: heading.name for place, heading in lasting.headings(lasting.places()).items()}
            with_words = ((place, memory, words_in(names[place], memory)) for place, memory in lasting.find(EVERY))
            return matches(with_words, asked, wanted.passes, limit)

    @contextmanager
    def transaction(
        self,
        *,
        source: str = "agent",
        turn_stamp: TurnStamp | None = None,
        places: Collection[SubjectKey] | None = None,
    ) -> Iterator[Draft]:
        """Begin to change the memories of the scope. See `Store.transaction`.

        Raises:
            MemoryStoreError: If a change is outside the scope, or the whole store raises it.
        """
        with self._whole.transaction(source=source, turn_stamp=turn_stamp, places=places) as draft:
            draft.start = draft.book = self._inside(draft.book)
            yield draft
            for each in draft.steps:
                check_inside(self.scope, each.location_id)
            draft.start, draft.book = map(_outside, (draft.start, draft.book))
        draft.start, draft.book = map(self._inside, (draft.start, draft.book))

    def turn(self) -> AbstractContextManager[None]:
        return self._whole.turn()

    def vectors(self) -> "VectorTable":
        return self._whole.vectors()

    def when_committed(self, call: Callable[[], None]) -> None:
        self._whole.when_committed(call)

    def revert_to(self, position: int, episode: int | str) -> None:
        self._refuse("return to a checkpoint")

    def erase(self, traces: Traces) -> None:
        self._whole.erase(traces)

    def claim_episode(self, least: int) -> int:
        self._refuse("number an episode")

    def claim_subject(self, subject: str) -> str:
        self._refuse("set the subject of the memory")

    def close(self) -> None:
        self._whole.close()

    def _inside(self, book: MemoryBook) -> MemoryBook:
        return replace(book, lasting=ScopedMemories(book.lasting, self.scope))

    def _refuse(self, what: str) -> NoReturn:
        raise MemoryStoreError(f"A memory in the scope {self.scope.path} can't {what}. Open it without a scope.")


def check_inside(scope: PlaceScope, place: SubjectKey | None) -> None:
    """Raise MemoryStoreError unless a stored key belongs to a scope."""
    if not scope.contains(place):
        subject = "Text without a place" if place is None else place_in_words(place)
        raise MemoryStoreError(f"{subject} is outside the scope {scope.path}. Nothing was changed.")


def _outside(book: MemoryBook) -> MemoryBook:
    lasting = book.lasting
    return replace(book, lasting=lasting.whole) if isinstance(lasting, ScopedMemories) else book
