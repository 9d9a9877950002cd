"""Merge the memories of several episodes that began with the same file, as if they had been played in sequence.

The result is deterministic, byte for byte: it depends only on the memories before, the memories after each episode, and
the order of the episodes.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zorkgpt.files import write_file
from zorkgpt.log import get_logger
from zorkgpt.memory.claims import State
from zorkgpt.memory.conditions import conditions, rivals
from zorkgpt.memory.credit import failure_reason, has_always_failed, with_counts
from zorkgpt.memory.dedup import decision as decisions
from zorkgpt.memory.dedup.deduplicator import Deduplicator
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.facts import with_unique_title
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, MemoryStatus, Persistence, SubjectKey, TurnSpan
from zorkgpt.memory.places import place_order
from zorkgpt.memory.settings import settings_of
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.changes import Change, VisitCount
from zorkgpt.memory.storage.document import Document, render
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import OBSERVATIONS, HistoryRecord, Trial, TurnStamp, kind_of
from zorkgpt.memory.storage.lasting import EVERY, heading_of
from zorkgpt.memory.storage.markdown import MarkdownStore, digest_of, read_document, sidecar
from zorkgpt.memory.storage.tables import Journal, Trials
from zorkgpt.memory.storage.versions import is_current, known_again, same_words, seen_first, seen_last, taking_over
from zorkgpt.memory.writer import says_the_same

log = get_logger(__name__)

_EDITABLE = ("kind", "category", "title", "text", "persistence", "score_change", "action", "outcome", "claims", "when")
"""Fields of an earlier memory that an episode may have changed, other than counts and status."""

_Key = tuple[SubjectKey, str, str]
"""The place, title and text of a memory."""


@dataclass(frozen=True, slots=True)
class MemoriesAfterEpisode:
    """The memory file at the end of an episode that began with a copy of the base file."""

    episode: int
    path: Path


def time_of(episode: int) -> datetime:
    """Return the timestamp of an episode in merged files: one second after the epoch for episode 1, and so on."""
    return datetime.fromtimestamp(episode, UTC)


def merge_memories(base: Path, findings: Iterable[MemoriesAfterEpisode], target: Path) -> None:
    """Merge the memories of episodes in this order, and write them with their history and trials.

    A memory that several episodes learned, in the same or other words, counts as observed again. Changes of earlier
    memories are applied. If two episodes contradict each other, observations and scores decide, as within one file.
    Memories are compared by their words. No model is asked.

    Args:
        base: The memory file that all episodes began with. It may be missing.
        target: The merged file. It must not exist.

    Raises:
        MemoryStoreError: If a file can't be read.
        FileError: If the result can't be written.
    """
    for suffix in ("", ".sqlite"):
        if (source := Path(f"{base}{suffix}")).is_file():
            write_file(Path(f"{target}{suffix}"), source.read_bytes())
    merger = _Merger(target)
    for episode in findings:
        merger.merge(episode)
    merger.write()


class _MergedStore(MarkdownStore):
    """A memory file that is changed in this process only, and written once at the end."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.episode = 0
        """The episode that is being merged."""
        self._changes: list[tuple[int, Change, TurnStamp | None]] = []
        """Every change, with the episode that made it."""

    def refresh(self) -> None:
        """Do nothing: no other process changes the file."""

    @contextmanager
    def transaction(self, *, source: str = "agent", turn_stamp: TurnStamp | None = None) -> Iterator[Draft]:
        """Change the document without writing it."""
        draft = Draft(MemoryBook(self._document), turn_stamp=turn_stamp)
        yield draft
        self._document = draft.lasting.document
        self.record(draft.changes, turn_stamp)

    def record(self, changes: Iterable[Change], turn_stamp: TurnStamp | None) -> None:
        """Collect changes for the journal."""
        self._changes += [(self.episode, change, turn_stamp) for change in changes]

    def write(self, trials: Iterable[Trial]) -> None:
        """Write the file with its journal and trials."""
        data = render(self._document)
        if not data:
            return
        with self.database.change():
            self._note_file(digest_of(data))
            for episode, change, stamp in self._changes:
                at = time_of(episode).isoformat(timespec="milliseconds")
                self.journal.append([change], turn_stamp=stamp, at=at)
            self.trials.append(trials)
        write_file(self.path, data)
        self.close()


