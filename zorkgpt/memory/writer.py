"""Writes memories where they belong: the lasting into the file, those of the episode into a cache."""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.claims import Claim
from zorkgpt.memory.credit.assignment import CreditLedger
from zorkgpt.memory.dedup.decision import NEW, Decision
from zorkgpt.memory.dedup.deduplicator import Deduplicator
from zorkgpt.memory.entailment.comparison import compared
from zorkgpt.memory.ids import MemoryId, memory_id, with_id
from zorkgpt.memory.models import Memory, MemoryEvent, MemoryStatus, Persistence, PlaceKey
from zorkgpt.memory.places import checked_place, render_place
from zorkgpt.memory.storage import changes
from zorkgpt.memory.storage.changes import ChangedDocument, DocumentChange, is_current, known_again, same_words, titled
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.entry import as_read
from zorkgpt.memory.storage.escaping import folded, one_line
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.visits import Visits


class MemoryWriter:
    """Adds, replaces and marks memories. False means that nothing was changed, and the log says why.

    Args:
        deduplicator: consulted before a lasting memory is kept; None: only what is the same word for word is a repeat.
        stamp: returns the turn that the history is to name; None from it: nobody counts turns.
        debug: whether everything that happens to an ephemeral memory is logged.
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
        self.ephemeral: dict[PlaceKey, list[Memory]] = {}
        self.names: dict[PlaceKey, str] = {}
        """The locations' names, as they were given first."""
        self._other_names: set[tuple[PlaceKey, str]] = set()
        """Other names that were given for a location, and told of."""
        self.events: list[MemoryEvent] = []
        self.write_failures = 0
        self.vetoes_obeyed = 0
        """Memories of this episode that were not kept since a person never wants them again."""
        self.protected = 0
        """Attempts of this episode to replace or invalidate what a person has pinned or edited."""
        self.evidence = CreditLedger(
            store.trials,
            log,
            learned_in=self.state_when_learned,
        )
        self._log = log
        self._visits = visits
        self._stamp = stamp
        self._debug = debug
        self._is_note_lost = False
        """Whether a change of an ephemeral memory could not be journaled."""
        self._made: tuple[changes.Change, ...] = ()
        """What the last change of the file changed."""
        self.last_error: MemoryStoreError | None = None
        """Why the last change could not be written; None: it was."""
        self._learned_in: dict[tuple[PlaceKey, str, str], TurnStamp | None] = {}

    def current(self, location_id: PlaceKey) -> list[Memory]:
        """Return what is believed at the location, persistent first."""
        with self.store.guard:
            both = (*self.store.cache.get(location_id, ()), *self.ephemeral.get(location_id, ()))
        return [memory for memory in both if is_current(memory)]

    def refresh(self) -> bool:
        """See what others wrote. False: the file can't be read, and the caches are as they were."""
        try:
            self.store.refresh()
        except MemoryStoreError as error:
            self._log.warning("memories not read again", extra={"error": str(error)})
            return False
        return True

    def keep(self, location_id: PlaceKey, name: str, memory: Memory, *, is_judged: bool = False) -> str:
        """Keep it, or count it as one more observation of what says the same; return the id of what is kept.

        "" if nothing was, since it could not be written or a person forbids it.

        Args:
            is_judged: whoever worded it has seen what is kept at the place, and said what it replaces.

        Raises:
            TypeError, ValueError: the location is no key of a place.
        """
        location_id = checked_place(location_id)
        # Before the guard is taken: a judge may have to be asked.
        decision = self._decision(location_id, name, memory, is_judged=is_judged)
        with self.store.guard:
            self.note_name(location_id, name)
            joining = self._joining(location_id, name, memory, decision)
            if joining is not None and not self.apply(joining):
                decision = self._decision_after_failure(location_id, name, memory, decision)
                joining = self._joining(location_id, name, memory, decision)
                if joining is not None and not self.apply(joining):
                    decision, joining = NEW, None
            if joining is None:
                if self._is_forbidden_in_words(location_id, memory):
                    return ""
                if not memory.persistence.outlives_episode:
                    return memory_id(location_id, self._add_ephemeral(location_id, memory))
                if self.apply(self._addition(location_id, name, memory, [], None)):
                    self._supersede_ephemeral_repeats(location_id, memory, None)
                else:
                    # What can't be written now; or what it was to be joined with is gone, and it too.
                    return ""
            kept = self._id_of_what_was_kept(location_id, memory, decision)
            self._conclude(location_id, memory, decision, was_joined=joining is not None)
            return kept

    def _id_of_what_was_kept(self, location_id: PlaceKey, memory: Memory, decision: Decision) -> str:
        """Return the id of the memory that the last change added, or that now counts one more observation."""
        made = [change for change in self._made if change.after is not None and change.location_id == location_id]
        made.sort(key=lambda change: change.kind != "added")
        # Without a change, this very observation was counted before.
        told = decision.about.known if decision.about is not None and decision.kind != "new" else None
        known = known_again(self.store.cache.get(location_id, []), told or memory)
        kept = next((change.after for change in made), None) or known or memory
        return memory_id(location_id, kept)

    def supersede(self, location_id: PlaceKey, name: str, titles: Sequence[str], new: Memory, turn: int | None) -> bool:
        """Keep the new one in the place of those of these titles. False: nothing was changed."""
        location_id = checked_place(location_id)
        with self.store.guard:
            if not self.refresh():
                return False
            self.note_name(location_id, name)
            if self._is_forbidden_in_words(location_id, new):
                return False
            olds = [old for title in titles if (old := self._titled(location_id, title, new.persistence))]
            if self._is_settled_by_person(location_id, olds):
                return False
            if not olds:
                self._log.warning("nothing to supersede", extra={"location_id": location_id, "titles": list(titles)})
                return False
            lasting = [old for old in olds if old.persistence.outlives_episode]
            if not new.persistence.outlives_episode:
                if lasting:
                    self._refuse(location_id, lasting[0], new)
                    return False
                self._add_ephemeral(location_id, new, replacing=olds)
            elif self.apply(self._addition(location_id, name, new, self._ids(location_id, lasting), turn)):
                self._supersede_ephemeral_repeats(location_id, new, turn)
            else:
                return False
            for old in olds:
                if not old.persistence.outlives_episode:
                    became = new.persistence
                    self._mark(location_id, old, _superseded(old, new.title, turn), "superseded", became=became)
            return True

    def name_of(self, location_id: PlaceKey) -> str:
        """Return what a location is called in the file, or was called first; "" where nobody knows."""
        written = next((section.name for section in self.store.document.sections_of(location_id)), "")
        return written or self.names.get(location_id, "")

    def note_name(self, location_id: PlaceKey, name: str) -> None:
        """Keep what a location is called where nobody has said so yet; a second name is logged once, and not taken."""
        name = one_line(name)
        if not name:
            return
        known = self.name_of(location_id)
        if not known:
            self.names[location_id] = name
        elif known != name and (location_id, name) not in self._other_names:
            self._other_names.add((location_id, name))
            self._log.warning(
                "location %s is called %r, and was given the name %r too: the first one stays",
                render_place(location_id),
                known,
                name,
            )

    def invalidate(self, location_id: PlaceKey, title: str, reason: str, turn: int | None) -> bool:
        """Mark a memory as wrong; not without a reason, and not what a person has pinned or edited."""
        with self.store.guard:
            if not reason.strip():
                self._log.warning(
                    "not invalidated: no reason given", extra={"location_id": location_id, "title": title}
                )
                return False
            if not self.refresh():
                return False
            old = self._titled(location_id, title, Persistence.PERMANENT)
            if old is None:
                self._log.warning("nothing to invalidate", extra={"location_id": location_id, "title": title})
                return False
            if self._is_settled_by_person(location_id, [old]):
                return False
            if not old.persistence.outlives_episode:
                self._mark(location_id, old, changes.proven_wrong(old, reason, turn), "invalidated")
                return True

            def change(document: Document) -> ChangedDocument | None:
                found = titled(document.memories(location_id), title, location_id)
                if found is None or self._is_settled_by_person(location_id, [found]):
                    return None
                return changes.invalidated(document, location_id, found, reason, turn)

            return self.apply(change)

    def invalidate_ephemeral(self, location_id: PlaceKey, memory: Memory, reason: str, turn: int | None) -> None:
        """Mark this very memory of the episode as no longer so."""
        with self.store.guard:
            self._mark(location_id, memory, changes.proven_wrong(memory, reason, turn), "invalidated")

    def replace_ephemeral(self, location_id: PlaceKey, old: Memory, new: Memory) -> None:
        """Put another memory in the place of this very one of the episode."""
        with self.store.guard:
            self._mark(location_id, old, new, "edited")

    def remove(self, location_id: PlaceKey, wanted: MemoryId, reason: str | None = None) -> bool:
        """Take a memory out of the file, or of the episode's cache. False: nothing was changed."""
        with self.store.guard:
            ephemeral = self.ephemeral.get(location_id, [])
            for index, memory in enumerate(ephemeral):
                if memory_id(location_id, memory) == wanted:
                    del ephemeral[index]
                    self._note("removed", location_id, memory, None, reason)
                    self._tell("removed", location_id, memory, reason)
                    return True

            def change(document: Document) -> ChangedDocument | None:
                for memory in document.memories(location_id):
                    if memory_id(location_id, memory) == wanted:
                        if self._is_settled_by_person(location_id, [memory]):
                            return None
                        return changes.removed(document, location_id, memory, reason)
                return None

            return self.apply(change)

    def seen_again(self, location_id: PlaceKey, memory: Memory, turn: int | str, episode: int | str) -> bool:
        """Count one more observation of a memory that is kept; the same turn of the same episode counts once."""
        with self.store.guard:
            if not memory.persistence.outlives_episode:
                return self._ephemeral_again(location_id, memory, turn, episode)

            def change(document: Document) -> ChangedDocument | None:
                found = known_again(document.memories(location_id), memory)
                return None if found is None else changes.seen_again(document, location_id, found, turn, episode)

            return self.apply(change)

    def replaceable(self, location_id: PlaceKey, titles: Sequence[str], new: Memory) -> list[str]:
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

    def is_about_something_else(self, location_id: PlaceKey, old: Memory, new: Memory) -> bool:
        """Return whether the two have nothing to do with each other, so that naming one for the other is a slip."""
        return self.deduplicator is not None and self.deduplicator.is_about_something_else(location_id, old, new)

    def resolve_conflict(self, location_id: PlaceKey, old: Memory, new: Memory, reason: str, turn: int | None) -> bool:
        """Supersede one of two contradicting memories by the other. Return False if nothing was changed."""
        with self.store.guard:
            if not old.persistence.outlives_episode:
                self._mark(
                    location_id,
                    old,
                    replace(_superseded(old, new.title, turn), invalidation_reason=reason),
                    "superseded",
                )
                return True

            def change(document: Document) -> ChangedDocument | None:
                found = known_again(document.memories(location_id), old)
                if found is None or self._is_settled_by_person(location_id, [found]):
                    return None
                return changes.superseded(document, location_id, found, new.title, turn, reason)

            return self.apply(change)

    def qualify(self, location_id: PlaceKey, memory: Memory, when: tuple[Claim, ...], reason: str) -> bool:
        """Note in which state a memory holds. False: nothing was changed."""
        with self.store.guard:
            if not memory.persistence.outlives_episode:
                self._mark(location_id, memory, replace(memory, when=when), "qualified")
                return True

            def change(document: Document) -> ChangedDocument | None:
                found = known_again(document.memories(location_id), memory)
                if found is None or found.when == when or self._is_settled_by_person(location_id, [found]):
                    return None
                return changes.changed(document, location_id, found, replace(found, when=when), "qualified", reason)

            return self.apply(change)

    def state_when_learned(self, location_id: PlaceKey, memory: Memory) -> tuple[Claim, ...]:
        """Return in which state the action was taken that taught it; () where that is not known."""
        stamp = self.turn_when_learned(location_id, memory)
        return stamp.state if stamp else ()

    def turn_when_learned(self, location_id: PlaceKey, memory: Memory) -> TurnStamp | None:
        """Return the turn that taught it; None where that is not known."""
        key = location_id, folded(memory.title), folded(memory.text)
        if key not in self._learned_in:
            records = self.store.journal.records(location_id) if memory.persistence.outlives_episode else ()
            found = [
                record.turn_stamp
                for record in records
                if record.turn_stamp is not None
                and record.change.kind == "added"
                and record.change.after is not None
                and same_words(record.change.after, memory)
            ]
            self._learned_in[key] = found[-1] if found else None
        return self._learned_in[key]

    def is_forbidden(self, location_id: PlaceKey, name: str, memory: Memory) -> bool:
        """Return whether a person never wants a memory again at this place that says the same; then it is counted.

        In other words too, where a judge can tell.
        """
        if self._is_forbidden_in_words(location_id, memory):
            return True
        vetoed = self._vetoed(location_id)
        if not vetoed or self.deduplicator is None:
            return False
        same = self.deduplicator.same_by_judge(location_id, name, memory, vetoed)
        return same is not None and self._obey(location_id, memory, same)

    def metrics(self) -> dict[str, object]:
        """Return the deduplicator's counts, if there is one."""
        return {} if self.deduplicator is None else {"deduplication_metrics": self.deduplicator.metrics()}

    def apply(self, change: DocumentChange, *, always: bool = False) -> bool:
        """Change the file, and tell of it. False: it could not be written, or there was nothing to do.

        Args:
            always: also write what waits to be written along with a change, if it changes nothing.
        """
        failing, self.last_error = self.last_error, None
        self._made = ()
        try:
            along = self.evidence.along_with(self._visits.along_with(change, always=always), always=always)
            outcome = self.store.apply(along, turn_stamp=self._stamp())
        except MemoryStoreError as error:
            self.write_failures += 1
            self.last_error = error
            if str(error) != str(failing):
                # The fields of a file that people are told of: see `zorkgpt.log.DamagedFiles`.
                told = {"path": self.store.name, "set_aside": "", "way_out": str(error)}
                self._log.error("memories could not be written", extra=told)
            return False
        if outcome is None:
            return False
        self.evidence.written()
        self._visits.written()
        self._made = outcome.changes
        for made in outcome.changes:
            memory = made.after or made.before
            if made.kind != "credited" and memory is not None:
                self._tell(made.kind, made.location_id, memory, made.reason, made.other)
        return True

    def count_evidence(self) -> None:
        """Write the counts of what came of memories, if there are any that no other write has taken along."""
        if self.evidence.is_pending:
            self.apply(ChangedDocument, always=True)

    def close(self) -> None:
        """Close the deduplicator, if there is one."""
        if self.deduplicator is not None:
            self.deduplicator.close()

    def count_visits(self) -> None:
        """Write the visits that no other write has taken along, of the places that the file has."""
        if self._visits.are_waiting(self.store.document):
            self.apply(ChangedDocument, always=True)

    def count_all(self) -> None:
        """Write every count that no other write has taken along, since no turn follows here."""
        self._visits.settle()
        self.count_evidence()
        self.count_visits()

    def forget_episode(self) -> None:
        """Forget what was true until the restart, and the episode's counts."""
        if self._debug:
            self._log.info("ephemeral memories forgotten", extra={"count": sum(map(len, self.ephemeral.values()))})
        self.ephemeral.clear()
        self._learned_in.clear()
        self.vetoes_obeyed = self.protected = 0
        if self.deduplicator is not None:
            self.deduplicator.reset()

    def forget(self, removed: Collection[tuple[PlaceKey, str]], is_trace: Callable[[str], bool]) -> None:
        """Drop these memories of the episode, by place and id, and whatever waits and has a trace of them."""
        for place, kept in self.ephemeral.items():
            kept[:] = [memory for memory in kept if (place, memory_id(place, memory)) not in removed]
        self.events[:] = [one for one in self.events if not any(map(is_trace, (one.title, one.text, one.detail)))]
        self.names = {place: name for place, name in self.names.items() if not is_trace(name)}
        self._learned_in.clear()
        self.evidence.forget(is_trace)
        if self.deduplicator is not None:
            self.deduplicator.forget()

    def snapshot(self) -> dict[str, Any]:
        """Return counts and names of the running episode, as plain values; its memories are in `ephemeral`."""
        saved = {
            "names": [[place, name] for place, name in self.names.items()],
            "write_failures": self.write_failures,
            "journal": self.store.journal.size(),
            "evidence": self.evidence.snapshot(),
        }
        return saved if self.deduplicator is None else saved | self.deduplicator.snapshot()

    def restore(self, episode: int | str, memories: dict[PlaceKey, list[Memory]], saved: dict[str, Any]) -> None:
        """Continue an interrupted episode with its memories and what `snapshot` returned."""
        self.forget_episode()
        self.store.journal.discard_ephemeral(episode, int(saved["journal"]))
        self.ephemeral.update(memories)
        self.names.update((checked_place(place), str(name)) for place, name in saved["names"])
        self.write_failures = int(saved["write_failures"])
        self.evidence.restore(saved["evidence"])
        if self.deduplicator is not None:
            self.deduplicator.restore(saved)
        if self._debug:
            self._log.info("ephemeral memories restored", extra={"count": sum(map(len, memories.values()))})

    def ignore(self, location_id: PlaceKey, memory: Memory, why: str) -> None:
        """Log that a memory is not kept."""
        self.events.append(_event("ignored", location_id, memory, why))
        self._log.info("memory ignored", extra={"location_id": location_id, "title": memory.title, "why": why})

    # Deduplication

    def _decision(self, location_id: PlaceKey, name: str, memory: Memory, *, is_judged: bool = False) -> Decision:
        if self.deduplicator is None or not memory.persistence.outlives_episode:
            return NEW
        self.refresh()
        return self.deduplicator.decide(location_id, name, memory, is_judged=is_judged)

    def _decision_after_failure(self, location_id: PlaceKey, name: str, memory: Memory, decision: Decision) -> Decision:
        """Decide once more where another process has kept the very same memory meanwhile; else it is new."""
        if self.deduplicator is None or not self.deduplicator.is_overtaken(location_id, memory, decision):
            return NEW
        return self._decision(location_id, name, memory)

    def _joining(self, location_id: PlaceKey, name: str, memory: Memory, decision: Decision) -> DocumentChange | None:
        if self.deduplicator is None:
            return None
        return self.deduplicator.joining(location_id, name, memory, decision)

    def _conclude(self, location_id: PlaceKey, memory: Memory, decision: Decision, *, was_joined: bool) -> None:
        """Count what a decision led to, and settle what was open and is no more."""
        if self.deduplicator is None:
            return
        self.deduplicator.note(location_id, memory, decision, was_joined=was_joined)
        settling = self.deduplicator.settling(location_id, memory, decision)
        if settling is not None:
            self.apply(settling)

    # Changes of the file and of the episode's cache

    def _addition(
        self, location_id: PlaceKey, name: str, memory: Memory, replaced: Sequence[MemoryId], turn: int | None
    ) -> DocumentChange:
        """Return the change that adds a memory in the place of these."""
        visits = self._visits.uncounted(location_id)

        def change(document: Document) -> ChangedDocument | None:
            kept = document.memories(location_id)
            olds = [old for one in replaced if (old := titled(kept, one, location_id))]
            if len(olds) < len(replaced) or self._is_settled_by_person(location_id, olds):
                return None
            others = [other for other in kept if not any(other is old for old in olds)]
            return _added(document, location_id, name, memory, visits, olds, others, turn)

        return change

    def _supersede_ephemeral_repeats(self, location_id: PlaceKey, memory: Memory, turn: int | None) -> None:
        for old in [old for old in self.ephemeral.get(location_id, ()) if is_current(old) and same_words(old, memory)]:
            self._mark(location_id, old, _superseded(old, memory.title, turn), "superseded", became=memory.persistence)

    def _add_ephemeral(self, location_id: PlaceKey, memory: Memory, replacing: Sequence[Memory] = ()) -> Memory:
        kept = self.ephemeral.setdefault(location_id, [])
        if is_current(memory) and not replacing:
            for index, known in enumerate(kept):
                if is_current(known) and same_words(known, memory):
                    kept[index] = changes.observed(known, memory.turns, memory.episode, (memory.episode,))
                    self._note("seen again", location_id, known, kept[index])
                    self._tell("seen again", location_id, memory)
                    return kept[index]
        taken = {memory_id(location_id, one) for one in (*self.store.cache.get(location_id, ()), *kept)}
        new = as_read(memory)
        # Never the one that follows from the title: a lasting memory of the same title may be learned later.
        new.id = with_id(location_id, new, taken, follows=False)
        kept.append(new)
        self._note("added", location_id, None, new)
        self._tell("added", location_id, memory)
        return new

    def _note(
        self,
        kind: changes.Kind,
        location_id: PlaceKey,
        before: Memory | None,
        after: Memory | None,
        reason: str | None = None,
    ) -> None:
        """Journal a change of an ephemeral memory."""
        change = changes.Change(kind, location_id, self.name_of(location_id), before, after, reason)
        try:
            self.store.journal.append([change], turn_stamp=self._stamp())
        except MemoryStoreError as error:
            if not self._is_note_lost:
                self._log.warning("changes of ephemeral memories are not journaled", extra={"error": str(error)})
            self._is_note_lost = True

    def _ephemeral_again(self, location_id: PlaceKey, memory: Memory, turn: int | str, episode: int | str) -> bool:
        known = known_again(self.ephemeral.get(location_id, []), memory)
        if known is None:
            return False
        self._mark(location_id, known, changes.observed(known, turn, episode, (episode,)), "seen again")
        return True

    @staticmethod
    def _ids(location_id: PlaceKey, memories: Sequence[Memory]) -> list[MemoryId]:
        return [MemoryId(memory_id(location_id, memory)) for memory in memories]

    def _titled(self, location_id: PlaceKey, title: str, persistence: Persistence) -> Memory | None:
        """Look a memory up in both caches, first in the one that `persistence` belongs to."""
        lasting = titled(self.store.cache.get(location_id, []), title, location_id)
        ephemeral = titled(self.ephemeral.get(location_id, []), title, location_id)
        return (lasting or ephemeral) if persistence.outlives_episode else (ephemeral or lasting)

    def _mark(
        self, location_id: PlaceKey, old: Memory, new: Memory, kind: changes.Kind, *, became: Persistence | None = None
    ) -> None:
        kept = self.ephemeral[location_id]
        kept[next(index for index, memory in enumerate(kept) if memory is old)] = new
        self._note(kind, location_id, old, new, new.invalidation_reason)
        self._tell(kind, location_id, new, became=became)

    def _vetoed(self, location_id: PlaceKey) -> list[Memory]:
        with self.store.guard:
            return [memory for memory in self.store.cache.get(location_id, ()) if memory.vetoed]

    def _is_forbidden_in_words(self, location_id: PlaceKey, memory: Memory) -> bool:
        vetoed = next((old for old in self._vetoed(location_id) if says_the_same(old, memory)), None)
        return vetoed is not None and self._obey(location_id, memory, vetoed)

    def _obey(self, location_id: PlaceKey, memory: Memory, vetoed: Memory) -> bool:
        self.vetoes_obeyed += 1
        self.ignore(location_id, memory, f"hidden by a person: {vetoed.title}")
        return True

    def _is_settled_by_person(self, location_id: PlaceKey, olds: Sequence[Memory]) -> bool:
        for old in olds:
            if old.is_settled_by_person:
                self.protected += 1
                extra = {"location_id": location_id, "title": old.title}
                self._log.warning("not changed: a person has pinned or edited this memory", extra=extra)
                return True
        return False

    def _refuse(self, location_id: PlaceKey, old: Memory, new: Memory) -> None:
        self._log.warning(
            "%s is not superseded by %s: the restart would lose what is known",
            old.persistence,
            new.persistence,
            extra={"location_id": location_id, "old": old.title, "new": new.title},
        )

    def _note_turn(self, location_id: PlaceKey, memory: Memory) -> None:
        stamp = self._stamp()
        if stamp is not None:
            self._learned_in[location_id, folded(memory.title), folded(memory.text)] = stamp

    def _tell(
        self,
        kind: changes.Kind,
        location_id: PlaceKey,
        memory: Memory,
        reason: str | None = None,
        other: Memory | None = None,
        *,
        became: Persistence | None = None,
    ) -> None:
        detail = reason or memory.invalidation_reason or memory.superseded_by or ""
        if kind == "added":
            self._note_turn(location_id, memory)
        self.events.append(_event(kind, location_id, memory, detail, other))
        if kind in _LOGGED and self._log.isEnabledFor(logging.INFO):
            self._log_change(kind, location_id, memory, became)
        if self._debug and not memory.persistence.outlives_episode:
            extra = {"what": kind, "location_id": location_id, "title": memory.title, "text": memory.text}
            self._log.info("ephemeral memory", extra=extra)

    def _log_change(
        self, kind: changes.Kind, location_id: PlaceKey, memory: Memory, became: Persistence | None
    ) -> None:
        what = f"{memory.persistence} memory {kind}"
        if became not in (None, memory.persistence):
            what = f"memory upgraded from {memory.persistence} to {became}"
        how = {
            "added": "" if memory.status == MemoryStatus.ACTIVE else f" ({memory.status.lower()})",
            "superseded": f" by {memory.superseded_by!r}",
            "invalidated": f" because {memory.invalidation_reason!r}",
        }
        sections = self.store.document.sections_of(location_id)
        name = sections[0].name if sections else self.names.get(location_id, "")
        # In words and not in fields: a manager's logger is anybody's, and few formats show fields.
        self._log.info(
            "%s: %r%s at location %s%s, which has %d persistent and %d ephemeral now",
            what,
            memory.title,
            how[kind],
            render_place(location_id),
            f" ({name})" if name else "",
            len(self.store.cache.get(location_id, ())),
            len(self.ephemeral.get(location_id, ())),
        )


