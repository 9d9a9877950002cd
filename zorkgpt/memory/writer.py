"""Writes memories: lasting ones into the store, those of the episode into the memory book of this process."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.claims import Claim, State
from zorkgpt.memory.credit.assignment import CreditLedger
from zorkgpt.memory.dedup import decision as decisions
from zorkgpt.memory.dedup.decision import NEW, Decision
from zorkgpt.memory.dedup.deduplicator import Deduplicator
from zorkgpt.memory.entailment.comparison import compared
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.metadata import utc_now
from zorkgpt.memory.models import Memory, MemoryEvent, MemoryStatus, Persistence, PlaceKey, SubjectKey
from zorkgpt.memory.places import is_place, place_from_json, place_in_words, place_to_json, render_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.changes import Change, ChangeKind
from zorkgpt.memory.storage.escaping import folded, one_line
from zorkgpt.memory.storage.history import OBSERVATIONS, TurnStamp
from zorkgpt.memory.storage.lasting import episodes_of, heading_of
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.versions import is_current, known_again, same_words, taking_over, titled
from zorkgpt.memory.turn_span import TurnSpan
from zorkgpt.memory.visits import Visits

if TYPE_CHECKING:
    from zorkgpt.memory.dedup.consolidation import Merge
    from zorkgpt.memory.dedup.deduplicator import VerdictByWords


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory that is to be kept."""

    location_id: SubjectKey
    """A valid place, see `checked_place`."""
    name: str
    """The name of the place; "" if unknown."""
    memory: Memory
    given: Mapping[str, Any] = field(default_factory=dict)
    """Fields that a known memory takes over if the new one only repeats it."""
    replaces: Sequence[str] = ()
    """The titles or `MemoryId`s of the memories that it supersedes."""
    turn: int | None = None
    """The turn in which it supersedes them; None if unknown."""


