"""Writing of memories: lasting ones to the store, ephemeral ones to this process."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from zorkgpt.errors import MemoryRefused, MemoryStoreError
from zorkgpt.memory.checks import utc_now
from zorkgpt.memory.credit import CreditCounter
from zorkgpt.memory.dedup import decision as decisions
from zorkgpt.memory.dedup.decision import NEW, Decision
from zorkgpt.memory.dedup.deduplicator import Deduplicator
from zorkgpt.memory.entailment.comparison import compared
from zorkgpt.memory.episode import EpisodeState
from zorkgpt.memory.events import MemoryEvents
from zorkgpt.memory.guards import SETTLED, GuardCount, NewMemory, guarded
from zorkgpt.memory.ids import full_id
from zorkgpt.memory.known import KnownMemories
from zorkgpt.memory.models import Memory, MemoryStatus, PlaceKey, SubjectKey
from zorkgpt.memory.places import place_from_json, place_in_words, place_text, place_to_json
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.reverting import revert
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.versions import is_current, same_words, titled, with_observations_of, with_same_words
from zorkgpt.memory.visits import Visits
from zorkgpt.text import quoted


class MemoryWriter:
    """Adds, replaces and marks memories.

    A method that can't write logs and counts the failure, and raises a `MemoryStoreError`.

    Args:
        deduplicator: Asked before a lasting memory is stored. None if only identical texts count as repeats.
        debug: Whether to log every change of an ephemeral memory.
    """

    def __init__(
        self,
        store: Store,
        state: EpisodeState,
        log: logging.Logger,
        *,
        deduplicator: Deduplicator | None,
        debug: bool,
    ) -> None:
        self.store = store
        self.visits = Visits()
        self.known = KnownMemories(store, log)
        self.events = MemoryEvents(self.known, log, debug=debug)
        self.credit = CreditCounter(store.journal)
        self.deduplicator = deduplicator
        self.write_failures = 0
        self._failure_logged = ""
        """The reason why writes fail at present, as logged; "" if they don't."""
        self.guard_counts = Counter[str]()
        """What the guards did in this episode, by `GuardCount`."""
        self._log = log
        self._state = state
        self._debug = debug
        self._episode_start: int | None = None
        """The size of the journal before the first ephemeral memory of the episode. None if there is none."""
        self._is_note_lost = False
        """Whether a change of an ephemeral memory could not be journaled."""

    def refresh(self) -> None:
        """Read the changes of other processes, if possible."""
        try:
            self.store.refresh()
        except MemoryStoreError as error:
            self._log.warning("memories not read again", extra={"error": str(error)})
        else:
            self.forget_expired()

    def forget_expired(self) -> int:
        """Remove expired memories, and return how many. None is removed if they can't be written."""
        expired = self.known.expired(utc_now())
        if expired:
            lasting = any(memory.persistence.outlives_episode for _, memory in expired)
            with suppress(MemoryStoreError), self.changing(lasting=lasting) as draft:
                return len(draft.changes)
        return 0

    def keep(self, new: Sequence[NewMemory], *, is_informed: bool = False) -> list[tuple[NewMemory, str]]:
        """Store memories in one write. One that repeats a stored memory counts as another observation of it.

        Args:
            is_informed: Whether the author saw the memories of the places and named the ones to replace.

        Returns:
            Each memory as the guards accepted it, and the id of the stored one, or of the one that it repeats.

        Raises:
            MemoryRefused: If a guard refuses one of the memories. Nothing was stored.
            MemoryStoreError: If the memories can't be written.
        """
        # Ask models before locking anything.
        offered = self._judged(new, is_informed=is_informed)
        kept: list[tuple[NewMemory, str]] = []
        decided: list[Decision] = []
        lasting = any(memory.persistence.outlives_episode for _, memory in offered)
        with self.changing(lasting=lasting, places={each.location_id for each in new}) as draft:
            if len(new) > 1:
                # A database is asked for all ids at once.
                draft.lasting.taken({full_id(each.location_id, memory.title, memory.id) for each, memory in offered})
            for each, _ in offered:
                accepted, decision, id = self._put(draft, each, is_informed=is_informed)
                kept.append((accepted, id))
                decided.append(decision)
        if self.deduplicator is not None:
            for (each, _), decision in zip(kept, decided, strict=True):
                self.deduplicator.note(each.location_id, each.memory, decision)
        return kept

    def _judged(self, new: Sequence[NewMemory], *, is_informed: bool) -> list[tuple[NewMemory, Memory]]:
        """Return each memory with the judge's verdicts about it and those of its place, and as the guards accept it.

        The guards run first, so that the judge is not asked about a memory that they refuse.
        """
        deduplicator = self.deduplicator
        judge = None if deduplicator is None or deduplicator.has_only_words else deduplicator
        if judge is not None:
            self.refresh()
        before: dict[SubjectKey, list[Memory]] = {}
        judged = []
        for each in new:
            accepted = each
            if judge is not None or each.evidence is not None:
                with self.store.guard:
                    accepted = self._guarded(each, self.known)
            if judge is not None and not accepted.replaced:
                earlier = before.setdefault(each.location_id, [])
                name, among = each.name or place_text(each.location_id), [*accepted.present, *earlier]
                verdicts = judge.verdicts(name, accepted.memory, among, is_informed=is_informed)
                each = replace(each, verdicts=verdicts)
                earlier.append(accepted.memory)
            judged.append((each, accepted.memory))
        return judged

    def _guarded(self, new: NewMemory, book: MemoryBook) -> NewMemory:
        """Return a memory as the guards accept it. A refusal is counted and reported as an event."""
        try:
            return guarded(replace(new, present=book.memories(new.location_id)))
        except MemoryRefused as refusal:
            self.guard_counts[refusal.count] += 1
            self.events.ignore(new.location_id, new.memory, refusal.reason)
            raise

    def _put(self, draft: Draft, new: NewMemory, *, is_informed: bool) -> tuple[NewMemory, Decision, str]:
        """Put a memory into the draft. Return it as accepted, the decision about it, and the id of the stored one.

        Raises:
            MemoryRefused: If a guard refuses it.
        """
        new = self._guarded(new, draft)
        place, memory, decision = new.location_id, new.memory, NEW
        for message, count in new.corrections:
            self.guard_counts[count] += 1
            self._log.warning("%s", message, extra={"location_id": place, "title": memory.title})
        if self.deduplicator is not None:
            if new.evidence is not None:
                # One that says the same is not replaced, but seen again.
                repeated = [old for old in new.replaced if old.persistence.outlives_episode]
                repeated = [old for old in repeated if compared(old, memory).relation == "same"]
                new = replace(new, replaced=[old for old in new.replaced if old not in repeated])
            if not new.replaced:
                decision = self.deduplicator.decide(memory, new.present, is_informed=is_informed, verdicts=new.verdicts)
        self.known.note_name(place, new.name)
        if decision.joins(memory):
            stored = decisions.apply(draft, place, new.name, memory, decision)
        else:
            stored = self._add(draft, new)
        # A known memory may lack these fields.
        if new.given and not stored.is_settled_by_person and (changed := replace(stored, **new.given)) != stored:
            stored = draft.replace(place, stored, changed, "edited")
        return new, decision, stored.id

    def invalidate(self, location_id: SubjectKey, title: str, reason: str, turn: int | None) -> None:
        """Mark a memory as wrong.

        Raises:
            MemoryRefused: If there is no reason or no such memory, or if a person has pinned or edited it.
            MemoryStoreError: If the change can't be written.
        """
        if not reason.strip():
            raise MemoryRefused(f"{quoted(title)} was not marked as wrong: the reason is blank.")
        self.refresh()
        found = titled(self.known.memories(location_id), title, location_id)
        if found is None:
            raise MemoryRefused(f"There is no current memory {quoted(title)} at {place_in_words(location_id)}.")
        with self.changing_memory(location_id, found) as (draft, known):
            draft.invalidate(location_id, known, reason, turn)

    @contextmanager
    def refusals_logged(self) -> Iterator[None]:
        """Continue after a change that was refused, which is logged, or that could not be written."""
        try:
            yield
        except MemoryRefused as refusal:
            self._log.warning("%s", refusal)
        except MemoryStoreError:
            # `changing` has logged it.
            pass

    @contextmanager
    def changing_memory(
        self, location_id: SubjectKey, memory: Memory, *, also_settled: bool = False
    ) -> Iterator[tuple[Draft, Memory]]:
        """Change one memory, which is found by its words.

        Args:
            also_settled: Whether one that a person has pinned or edited may be changed too.

        Yields:
            The draft, and the stored memory.

        Raises:
            MemoryRefused: If the memory no longer exists or may not be changed.
            MemoryStoreError: If the change can't be written.
        """
        with self.changing(lasting=memory.persistence.outlives_episode) as draft:
            known = _known(draft, location_id, memory)
            if known is None:
                raise MemoryRefused(f"There is no memory {quoted(memory.title)} at {place_in_words(location_id)} now.")
            if known.is_settled_by_person and not also_settled:
                self.guard_counts[GuardCount.SETTLED] += 1
                raise MemoryRefused(f"{quoted(known.title)} was not changed: {SETTLED}.")
            yield draft, known

    def keep_entry(
        self, location_id: PlaceKey, name: str, entry: Memory, known: Memory | None, *, seen: Sequence[int] = ()
    ) -> None:
        """Write an entry derived from the game state, if possible. A known entry is replaced under its id.

        Args:
            seen: The turns that count as observations of the entry, in order.
        """
        if known is not None and not seen and (known.claims, known.text) == (entry.claims, entry.text):
            return
        with suppress(MemoryStoreError), self.changing(lasting=entry.persistence.outlives_episode) as draft:
            self.known.note_name(location_id, name)
            memories = draft.memories(location_id)
            if any(memory.vetoed and memory.title == entry.title for memory in memories):
                return
            stored = None if known is None else with_same_words(memories, known)
            if known is None:
                stored = draft.add(location_id, name, entry, visits=self.visits.uncounted(location_id))
            if stored is None or stored.is_settled_by_person:
                return
            if stored.claims != entry.claims or stored.text != entry.text:
                new = replace(stored, text=entry.text, claims=entry.claims)
                stored = draft.replace(location_id, stored, new, "edited", "seen in the game")
            draft.see_again(location_id, stored, seen, entry.episode)

    @contextmanager
    def changing(
        self, *, lasting: bool, counts_only: bool = False, places: Collection[SubjectKey] | None = None
    ) -> Iterator[Draft]:
        """Change the memories. Pending counts are written along with any change of a lasting memory.

        Expired memories are removed first, so that a fact that is learned again is not counted on one of them.

        Args:
            lasting: Whether a lasting memory may be changed. If not, the store need not be writable.
            counts_only: Write only the pending counts.
            places: The places that are changed, apart from pending counts. Defaults to all places.

        Raises:
            MemoryStoreError: If the store can't be read or written. This is logged and counted.
        """
        stamp = self._state.stamp()
        try:
            with self.store.guard:
                if lasting:
                    if self.visits.uncounted_places or self.credit.is_pending:
                        places = None
                    with self.store.transaction(turn_stamp=stamp, places=places) as draft:
                        draft.ephemeral, draft.names = dict(self.known.ephemeral), self.known.names
                        # First, because a change in an episode that the place doesn't list yet would count as a visit.
                        self.visits.count_in(draft)
                        _remove_expired(draft, places=places)
                        yield draft
                        if not draft.changes and not counts_only:
                            draft.discard()
                        if not draft.is_discarded:
                            self.credit.count_in(draft)
                    if not draft.is_discarded:
                        self._failure_logged = ""
                        self.credit.drop()
                        self.visits.written(draft)
                else:
                    at = utc_now()
                    known = self.known
                    draft = Draft(known.lasting, known.ephemeral, known.names, turn_stamp=stamp, at=at)
                    _remove_expired(draft, lasting=False)
                    yield draft
                    self._journal(draft.changes, stamp, at)
                if not draft.is_discarded:
                    self.known.ephemeral = draft.ephemeral
        except MemoryStoreError as error:
            self._note_failure(error)
            raise
        for change in draft.changes:
            if change.kind != "credited":
                self.events.tell(change, draft)

    def _note_failure(self, error: MemoryStoreError) -> None:
        """Log and count a failed write. Each reason is logged once until a write succeeds."""
        self.write_failures += 1
        if str(error) != self._failure_logged:
            self._failure_logged = str(error)
            # The fields for reports of damaged files. See `zorkgpt.log.DamagedFiles`.
            fields = {"path": self.store.name, "set_aside": "", "way_out": str(error)}
            self._log.error("memories could not be written", extra=fields)

    def _journal(self, changes: Sequence[Change], stamp: TurnStamp | None, at: str) -> None:
        """Record changes of ephemeral memories, if possible."""
        try:
            if self._episode_start is None:
                self._episode_start = self.store.journal.size()
            self.store.journal.append(changes, turn_stamp=stamp, at=at)
        except MemoryStoreError as error:
            if not self._is_note_lost:
                self._log.warning("changes of ephemeral memories are not journaled", extra={"error": str(error)})
            self._is_note_lost = True

    def count(self) -> None:
        """Write the visits and the results of memories that no other write has included.

        If this fails, they are written later.
        """
        with suppress(MemoryStoreError):
            if self.credit.is_pending or self.visits.are_waiting(self.store.lasting):
                with self.changing(lasting=True, counts_only=True):
                    pass

    def end_turn(self) -> None:
        """Record that the current turn has ended, if there is a history."""
        try:
            with self.store.guard:
                if self.store.journal.size():
                    self.store.journal.end_turn(self._state.episode, self._state.turn)
        except MemoryStoreError as error:
            self._log.warning("the end of a turn is not recorded", extra={"error": str(error)})

    def forget_episode(self) -> None:
        """Drop the ephemeral memories and the counts of the episode."""
        if self._debug:
            self._log.info("ephemeral memories forgotten", extra={"count": len(self.known.all_ephemeral())})
        self.known.ephemeral = {}
        self._episode_start = None
        self.guard_counts.clear()
        if self.deduplicator is not None:
            self.deduplicator.reset()

    def forget(
        self,
        removed: Collection[tuple[SubjectKey, str]],
        is_trace: Callable[[str], bool],
        gone: Collection[SubjectKey] = (),
    ) -> None:
        """Drop these ephemeral memories, by place and id, and everything pending that contains text to forget.

        Args:
            gone: Places of which everything is dropped.
        """
        known = self.known
        for place, memories in known.ephemeral.items():
            known.ephemeral[place] = tuple(each for each in memories if (place, each.id) not in removed)
        known.names = {place: name for place, name in known.names.items() if not is_trace(name) and place not in gone}
        self.events.forget(is_trace, gone)
        self.credit.forget()
        if self.deduplicator is not None:
            self.deduplicator.forget()

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the running episode as plain values, with the position before its first memory."""
        saved = {
            "names": [[place_to_json(place), name] for place, name in self.known.names.items()],
            "write_failures": self.write_failures,
            "start": self.store.journal.size() if self._episode_start is None else self._episode_start,
            "guard_counts": dict(self.guard_counts),
        }
        return saved if self.deduplicator is None else saved | self.deduplicator.snapshot()

    def restore(self, episode: int | str, saved: dict[str, Any], position: int) -> None:
        """Continue an interrupted episode from the value of `snapshot`, with its memories from the journal.

        Args:
            position: The position of the journal at the time of the snapshot.
        """
        self.forget_episode()
        self._episode_start = int(saved["start"])
        self.known.ephemeral = self.store.journal.ephemeral(episode, self._episode_start)
        self.revert_ephemeral(episode, position, source="agent")
        if not self.known.ephemeral and self._episode_start < position and self.store.journal.size() < position:
            self._log.warning("the journal was replaced: ephemeral memories of episode %s are lost", episode)
        self.known.names.update((place_from_json(place), str(name)) for place, name in saved["names"])
        self.write_failures = int(saved["write_failures"])
        self.credit.drop()
        self.guard_counts.update(saved["guard_counts"])
        if self.deduplicator is not None:
            self.deduplicator.restore(saved)
        if self._debug:
            self._log.info("ephemeral memories restored", extra={"count": len(self.known.all_ephemeral())})

    def revert_ephemeral(self, episode: int | str, position: int, *, source: str) -> None:
        """Revert the changes of ephemeral memories since a position of the journal.

        Args:
            source: The author. See `HistoryRecord.source`.
        """
        journal, stamp, at = self.store.journal, self._state.stamp(), utc_now()
        if not (records := [*journal.ephemeral_changes(episode, position)]):
            return
        known = self.known
        draft = Draft(known.lasting, known.ephemeral, known.names, turn_stamp=stamp, at=at, source=source)
        with self.store.turn():
            revert(journal, draft, records, source=source)
            journal.append(draft.changes, source=source, turn_stamp=stamp, at=at)
        known.ephemeral = draft.ephemeral

    # Changes

    def _add(self, draft: Draft, new: NewMemory) -> Memory:
        """Add a memory, or count another observation if it is known, and supersede the replaced ones.

        A lasting memory also replaces an ephemeral one with the same words. Returns the stored memory.
        """
        location_id, memory, olds = new.location_id, new.memory, list(new.replaced)
        is_lasting = memory.persistence.outlives_episode
        replaced = set(map(id, olds))
        others = []
        for other in new.present:
            if id(other) in replaced:
                continue
            if other.persistence.outlives_episode == is_lasting:
                others.append(other)
            elif is_lasting and is_current(other) and same_words(other, memory):
                olds.append(other)
        known = with_same_words(others, memory) if is_current(memory) else None
        confirms = memory.status == MemoryStatus.ACTIVE
        is_unsettled = known is not None and known.status == MemoryStatus.TENTATIVE and not known.is_settled_by_person
        if known is not None and is_unsettled and confirms and not _is_contested(known, others):
            memory = with_observations_of(memory, known, draft.lasting.episodes(location_id))
            olds.append(known)
            known = None
        if known is None:
            stored = draft.add(location_id, new.name, memory, visits=self.visits.uncounted(location_id))
        else:
            stored = draft.see_again(location_id, known, memory.turns, memory.episode)
        for old in olds:
            draft.supersede(location_id, old, memory.title, new.turn)
        return stored


def _ephemeral(draft: Draft, location_id: SubjectKey) -> tuple[Memory, ...]:
    return draft.ephemeral.get(location_id, ())


def _remove_expired(draft: Draft, *, lasting: bool = True, places: Collection[SubjectKey] | None = None) -> None:
    for place, memory in draft.expired(utc_now()):
        if (lasting or not memory.persistence.outlives_episode) and (places is None or place in places):
            draft.remove(place, memory, "it has expired")


def _known(draft: Draft, location_id: SubjectKey, memory: Memory) -> Memory | None:
    """Return the current memory with the same words among the lasting or the ephemeral ones, depending on `memory`."""
    is_lasting = memory.persistence.outlives_episode
    return with_same_words(
        draft.lasting.memories(location_id) if is_lasting else _ephemeral(draft, location_id), memory
    )


def _is_contested(known: Memory, others: Iterable[Memory]) -> bool:
    """Return whether a contradicting memory is tentative too, so that repeating this one doesn't confirm it."""
    rivals = (other for other in others if other is not known and other.status == MemoryStatus.TENTATIVE)
    return any(compared(rival, known).relation == "conflict" for rival in rivals)