class _Merger:
    """Merges one episode after another into a copy of the base file."""

    def __init__(self, target: Path) -> None:
        self._store = _MergedStore(target)
        self._base = self._store.lasting.document
        self._base_size = self._store.journal.size()
        dedup = settings_of(None).deduplication
        self._deduplicator = Deduplicator(
            self._store,
            EmbeddingIndex(None, log),
            None,
            log,
            candidate_threshold=dedup.candidate_threshold,
            similarity_threshold=dedup.similarity_threshold,
        )
        self._stamps: dict[_Key, TurnStamp] = {}
        """The turn that taught each memory of the episode that is being merged."""
        self._states = _states(self._store.journal.records())
        """The states in which each memory was observed, in the base and in the merged episodes."""
        self._titles: dict[tuple[SubjectKey, str], str] = {}
        """Place and title in this episode → title in the merged file. Trials refer to titles."""
        self._trials: list[list[Trial]] = []
        """The trials of each episode."""

    def merge(self, findings: MemoriesAfterEpisode) -> None:
        """Merge the memories of one episode."""
        self._store.episode = findings.episode
        records = list(Journal(sidecar(findings.path)).records(start=self._base_size))
        self._stamps = _stamps(records)
        for key, states in _states(records).items():
            self._states.setdefault(key, []).extend(states)
        for record in records:
            if not record.change.is_lasting:
                self._store.record((record.change,), record.turn_stamp)
        self._titles = {}
        if not findings.path.is_file():
            # The base was empty and the episode learned nothing.
            return
        after = read_document(findings.path)
        base = {section.location_id: section.data for section in self._base.sections}
        for place in sorted(after.section_indexes, key=place_order):
            if any(section.data != base.get(place) for section in after.sections_of(place)):
                self._merge_place(place, after, findings.episode)
        trials = Trials(sidecar(findings.path)).own_trials(findings.episode)
        if own := [self._renamed(trial) for trial in trials]:
            self._trials.append(own)

    def write(self) -> None:
        """Write the memory file with its journal and trials."""
        counts = {(place, memory.title): (memory.worked, memory.tried) for place, memory in self._base.find(EVERY)}
        written: list[Trial] = []
        for trials in self._trials:
            counted_trials = with_counts(trials, counts)
            counts |= {(trial.location_id, trial.title): trial.after for trial in counted_trials}
            written += counted_trials
        self._store.write(written)

    def states(self, location_id: SubjectKey, memory: Memory) -> list[State]:
        """Return the known states in which the memory's action had its outcome."""
        return self._states.get(_key(location_id, memory), [])

    def _renamed(self, trial: Trial) -> Trial:
        return replace(trial, title=self._titles.get((trial.location_id, trial.title), trial.title))

    def _merge_place(self, place: SubjectKey, after: Document, episode: int) -> None:
        name = heading_of(after, place).name
        base = {memory_id(place, memory): memory for memory in self._base.memories(place)}
        now = {memory_id(place, memory): memory for memory in after.memories(place)}
        visits = max(1, heading_of(after, place).visits - heading_of(self._base, place).visits)
        with self._store.transaction() as draft:
            if draft.lasting.headings([place]) or now:
                draft.apply(VisitCount(place, name, (episode,) * visits))
            for key, old in base.items():
                new = now.get(key)
                if new is None:
                    self._remove(draft, place, key, old)
                elif new != old:
                    self._carry_over(draft, place, key, old, new)
        for key, memory in now.items():
            if key not in base:
                self._add(place, name, memory)

    def _remove(self, draft: Draft, place: SubjectKey, key: str, old: Memory) -> None:
        """Remove a memory that the episode removed, unless another episode changed it."""
        known = _with_id(draft, place, key)
        if known is not None and known == old:
            draft.remove(place, known)

    def _carry_over(self, draft: Draft, place: SubjectKey, key: str, old: Memory, new: Memory) -> None:
        """Apply an episode's changes to an earlier memory."""
        known = _with_id(draft, place, key)
        own = replace(
            new,
            observation_count=max(0, new.observation_count - old.observation_count),
            tried=max(0, new.tried - old.tried),
            worked=max(0, new.worked - old.worked),
            died=max(0, new.died - old.died),
            id="",
        )
        was_seen = bool(own.observation_count or own.tried)
        if known is None or not is_current(known):
            # An earlier episode invalidated it, and this one observed it again.
            if was_seen and is_current(new):
                again = replace(own, observation_count=max(1, own.observation_count))
                self._add_to(draft, place, "", again)
            return
        after = known if known.is_settled_by_person else replace(known, **_differences(old, new))
        if was_seen:
            after = _with_counts_of(after, own)
        self._titles[place, new.title] = after.title
        _change(draft, place, known, after)

    def _add(self, place: SubjectKey, name: str, memory: Memory) -> None:
        """Add a memory of an episode by the rules for a single memory file."""
        with self._store.transaction(turn_stamp=self._stamps.get(_key(place, memory))) as draft:
            self._add_to(draft, place, name, replace(memory, id=""))

    def _add_to(self, draft: Draft, place: SubjectKey, name: str, memory: Memory) -> None:
        memories = draft.lasting.memories(place)
        if not is_current(memory):
            if not any(known.status == memory.status and same_words(known, memory) for known in memories):
                draft.add(place, name, memory)
            return
        known = known_again(memories, memory)
        if known is not None and _is_plain_repeat(known, memory):
            _change(draft, place, known, _with_counts_of(known, memory))
            return
        current = [*filter(is_current, memories)]
        titled = with_unique_title(memory, current)
        self._states[_key(place, titled)] = self.states(place, memory)
        self._titles[place, memory.title] = self._add_resolved(draft, place, name, titled, current)

    def _add_resolved(
        self, draft: Draft, place: SubjectKey, name: str, memory: Memory, current: Sequence[Memory]
    ) -> str:
        """Add a memory after resolving contradictions at its place. Return the title under which it is stored."""
        turn = TurnSpan.parse(memory.turns).last_number
        opposed = rivals(self, place, memory, current)
        for rival in opposed.separated:
            when = conditions(self, place, rival, [*filter(is_current, draft.lasting.memories(place)), memory])
            if when != rival.when and not rival.is_settled_by_person:
                reason = f"another outcome in another state: “{memory.title}”"
                draft.replace(place, rival, replace(rival, when=when), "qualified", reason)
        if opposed.contradicted:
            rival = opposed.contradicted[0]
            reason = f"“{memory.action}” had another outcome in the same state: {memory.outcome}"
            belief = decisions.believed(rival, memory)
            decisions.oppose(draft, place, name, rival, memory, belief, turn, reason)
            return memory.title
        memory = replace(memory, when=conditions(self, place, memory, opposed.separated))
        return self._deduplicate(draft, place, name, memory, turn)

    def _deduplicate(self, draft: Draft, place: SubjectKey, name: str, memory: Memory, turn: int | None) -> str:
        memories = draft.lasting.memories(place)
        decision = self._deduplicator.decide(place, memory, memories)
        if decision.kind == "repeats" and decision.about is not None:
            known = decision.about.known
            stored = _change(draft, place, known, _with_counts_of(known, memory))
            decisions.confirm_if_ahead(draft, place, stored, turn)
            return known.title
        if decision.kind != "new":
            decisions.apply(draft, place, name, memory, decision)
        elif not any(known.vetoed and says_the_same(known, memory) for known in memories):
            draft.add(place, name, memory)
        return memory.title