_LOGGED = ("added", "superseded", "invalidated")
"""What is logged when it happens to a memory; that one was seen again is no news."""


def _added(
    document: Document,
    location_id: PlaceKey,
    name: str,
    memory: Memory,
    visits: tuple[int | str, ...],
    olds: Sequence[Memory],
    others: Sequence[Memory],
    turn: int | None,
) -> ChangedDocument:
    """Add the new one, or count it as seen again if it is known; then mark the old ones."""
    known = known_again(others, memory) if is_current(memory) else None
    confirms = memory.status == MemoryStatus.ACTIVE
    is_open = known is not None and known.status == MemoryStatus.TENTATIVE and not known.is_settled_by_person
    if known is not None and is_open and confirms and not _is_contested(known, others):
        episodes = next((section.episodes for section in document.sections_of(location_id)), ())
        memory = changes.taking_over(memory, known, episodes)
        olds, known = [*olds, known], None
    if known is None:
        outcome = changes.added(document, location_id, name, memory, visits=visits)
    else:
        outcome = changes.seen_again(document, location_id, known, memory.turns, memory.episode)
    made = outcome.changes
    for old in olds:
        outcome = changes.superseded(outcome.document, location_id, old, memory.title, turn)
        made += outcome.changes
    return ChangedDocument(outcome.document, made)


def _is_contested(known: Memory, others: Iterable[Memory]) -> bool:
    """Return whether its contrary is open too: saying it once more settles nothing."""
    rivals = (other for other in others if other is not known and other.status == MemoryStatus.TENTATIVE)
    return any(compared(rival, known, None).relation == "conflict" for rival in rivals)


def says_the_same(known: Memory, memory: Memory) -> bool:
    """Return whether the words of the memory say what the known one says, or that and more."""
    return same_words(known, memory) or compared(known, memory, None).relation in ("same", "adds")


def _event(kind: str, location_id: PlaceKey, memory: Memory, detail: str, other: Memory | None = None) -> MemoryEvent:
    said = other.text if other else ""
    return MemoryEvent(
        kind,
        location_id,
        memory.title,
        memory.persistence,
        memory.category,
        detail,
        memory.text,
        memory.status,
        said,
    )


def _superseded(old: Memory, title: str, turn: int | None) -> Memory:
    return replace(old, status=MemoryStatus.SUPERSEDED, superseded_by=one_line(title), superseded_at_turn=turn)