class MemoryWriter:
    """Adds, replaces and marks memories. A method that returns False changed nothing and logged the reason.

    Args:
        deduplicator: Asked before a lasting memory is stored. None if only identical texts count as repeats.
        stamp: Returns the current turn for the journal; None if unknown.
        debug: Whether to log every change of an ephemeral memory.
    """

    def __init__(
        self,
        store: Store,
        visits: Visits,
        log: logging.Logger,
        *,
        deduplicator: Deduplicator | None = None,
        stamp: Callable[[], TurnStamp | None] = lambda: None,
        debug: bool = False,
    ) -> None:
        self.store = store
        self.deduplicator = deduplicator
        self.ephemeral: dict[SubjectKey, tuple[Memory, ...]] = {}
        self.names: dict[SubjectKey, str] = {}
        """The name of each place, as given first."""
        self._other_names: set[tuple[SubjectKey, str]] = set()
        """Other names of places that were logged."""
        self.events: list[MemoryEvent] = []
        self.write_failures = 0
        self._failure_logged = ""
        """The reason why writes fail at present, as logged; "" if they don't."""
        self.vetoes_obeyed = 0
        """The number of memories in this episode that were not stored because a person hid them."""
        self.protected = 0
        """The number of attempts in this episode to replace or invalidate a memory that a person pinned or edited."""
        self.evidence = CreditLedger(store.trials, log, learned_in=self.turn_when_learned)
        self._log = log
        self._visits = visits
        self._stamp = stamp
        self._debug = debug
        self._episode_start: int | None = None
        """The end of the journal before the first ephemeral memory of the episode; None if there is none."""
        self._is_note_lost = False
        """Whether a change of an ephemeral memory could not be journaled."""
        self._failed = threading.local()
        self._observed_in: dict[tuple[SubjectKey, str, str], list[tuple[ChangeKind, TurnStamp]]] = {}
        """The turns in which a memory was learned or observed again, by place, title and text."""

    @property
    def last_error(self) -> MemoryStoreError | None:
        """Why this thread's last change could not be written. None if it was written."""
        return getattr(self._failed, "error", None)

    @last_error.setter
    def last_error(self, error: MemoryStoreError | None) -> None:
        self._failed.error = error

    @property
    def book(self) -> MemoryBook:
        """All memories as last read."""
        return MemoryBook(self.store.lasting, self.ephemeral)

    def current(self, location_id: SubjectKey) -> list[Memory]:
        """Return the current memories of a location, lasting ones first."""
        with self.store.guard:
            return [memory for memory in self.book.memories(location_id) if is_current(memory)]

    def refresh(self) -> bool:
        """Read the changes of other processes. False if that failed; the memories are then as last read."""
        try:
            self.store.refresh()
        except MemoryStoreError as error:
            self._log.warning("memories not read again", extra={"error": str(error)})
            return False
        self.forget_expired()
        return True

    def forget_expired(self) -> int:
        """Remove expired memories, and return how many. A failed write is reported, and removes none."""
        now = utc_now()
        expired = self.book.expired(now)
        if not expired:
            return 0
        lasting = any(memory.persistence.outlives_episode for _, memory in expired)
        with self._failures_reported(), self.changing(lasting=lasting) as draft:
            expired = draft.book.expired(now)
            for place, memory in expired:
                draft.remove(place, memory, "it has expired")
            return len(expired)
        return 0

    def keep(self, new: "Sequence[NewMemory]", *, is_judged: bool = False) -> list[str]:
        """Store memories in one write. One that repeats a stored memory counts as another observation of it.

        Args:
            is_judged: Whether the author saw the memories of the places and named the ones to replace.

        Returns:
            The ids of the memories, or of those that they repeat, in order. [] if nothing was stored because of an
            error, because a person hid one of them, or because one can't supersede what it is to replace.
        """
        # Before locking anything, because a judge may be asked.
        verdicts = self._verdicts(new, is_judged=is_judged)
        kept: list[str] = []
        decided: list[Decision] = []
        lasting = any(each.memory.persistence.outlives_episode for each in new)
        with self._failures_reported(), self.changing(lasting=lasting) as draft:
            for each, said in zip(new, verdicts, strict=True):
                place, memory, known = each.location_id, each.memory, draft.memories(each.location_id)
                decision = NEW
                if self.deduplicator is not None and not each.replaces:
                    decision = self.deduplicator.decide(place, memory, known, is_judged=is_judged, verdicts=said)
                is_hidden = not decision.joins(memory) and self._is_forbidden_in_words(place, memory, known)
                olds = None if is_hidden else self._replaced(draft, each)
                if olds is None:
                    draft.discard()
                    return []
                self.note_name(place, each.name)
                kept.append(self._put(draft, each, decision, olds))
                decided.append(decision)
        if self.last_error is not None:
            return []
        if self.deduplicator is not None:
            for each, decision in zip(new, decided, strict=True):
                self.deduplicator.note(each.location_id, each.memory, decision)
        return kept

    def _verdicts(self, new: "Sequence[NewMemory]", *, is_judged: bool) -> "list[VerdictByWords]":
        """Return the judge's verdicts about each memory, those of its place and those before it in the sequence."""
        new_facts = [each for each in new if each.memory.persistence.outlives_episode and not each.replaces]
        if self.deduplicator is None or not new_facts:
            return [{}] * len(new)
        self.refresh()
        before: dict[SubjectKey, list[Memory]] = {}
        verdicts = []
        for each in new:
            after = before.setdefault(each.location_id, [])
            verdicts.append(
                self.deduplicator.verdicts(each.location_id, each.name, each.memory, is_judged=is_judged, after=after)
            )
            after.append(each.memory)
        return verdicts

    def _replaced(self, draft: Draft, new: "NewMemory") -> list[Memory] | None:
        """Return the memories that a new one is to supersede. None if it may not, or if none is left of them."""
        place, is_lasting = new.location_id, new.memory.persistence.outlives_episode
        found = (_titled(draft, place, title, new.memory.persistence) for title in new.replaces)
        olds = [old for old in found if old is not None]
        if new.replaces and not olds:
            self._log.warning("nothing to supersede", extra={"location_id": place, "titles": list(new.replaces)})
            return None
        if self._is_settled_by_person(place, olds):
            return None
        lasting = next((old for old in olds if old.persistence.outlives_episode), None)
        if lasting is not None and not is_lasting:
            self._log.warning(
                "%s is not superseded by %s: the restart would lose what is known",
                lasting.persistence,
                new.memory.persistence,
                extra={"location_id": place, "old": lasting.title, "new": new.memory.title},
            )
            return None
        return olds

    def _put(self, draft: Draft, new: "NewMemory", decision: Decision, olds: Sequence[Memory]) -> str:
        """Put a memory into the draft as decided, and return the id of what is kept.

        Args:
            olds: The memories that it supersedes.
        """
        begun, location_id, memory, match = len(draft.steps), new.location_id, new.memory, decision.about
        turn = TurnSpan.parse(memory.turns).last_number
        if (
            match is not None
            and decision.joins(memory)
            and decisions.apply(draft, location_id, new.name, memory, decision, turn)
        ):
            kept = _id_of_kept(draft, location_id, match.known, begun)
            if decision.kind == "repeats" and match.known.status == MemoryStatus.TENTATIVE:
                decisions.settle(draft, location_id, match.known, turn)
        else:
            self._add(draft, location_id, new.name, memory, olds, new.turn)
            kept = _id_of_kept(draft, location_id, memory, begun)
        for stored in draft.book.memories(location_id) if new.given else ():
            # It may have been known without these.
            if memory_id(location_id, stored) == kept and not stored.is_settled_by_person:
                changed = replace(stored, **new.given)
                if changed != stored:
                    draft.replace(location_id, stored, changed, "edited")
        return kept

    def name_of(self, location_id: SubjectKey) -> str:
        """Return the name of a place in the file, or else the first one given; "" if unknown."""
        return heading_of(self.store.lasting, location_id).name or self.names.get(location_id, "")

    def located(self, found: Iterable[tuple[SubjectKey, Memory]]) -> list[LocatedMemory]:
        """Return memories with their places and the names of these. A database is asked for all names at once."""
        memories = list(found)
        headings = self.store.lasting.headings({place for place, _ in memories})
        names = self.names | {place: heading.name for place, heading in headings.items() if heading.name}
        return [LocatedMemory(place, names.get(place, ""), memory) for place, memory in memories]

    def note_name(self, location_id: SubjectKey, name: str) -> None:
        """Record the name of a place if it has none. Another name is logged once and ignored."""
        name = one_line(name)
        if not name:
            return
        known = self.name_of(location_id)
        if not known:
            self.names[location_id] = name
        elif known != name and (location_id, name) not in self._other_names:
            self._other_names.add((location_id, name))
            self._log.warning(
                "%s has the name %r; the other name %r is ignored",
                place_in_words(location_id),
                known,
                name,
            )

    def invalidate(self, location_id: SubjectKey, title: str, reason: str, turn: int | None) -> bool:
        """Mark a memory as wrong. False without a reason, or if a person has pinned or edited it."""
        if not reason.strip():
            self._log.warning("not invalidated: no reason given", extra={"location_id": location_id, "title": title})
            return False
        if not self.refresh():
            return False
        found = _titled(Draft(self.book), location_id, title, Persistence.PERMANENT)
        if found is None:
            self._log.warning("nothing to invalidate", extra={"location_id": location_id, "title": title})
            return False
        with self._failures_reported(), self.changing(lasting=found.persistence.outlives_episode) as draft:
            old = _titled(draft, location_id, title, Persistence.PERMANENT)
            if old is None or self._is_settled_by_person(location_id, [old]):
                return False
            draft.invalidate(location_id, old, reason, turn)
            return True
        return False

    def keep_entry(
        self, location_id: PlaceKey, name: str, entry: Memory, known: Memory | None, *, seen: Sequence[int] = ()
    ) -> None:
        """Write an entry derived from the game state. A known entry is replaced under its id.

        Args:
            seen: The turns that count as observations of the entry, in order.
        """
        if known is not None and not seen and (known.claims, known.text) == (entry.claims, entry.text):
            return
        with self._failures_reported(), self.changing(lasting=entry.persistence.outlives_episode) as draft:
            self.note_name(location_id, name)
            memories = draft.book.memories(location_id)
            if any(one.vetoed and one.title == entry.title for one in memories):
                return
            kept = known_again(memories, known) if known is not None else None
            if known is None:
                kept = draft.add(location_id, name, entry, visits=self._visits.uncounted(location_id))
            if kept is None or kept.is_settled_by_person:
                return
            if kept.claims != entry.claims or kept.text != entry.text:
                kept = draft.replace(
                    location_id, kept, replace(kept, text=entry.text, claims=entry.claims), "edited", "seen in the game"
                )
            draft.see_again(location_id, kept, seen, entry.episode)

    def seen_again(self, location_id: SubjectKey, memory: Memory, turn: int | str, episode: int | str) -> bool:
        """Count one more observation of a stored memory. The same turn of the same episode counts once."""
        with self._failures_reported(), self.changing(lasting=memory.persistence.outlives_episode) as draft:
            known = _known(draft, location_id, memory)
            if known is None:
                return False
            draft.see_again(location_id, known, turn, episode)
            return True
        return False

    def confirm(self, location_id: SubjectKey, memory: Memory, turn: int | str, episode: int | str) -> bool:
        """Believe a tentative memory, and count one more observation of it. False if nothing was changed."""
        with self._failures_reported(), self.changing(lasting=memory.persistence.outlives_episode) as draft:
            known = _known(draft, location_id, memory)
            if known is None or self._is_settled_by_person(location_id, [known]):
                return False
            seen = draft.see_again(location_id, known, turn, episode)
            draft.replace(location_id, seen, replace(seen, status=MemoryStatus.ACTIVE), "edited", "confirmed")
            return True
        return False

    def replaceable(self, location_id: SubjectKey, titles: Sequence[str], new: Memory) -> list[str]:
        """Return those of the titles that this memory may supersede.

        Left out is what a person has pinned or edited, and what says the same: that is seen again.
        """
        current = self.current(location_id)
        olds = {title: titled(current, title) for title in titles}
        return [
            title
            for title, old in olds.items()
            if old is None
            or not (
                self._is_settled_by_person(location_id, [old])
                or (self.deduplicator is not None and self.deduplicator.says_the_same(location_id, old, new))
            )
        ]

    def resolve_conflict(
        self, location_id: SubjectKey, old: Memory, new: Memory, reason: str, turn: int | None
    ) -> bool:
        """Supersede one of two contradicting memories by the other. False if nothing was changed."""
        with self._failures_reported(), self.changing(lasting=old.persistence.outlives_episode) as draft:
            known = _known(draft, location_id, old)
            if known is None or self._is_settled_by_person(location_id, [known]):
                return False
            draft.supersede(location_id, known, new.title, turn, reason)
            return True
        return False

    def qualify(self, location_id: SubjectKey, memory: Memory, when: tuple[Claim, ...], reason: str) -> bool:
        """Note in which state a memory holds. False if nothing was changed."""
        with self._failures_reported(), self.changing(lasting=memory.persistence.outlives_episode) as draft:
            known = _known(draft, location_id, memory)
            if known is None or known.when == when or self._is_settled_by_person(location_id, [known]):
                return False
            draft.replace(location_id, known, replace(known, when=when), "qualified", reason)
            return True
        return False

    def merge(self, merges: "Sequence[Merge]") -> int:
        """Merge duplicates, each place in one write, and return how many were merged."""
        from zorkgpt.memory.dedup.consolidation import merge

        total = 0
        for location_id in dict.fromkeys(each.location_id for each in merges):
            made = 0
            with self._failures_reported(), self.changing(lasting=True) as draft:
                made = merge(draft, [each for each in merges if each.location_id == location_id])
            total += made if self.last_error is None else 0
        return total

    def turn_when_learned(self, location_id: SubjectKey, memory: Memory) -> TurnStamp | None:
        """Return the turn that taught it. None if unknown."""
        turns = self._observed_in.get(_words_at(location_id, memory))
        if turns is None:
            # The history of a memory that was seen again a thousand times is long.
            turns = self._read_turns(location_id, memory, ("added",))
        return next((stamp for kind, stamp in reversed(turns) if kind == "added"), None)

    def states_observed(self, location_id: SubjectKey, memory: Memory) -> list[State]:
        """Return the known states in which its action had its outcome."""
        return [stamp.state for _, stamp in self._turns_of(location_id, memory) if stamp.action or stamp.state]

    def _turns_of(self, location_id: SubjectKey, memory: Memory) -> list[tuple[ChangeKind, TurnStamp]]:
        """Return the turns in which it was learned or observed again, as far as they are known, oldest first."""
        key = _words_at(location_id, memory)
        if key not in self._observed_in:
            self._observed_in[key] = self._read_turns(location_id, memory, OBSERVATIONS)
        return self._observed_in[key]

    def _read_turns(
        self, location_id: SubjectKey, memory: Memory, kinds: Sequence[ChangeKind]
    ) -> list[tuple[ChangeKind, TurnStamp]]:
        return [
            (record.change.kind, record.turn_stamp)
            for record in self.store.journal.of_memory(location_id, memory_id(location_id, memory), kinds)
            if record.turn_stamp is not None and same_words(record.change.memory, memory)
        ]

    def is_forbidden(self, location_id: SubjectKey, name: str, memory: Memory) -> bool:
        """Return whether a person hid a memory at this place that says the same, and count it.

        With a judge, paraphrases are recognized too.
        """
        vetoed = [old for old in self._stored(location_id) if old.vetoed]
        if self._is_forbidden_in_words(location_id, memory, vetoed):
            return True
        if not vetoed or self.deduplicator is None:
            return False
        compared_with = self.deduplicator.comparisons(location_id, memory, vetoed)
        judged = self.deduplicator.judged(location_id, name, memory, compared_with)
        same = next((one.known for one in judged if one.relation in ("same", "adds")), None)
        return same is not None and self._obey(location_id, memory, same)

    @contextmanager
    def changing(self, *, lasting: bool, counts_only: bool = False) -> Iterator[Draft]:
        """Change the memories. What waits to be counted is written along with any change of a lasting memory.

        Args:
            lasting: Whether a lasting memory may be changed. If not, the store need not be writable.
            counts_only: Write only what waits to be counted.

        Raises:
            MemoryStoreError: If the store can't be read or written.
        """
        with self.store.guard:
            if lasting:
                with self.store.transaction(turn_stamp=self._stamp()) as draft:
                    draft.begin(replace(draft.book, ephemeral=self.ephemeral), self.names)
                    # A change in an episode that the place does not list yet would count as a visit of its own.
                    self._visits.count_in(draft)
                    begun = draft.book
                    yield draft
                    trials = 0
                    if draft.is_discarded or (draft.book is begun and not counts_only):
                        draft.discard()
                    else:
                        trials = self.evidence.count_in(draft)
                if draft.is_changed:
                    self._failure_logged = ""
                if draft.is_changed or counts_only:
                    self.evidence.written(trials)
                    self._visits.written(draft.lasting)
            else:
                stamp = self._stamp()
                draft = Draft(self.book, self.names, episode=None if stamp is None else stamp.episode)
                yield draft
                self._journal(draft.changes)
            self.ephemeral = dict(draft.book.ephemeral)
        for change in draft.changes:
            if change.kind != "credited":
                self._tell(change, draft)

    @contextmanager
    def _failures_reported(self) -> Iterator[None]:
        """Suppress and report a `MemoryStoreError`; `last_error` is then not None."""
        try:
            yield
        except MemoryStoreError as error:
            self.last_error = error
            self.write_failures += 1
            # Not again until a write succeeds.
            if str(error) != self._failure_logged:
                self._failure_logged = str(error)
                # The fields with which people are told about a damaged file: see `zorkgpt.log.DamagedFiles`.
                fields = {"path": self.store.name, "set_aside": "", "way_out": str(error)}
                self._log.error("memories could not be written", extra=fields)
        else:
            self.last_error = None

    def _journal(self, changes: Sequence[Change]) -> None:
        """Record changes of ephemeral memories, if possible."""
        try:
            if self._episode_start is None:
                self._episode_start = self.store.journal.size()
            self.store.journal.append(changes, turn_stamp=self._stamp())
        except MemoryStoreError as error:
            if not self._is_note_lost:
                self._log.warning("changes of ephemeral memories are not journaled", extra={"error": str(error)})
            self._is_note_lost = True

    def count(self, turn: int | None = None) -> None:
        """Write the visits that no other write has included, and the results of memories if they are due.

        Args:
            turn: The current turn. None if no turn follows here, so that everything is due.
        """
        if turn is None:
            self._visits.settle()
        with self._failures_reported():
            if self.evidence.is_due(turn) or self._visits.are_waiting(self.store.lasting):
                with self.changing(lasting=True, counts_only=True):
                    pass

    def forget_episode(self) -> None:
        """Forget what was true until the restart, and the episode's counts."""
        if self._debug:
            self._log.info("ephemeral memories forgotten", extra={"count": sum(map(len, self.ephemeral.values()))})
        self.ephemeral = {}
        self._episode_start = None
        self._observed_in.clear()
        self.vetoes_obeyed = self.protected = 0
        if self.deduplicator is not None:
            self.deduplicator.reset()

    def forget(
        self,
        removed: Collection[tuple[SubjectKey, str]],
        is_trace: Callable[[str], bool],
        gone: Collection[SubjectKey] = (),
    ) -> None:
        """Drop these memories of the episode, by place and id, and whatever waits and has a trace of them.

        Args:
            gone: Places of which nothing is kept.
        """
        for place, kept in self.ephemeral.items():
            self.ephemeral[place] = tuple(one for one in kept if (place, memory_id(place, one)) not in removed)
        self.events[:] = [
            one
            for one in self.events
            if one.location_id not in gone and not any(map(is_trace, (one.title, one.text, one.detail)))
        ]
        self.names = {place: name for place, name in self.names.items() if not is_trace(name) and place not in gone}
        self._observed_in.clear()
        self.evidence.forget(is_trace)
        if self.deduplicator is not None:
            self.deduplicator.forget()

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the running episode as plain values: counts, names, and where its memories are."""
        end = self.store.journal.size()
        saved = {
            "names": [[place_to_json(place), name] for place, name in self.names.items()],
            "write_failures": self.write_failures,
            "journal": [end if self._episode_start is None else self._episode_start, end],
            "evidence": self.evidence.snapshot(),
        }
        return saved if self.deduplicator is None else saved | self.deduplicator.snapshot()

    def restore(self, episode: int | str, saved: dict[str, Any]) -> None:
        """Continue an interrupted episode from what `snapshot` returned, with its memories from the journal."""
        self.forget_episode()
        self._episode_start, end = map(int, saved["journal"])
        self.store.journal.discard_ephemeral(episode, end)
        self.ephemeral = self.store.journal.ephemeral(episode, self._episode_start, end)
        if not self.ephemeral and self._episode_start < end and self.store.journal.size() < end:
            self._log.warning("the journal was replaced: ephemeral memories of episode %s are lost", episode)
        self.names.update((place_from_json(place), str(name)) for place, name in saved["names"])
        self.write_failures = int(saved["write_failures"])
        self.evidence.restore(saved["evidence"])
        if self.deduplicator is not None:
            self.deduplicator.restore(saved)
        if self._debug:
            self._log.info("ephemeral memories restored", extra={"count": sum(map(len, self.ephemeral.values()))})

    def ignore(self, location_id: SubjectKey, memory: Memory, why: str) -> None:
        """Log that a memory is not kept."""
        self.events.append(_event("ignored", location_id, memory, why))
        self._log.info("memory ignored", extra={"location_id": location_id, "title": memory.title, "why": why})

    # Changes

    def _add(
        self,
        draft: Draft,
        location_id: SubjectKey,
        name: str,
        memory: Memory,
        olds: Sequence[Memory],
        turn: int | None,
    ) -> None:
        """Add a memory, or count it as seen again if it is known, and mark those that it replaces.

        A lasting memory replaces an ephemeral one of the same words too.
        """
        is_lasting = memory.persistence.outlives_episode
        if is_lasting:
            repeats = (old for old in _ephemeral(draft, location_id) if is_current(old) and same_words(old, memory))
            olds = [*olds, *(old for old in repeats if not any(old is other for other in olds))]
        stored = draft.memories(location_id) if is_lasting else _ephemeral(draft, location_id)
        others = [other for other in stored if not any(other is old for old in olds)]
        known = known_again(others, memory) if is_current(memory) else None
        confirms = memory.status == MemoryStatus.ACTIVE
        is_open = known is not None and known.status == MemoryStatus.TENTATIVE and not known.is_settled_by_person
        if known is not None and is_open and confirms and not _is_contested(known, others):
            memory = taking_over(memory, known, episodes_of(draft.lasting, location_id))
            olds, known = [*olds, known], None
        if known is None:
            visits = self._visits.uncounted(location_id) if is_place(location_id) else ()
            draft.add(location_id, name, memory, visits=visits)
        else:
            draft.see_again(location_id, known, memory.turns, memory.episode)
        for old in olds:
            draft.supersede(location_id, old, memory.title, turn)

    def _stored(self, location_id: SubjectKey) -> list[Memory]:
        with self.store.guard:
            return self.store.lasting.memories(location_id)

    def _is_forbidden_in_words(self, location_id: SubjectKey, memory: Memory, known: Iterable[Memory]) -> bool:
        vetoed = next((old for old in known if old.vetoed and says_the_same(old, memory)), None)
        return vetoed is not None and self._obey(location_id, memory, vetoed)

    def _obey(self, location_id: SubjectKey, memory: Memory, vetoed: Memory) -> bool:
        self.vetoes_obeyed += 1
        self.last_error = None
        self.ignore(location_id, memory, f"hidden by a person: {vetoed.title}")
        return True

    def _is_settled_by_person(self, location_id: SubjectKey, olds: Sequence[Memory]) -> bool:
        for old in olds:
            if old.is_settled_by_person:
                self.protected += 1
                extra = {"location_id": location_id, "title": old.title}
                self._log.warning("not changed: a person has pinned or edited this memory", extra=extra)
                return True
        return False

    def _note_turn(self, kind: ChangeKind, location_id: SubjectKey, memory: Memory) -> None:
        stamp, key = self._stamp(), _words_at(location_id, memory)
        if stamp is not None and (kind == "added" or key in self._observed_in):
            self._observed_in.setdefault(key, []).append((kind, stamp))

    def _tell(self, change: Change, draft: Draft) -> None:
        """Report a change: as an event, and in the log."""
        kind, location_id, memory = change.kind, change.location_id, change.memory
        detail = change.reason or memory.invalidation_reason or memory.superseded_by or ""
        if kind in OBSERVATIONS:
            self._note_turn(kind, location_id, memory)
        self.events.append(_event(kind, location_id, memory, detail, change.other))
        if kind in _LOGGED and self._log.isEnabledFor(logging.INFO):
            self._log_change(change, draft)
        if self._debug and not change.is_lasting:
            extra = {"what": kind, "location_id": location_id, "title": memory.title, "text": memory.text}
            self._log.info("ephemeral memory", extra=extra)

    def _log_change(self, change: Change, draft: Draft) -> None:
        kind, location_id, memory = change.kind, change.location_id, change.memory
        what = f"{memory.persistence} memory {kind}"
        new = next((each.memory for each in draft.changes if each.memory.title == memory.superseded_by), memory)
        if not change.is_lasting and new.persistence is not memory.persistence:
            what = f"memory upgraded from {memory.persistence} to {new.persistence}"
        how = {
            "added": "" if memory.status == MemoryStatus.ACTIVE else f" ({memory.status.lower()})",
            "superseded": f" by {memory.superseded_by!r}",
            "invalidated": f" because {memory.invalidation_reason!r}",
        }
        name = self.name_of(location_id)
        # In words and not in fields: a manager's logger is anybody's, and few formats show fields.
        self._log.info(
            "%s: %r%s at %s%s, which has %d persistent and %d ephemeral now",
            what,
            memory.title,
            how[kind],
            place_in_words(location_id),
            f" ({name})" if name else "",
            len(draft.memories(location_id)),
            len(_ephemeral(draft, location_id)),
        )


_LOGGED = ("added", "superseded", "invalidated")
"""The kinds of changes that are logged."""


def _ephemeral(draft: Draft, location_id: SubjectKey) -> tuple[Memory, ...]:
    return draft.book.ephemeral.get(location_id, ())


def _known(draft: Draft, location_id: SubjectKey, memory: Memory) -> Memory | None:
    """Return the current memory with the same words, among those that last as long: lasting or ephemeral."""
    is_lasting = memory.persistence.outlives_episode
    return known_again(draft.memories(location_id) if is_lasting else _ephemeral(draft, location_id), memory)


def _titled(draft: Draft, location_id: SubjectKey, title: str, persistence: Persistence) -> Memory | None:
    """Find a memory by title, first among those of the same kind: lasting or ephemeral."""
    lasting = titled(draft.memories(location_id), title, location_id)
    ephemeral = titled(_ephemeral(draft, location_id), title, location_id)
    return (lasting or ephemeral) if persistence.outlives_episode else (ephemeral or lasting)


def _id_of_kept(draft: Draft, location_id: SubjectKey, memory: Memory, begun: int) -> str:
    """Return the id of the memory that was added since this step, or else of the one that this memory repeats."""
    changes = (step for step in draft.steps[begun:] if isinstance(step, Change))
    made = [
        change
        for change in changes
        if change.after is not None and is_current(change.after) and change.location_id == location_id
    ]
    made.sort(key=lambda change: change.kind != "added")
    # Without a change, this observation was counted before.
    known = known_again(draft.book.memories(location_id), memory)
    return memory_id(location_id, next((change.after for change in made if change.after), None) or known or memory)


def _is_contested(known: Memory, others: Iterable[Memory]) -> bool:
    """Return whether a contradicting memory is tentative too, so that repeating this one settles nothing."""
    rivals = (other for other in others if other is not known and other.status == MemoryStatus.TENTATIVE)
    return any(compared(rival, known, None).relation == "conflict" for rival in rivals)


def _words_at(place: SubjectKey, memory: Memory) -> tuple[SubjectKey, str, str]:
    return place, folded(memory.title), folded(memory.text)


def says_the_same(known: Memory, memory: Memory) -> bool:
    """Return whether the memory says what the known one says, or more, by its words."""
    return same_words(known, memory) or compared(known, memory, None).relation in ("same", "adds")


def _event(kind: str, location_id: SubjectKey, memory: Memory, detail: str, other: Memory | None = None) -> MemoryEvent:
    said = other.text if other else ""
    return MemoryEvent(
        kind,
        location_id if is_place(location_id) else None,
        memory.title,
        memory.persistence,
        memory.category,
        detail,
        memory.text,
        memory.status,
        said,
        "" if is_place(location_id) else render_place(location_id),
    )