def _change(draft: Draft, place: SubjectKey, known: Memory, after: Memory) -> Memory:
    """Replace a memory, invalidate it if it has always failed, and return it as stored."""
    if after == known:
        return known
    stored = draft.replace(place, known, after, kind_of(known, after), after.invalidation_reason)
    if is_current(stored) and has_always_failed(stored) and not stored.is_settled_by_person:
        return draft.invalidate(place, stored, failure_reason(stored), None)
    return stored


def _with_id(draft: Draft, place: SubjectKey, key: str) -> Memory | None:
    return next((memory for memory in draft.lasting.memories(place) if memory_id(place, memory) == key), None)


def _differences(old: Memory, new: Memory) -> dict[str, Any]:
    """Return the fields that an episode changed, except counts.

    A change to TENTATIVE is omitted: it is decided again when the contradicting memory is merged.
    """
    fields = [name for name in _EDITABLE if getattr(old, name) != getattr(new, name)]
    if new.status != old.status and new.status != MemoryStatus.TENTATIVE:
        fields += ["status", "superseded_by", "superseded_at_turn", "invalidation_reason"]
    changed = {name: getattr(new, name) for name in fields}
    if "superseded_at_turn" in changed:
        # The merged memory may have been observed last in another episode.
        changed["superseded_in_episode"] = (
            new.episode if new.superseded_in_episode is None else new.superseded_in_episode
        )
    return changed


def _with_counts_of(known: Memory, later: Memory) -> Memory:
    """Return a memory with the added observations and trials of a later episode."""
    seen = [when(memory).episode for memory in (known, later) for when in (seen_first, seen_last)]
    return taking_over(known, later, tuple(dict.fromkeys(seen)))


def _is_plain_repeat(known: Memory, memory: Memory) -> bool:
    """Return whether a memory with the same words changes nothing but counts."""
    lasts = known.persistence in (memory.persistence, Persistence.PERMANENT)
    return known.status == memory.status == MemoryStatus.ACTIVE and lasts and not known.is_settled_by_person


def _key(place: SubjectKey, memory: Memory) -> _Key:
    return place, folded(memory.title), folded(memory.text)


def _stamps(records: Iterable[HistoryRecord]) -> dict[_Key, TurnStamp]:
    """Return the turn that taught each memory."""
    return {
        _key(record.change.location_id, record.change.after): record.turn_stamp
        for record in records
        if record.turn_stamp is not None and record.change.kind == "added" and record.change.after is not None
    }


def _states(records: Iterable[HistoryRecord]) -> dict[_Key, list[State]]:
    """Return the states in which each memory was observed."""
    states: dict[_Key, list[State]] = {}
    for record in records:
        change, stamp = record.change, record.turn_stamp
        is_observed = change.kind in OBSERVATIONS and change.after is not None
        if is_observed and stamp is not None and (stamp.action or stamp.state):
            states.setdefault(_key(change.location_id, change.memory), []).append(stamp.state)
    return states
