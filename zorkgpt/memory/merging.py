"""Merges what several episodes have learned from the same memories, as if they had been played one after another.

The result depends on nothing but the memories that the episodes began with, what each of them left, and their order:
it says the same in the same bytes whenever and wherever it is made.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from zorkgpt.files import write_file
from zorkgpt.log import get_logger
from zorkgpt.memory.claims import State, separating
from zorkgpt.memory.conditions import conditions, is_opposed
from zorkgpt.memory.credit.assignment import counted, failure_reason, has_always_failed
from zorkgpt.memory.dedup import decision as decisions
from zorkgpt.memory.dedup.deduplicator import Deduplicator
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.entailment.compare import stems_in, telling_words
from zorkgpt.memory.facts import named_apart
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, MemoryStatus, Persistence, SubjectKey
from zorkgpt.memory.places import checked_place, place_order
from zorkgpt.memory.settings import settings_of
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.document import Document, render, with_replaced
from zorkgpt.memory.storage.escaping import folded, one_line
from zorkgpt.memory.storage.history import OBSERVATIONS, HistoryRecord, TurnStamp, kind_of
from zorkgpt.memory.storage.markdown import MarkdownStore, digest_of, read_document, sidecar
from zorkgpt.memory.storage.tables import Journal, Trials
from zorkgpt.memory.storage.trials import Trial
from zorkgpt.memory.storage.versions import is_current, known_again, same_words, seen_first, seen_last, taking_over
from zorkgpt.memory.turn_span import TurnSpan
from zorkgpt.memory.visits import Visits
from zorkgpt.memory.writer import MemoryWriter, NewMemory

log = get_logger(__name__)

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_WORDED = ("kind", "category", "title", "text", "persistence", "score_change", "action", "outcome", "claims", "when")
"""What of a memory that was there before an episode may have given another form."""
_NUMBER = re.compile(r" \(\d+\)\s*$")
"""What tells two facts of one title apart: see `named_apart`."""


@dataclass(frozen=True, slots=True)
class MemoriesAfterEpisode:
    """The memory file as an episode left it, which began with a copy of what is merged into."""

    episode: int
    path: Path


def time_of(episode: int) -> datetime:
    """Return the time that stands for an episode in merged files, where the clock would differ each time: the
    first one is a second after the beginning of 1970."""
    return _BEGINNING + timedelta(seconds=episode)


def merge_memories(base: Path, findings: Iterable[MemoriesAfterEpisode], target: Path) -> None:
    """Merge what the episodes have found, in this order, and write it with its history and trials.

    What one episode says again, in the same or in other words, counts as one more observation; what it has replaced,
    marked as wrong, tried or seen again is so here. Where two episodes contradict each other, the observations and
    scores of both decide, as between two memories of one file. Compared is by words alone: no model is asked.

    Args:
        base: the memory file that all of them began with; it need not be there.
        target: of the merged file; nothing may be there.

    Raises:
        MemoryStoreError: a file can't be read.
        FileError: the result can't be written.
    """
    for beside in ("", ".sqlite"):
        if (known := Path(f"{base}{beside}")).is_file():
            write_file(Path(f"{target}{beside}"), known.read_bytes())
    merger = _Merger(target)
    for one in findings:
        merger.take_in(one)
    merger.write()


class _MergedStore(MarkdownStore):
    """A memory file that is changed in this process only, and then written as a whole."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.made: list[tuple[int, Change, TurnStamp | None]] = []
        """Every change, with the episode that it comes from."""
        self.episode = 0

    def refresh(self) -> None:
        """Do nothing: nobody else changes it."""

    @contextmanager
    def transaction(self, *, source: str = "agent", turn_stamp: TurnStamp | None = None) -> Iterator[Draft]:
        """Change the document in this process only."""
        draft = Draft(MemoryBook(self._document), episode=None if turn_stamp is None else turn_stamp.episode)
        yield draft
        self._document = draft.document
        self.note(draft.changes, turn_stamp)

    def note(self, made: Iterable[Change], turn_stamp: TurnStamp | None) -> None:
        """Keep changes for the journal."""
        self.made += [(self.episode, one, turn_stamp) for one in made]

    def write(self, trials: Iterable[Trial]) -> None:
        """Write the file with its journal and trials."""
        data = render(self._document)
        if not data:
            return
        with self.database.change():
            self._note_file(digest_of(data))
            for episode, change, stamp in self.made:
                at = time_of(episode).isoformat(timespec="milliseconds")
                self.journal.append([change], turn_stamp=stamp, at=at)
            self.trials.append(trials)
        write_file(self.path, data)
        self.close()


class _Place:
    """What is kept at a place, with what is not in the document yet: a section is too large to be made anew each time.

    Args:
        memories: the cache of the place, changed in place.
    """

    def __init__(self, memories: list[Memory]) -> None:
        self.memories = memories
        self.has_vetoed = False
        """Whether a person never wants to see one of them again."""
        self.visits: list[int] = []
        """The episode of each visit that the document does not count."""
        self._originals = list(memories)
        """What of them stands in the document, in the same order."""
        self._at: dict[tuple[str, str], int] = {}
        self._titled: dict[str, list[int]] = {}
        """Title without a number behind it → all memories."""
        self._acting: dict[str, list[int]] = {}
        """Action → current memories; so with the stems of words, for some of the words of each."""
        self._saying: dict[str, list[int]] = {}
        for at in range(len(memories)):
            self._index(at)

    def known(self, memory: Memory) -> Memory | None:
        """Return the current one of the same title and text."""
        at = self._at.get(_words(memory))
        return None if at is None else self.memories[at]

    def titled(self, memory: Memory) -> list[Memory]:
        """Return those of the same title, whatever number stands behind it."""
        return [self.memories[at] for at in self._titled.get(_bare(memory.title), ())]

    def rivals(self, memory: Memory) -> list[Memory]:
        """Return the current ones that say that the same action comes out otherwise."""
        found = [self.memories[at] for at in self._acting.get(folded(memory.action), ())]
        return [one for one in found if is_opposed(one, memory)]

    def near(self, memory: Memory) -> list[Memory]:
        """Return the current ones of which the words leave anything to be compared with this one."""
        found = {at for stem in ("", *stems_in(memory.text)) for at in self._saying.get(stem, ())}
        return [self.memories[at] for at in sorted(found)]

    def add(self, memory: Memory) -> None:
        self.memories.append(memory)
        self._index(len(self.memories) - 1)

    def replace(self, old: Memory, new: Memory) -> None:
        """Put another memory of the same words in the place of this one."""
        self.memories[self._at[_words(old)]] = new

    def _index(self, at: int) -> None:
        memory = self.memories[at]
        self._titled.setdefault(_bare(memory.title), []).append(at)
        self.has_vetoed = self.has_vetoed or memory.vetoed
        if not is_current(memory):
            return
        self._at.setdefault(_words(memory), at)
        self._acting.setdefault(folded(memory.action), []).append(at)
        # Two that are missing make a difference, so one of any two is found; the rarest words find the fewest others.
        words = sorted(telling_words(memory.text), key=lambda stems: len(self._saying.get(stems[0], ())))[:2]
        for stem in {stem for stems in words for stem in stems} if len(words) > 1 else {""}:
            self._saying.setdefault(stem, []).append(at)

    def changed(self, document: Document, place: SubjectKey, name: str) -> Document:
        """Return the document with everything that it does not have yet."""
        count = len(self._originals)
        pairs = zip(self._originals, self.memories, strict=False)
        draft = Draft(MemoryBook(document))
        draft.count_visits(place, tuple(self.visits))
        draft.rewrite(with_replaced(draft.document, place, [(old, new) for old, new in pairs if old is not new]))
        if new := self.memories[count:]:
            draft.add(place, name, *new, visits=tuple(self.visits))
        return draft.document


class _Merger:
    """Takes in one episode after another."""

    def __init__(self, target: Path) -> None:
        self._draft = _MergedStore(target)
        self._base = self._draft.document
        self._base_size = self._draft.journal.size()
        dedup = settings_of(None).deduplication
        self._deduplicator = Deduplicator(
            self._draft,
            EmbeddingIndex(None, log),
            None,
            log,
            candidate_threshold=dedup.candidate_threshold,
            similarity_threshold=dedup.similarity_threshold,
        )
        self._stamp: TurnStamp | None = None
        self._writer = MemoryWriter(
            self._draft, Visits(), log, deduplicator=self._deduplicator, stamp=lambda: self._stamp
        )
        self._places: dict[SubjectKey, _Place] = {}
        self._names: dict[SubjectKey, str] = {}
        self._stamps: dict[tuple[SubjectKey, str, str], TurnStamp] = {}
        self._states: dict[tuple[SubjectKey, str, str], list[State]] = {}
        """The states in which each memory was observed in the episodes taken in, by place and words."""
        self._titles: dict[tuple[SubjectKey, str], str] = {}
        """Place and title in this episode → the title under which that is kept, where it is another one."""
        self._trials: list[list[Trial]] = []
        """The trials of each episode."""

    def take_in(self, findings: MemoriesAfterEpisode) -> None:
        """Take in what an episode has found."""
        self._draft.episode = findings.episode
        records, _ = Journal(sidecar(findings.path)).records_from(self._base_size)
        self._stamps = _stamps(records)
        for key, states in _states(records).items():
            self._states.setdefault(key, []).extend(states)
        for record in records:
            if not record.change.is_lasting:
                self._draft.note((record.change,), record.turn_stamp)
        self._titles = {}
        if not findings.path.is_file():
            # It has learned nothing, nor was there anything before it.
            return
        found = read_document(findings.path)
        known = {section.location_id: section.data for section in self._base.sections}
        for place in sorted(found.section_indexes, key=place_order):
            if any(section.data != known.get(place) for section in found.sections_of(place)):
                self._take_in_place(place, found, findings.episode)
        self._take_in_trials(findings)

    def write(self) -> None:
        """Write the memory file with its journal and trials."""
        for place in sorted(self._places, key=place_order):
            self._settle(place)
        counts = {
            (place, one.title): (one.worked, one.tried)
            for place, memories in self._base.all_memories().items()
            for one in memories
        }
        found: list[Trial] = []
        for trials in self._trials:
            done = counted(trials, counts)
            counts |= {(one.location_id, one.title): one.after for one in done}
            found += done
        self._draft.write(found)

    # One place of one episode

    def _take_in_place(self, place: SubjectKey, found: Document, episode: int) -> None:
        before = {memory_id(place, one): one for one in self._base.memories(place)}
        now = {memory_id(place, one): one for one in found.memories(place)}
        self._names.setdefault(place, found.sections_of(place)[0].name)
        visits = _visits_of(found, place) - _visits_of(self._base, place)
        self._place(place).visits += [episode] * max(1, visits)
        for key, old in before.items():
            new = now.get(key)
            if new is None:
                self._remove(place, key, old)
            elif new != old:
                self._carry_over(place, key, old, new)
        for key, memory in now.items():
            if key not in before:
                self._add(place, memory)

    def _place(self, place: SubjectKey) -> _Place:
        if place not in self._places:
            self._places[place] = _Place(self._draft.document.memories(place))
        return self._places[place]

    def _settle(self, place: SubjectKey) -> None:
        """Bring the document up to what is kept at a place, before anything is done that goes by the document."""
        state = self._places.pop(place, None)
        if state is not None:
            with self._draft.transaction() as draft:
                draft.rewrite(state.changed(draft.document, place, self._names[place]))

    def _by_id(self, place: SubjectKey, key: str) -> Memory | None:
        state = self._places.get(place)
        kept = self._draft.document.memories(place) if state is None else state.memories
        return next((one for one in kept if memory_id(place, one) == key), None)

    def _remove(self, place: SubjectKey, key: str, old: Memory) -> None:
        """Forget what the episode has forgotten, unless another one has learned more of it."""
        self._settle(place)
        kept = self._by_id(place, key)
        if kept is not None and kept == old:
            with self._draft.transaction() as draft:
                draft.remove(place, kept)

    def _carry_over(self, place: SubjectKey, key: str, old: Memory, new: Memory) -> None:
        """Do to a memory that was there before the episode what was done to it there."""
        kept = self._by_id(place, key)
        news = replace(
            new,
            observation_count=max(0, new.observation_count - old.observation_count),
            tried=max(0, new.tried - old.tried),
            worked=max(0, new.worked - old.worked),
            died=max(0, new.died - old.died),
            id="",
        )
        was_seen = bool(news.observation_count or news.tried)
        if kept is None or not is_current(kept):
            # An episode before has marked it as wrong, and this one has seen it again.
            if was_seen and is_current(new):
                self._add(place, replace(news, observation_count=max(1, news.observation_count)))
            return
        after = kept if kept.is_settled_by_person else replace(kept, **_differences(old, new))
        if was_seen:
            after = _counting(after, news)
        self._titles[place, new.title] = after.title
        if after != kept:
            self._change(place, kept, after)

    def _change(self, place: SubjectKey, kept: Memory, after: Memory) -> None:
        """Change a memory of the place, and mark it as wrong if it has failed each time that it was tried."""
        kind = kind_of(kept, after)
        if same_words(kept, after) and is_current(after):
            self._place(place).replace(kept, after)
            self._note(Change(kind, place, self._names[place], kept, after))
        else:
            self._settle(place)
            with self._draft.transaction() as draft:
                stored = known_again(draft.memories(place), kept)
                assert stored is not None
                draft.replace(place, stored, after, kind, after.invalidation_reason)
        if is_current(after) and has_always_failed(after) and not after.is_settled_by_person:
            self._settle(place)
            with self._draft.transaction() as draft:
                failed = known_again(draft.memories(place), after)
                if failed is not None:
                    draft.invalidate(place, failed, failure_reason(after), None)

    def _note(self, change: Change) -> None:
        self._draft.note((change,), self._stamp)

    def _add(self, place: SubjectKey, memory: Memory) -> None:
        """Keep what an episode has learned, by the rules by which the memory keeps what it learns."""
        self._stamp = self._stamps.get((place, *_words(memory)))
        memory = replace(memory, id="")
        state = self._place(place)
        if not is_current(memory):
            others = state.titled(memory)
            if not any(one.status == memory.status and same_words(one, memory) for one in others):
                self._put(place, memory)
            return
        known = state.known(memory)
        if known is not None and _is_plain_repeat(known, memory):
            self._change(place, known, _counting(known, memory))
            return
        if others := state.titled(memory):
            title, memory = memory.title, named_apart(memory, [one for one in others if is_current(one)])
            self._titles[place, title] = memory.title
        settled = self._against_what_is_believed(place, memory)
        if settled is not None:
            self._keep(place, settled)

    def _put(self, place: SubjectKey, memory: Memory) -> None:
        """Put a memory beside those of its place."""
        if any(one_line(one.title) == one_line(memory.title) for one in self._place(place).titled(memory)):
            # It needs an id of its own.
            self._settle(place)
            with self._draft.transaction(turn_stamp=self._stamp) as draft:
                draft.add(place, self._names[place], memory)
            return
        self._place(place).add(memory)
        self._note(Change("added", place, self._names[place], None, memory))

    def _keep(self, place: SubjectKey, memory: Memory) -> None:
        name = self._names[place]
        state = self._place(place)
        decision = self._deduplicator.decide(place, name, memory, among=state.near(memory))
        known = decision.about.known if decision.about is not None else None
        if decision.kind == "new" and not state.has_vetoed:
            self._put(place, memory)
        elif (
            decision.kind == "repeats"
            and known is not None
            and not known.is_settled_by_person
            and known.status == memory.status
        ):
            after = _counting(known, memory)
            self._titles[place, memory.title] = known.title
            self._change(place, known, after)
        else:
            self._settle(place)
            keys = self._writer.keep([NewMemory(checked_place(place), name, memory)])
            kept = self._by_id(place, keys[0] if keys else "")
            self._titles[place, memory.title] = memory.title if kept is None else kept.title

    def _against_what_is_believed(self, place: SubjectKey, memory: Memory) -> Memory | None:
        """Settle what is believed of the same action and came out otherwise; None: the memory is kept with that."""
        rivals = self._place(place).rivals(memory) if memory.action else []
        if rivals:
            self._settle(place)
        own, separated = self.states_observed(place, memory), []
        for rival in rivals:
            if separating(self.states_observed(place, rival), own, memory.action):
                separated.append(rival)
                believed = [*filter(is_current, self._draft.document.memories(place)), memory]
                when = conditions(self, place, rival, believed)
                reason = f"in another state it comes out otherwise: “{memory.title}”"
                self._writer.qualify(place, rival, when, reason)
                continue
            stored = known_again(self._draft.document.memories(place), rival)
            if stored is not None:
                self._oppose(place, stored, memory)
                return None
        return replace(memory, when=conditions(self, place, memory, separated))

    def states_observed(self, location_id: SubjectKey, memory: Memory) -> list[State]:
        """Return the known states in which its action had its outcome, in the base and in the episodes taken in."""
        found = self._states.get((location_id, *_words(memory)), [])
        return [*self._writer.states_observed(location_id, memory), *found]

    def _oppose(self, place: SubjectKey, rival: Memory, memory: Memory) -> None:
        """Keep what came out otherwise in the same state: what was observed more often is believed."""
        belief = decisions.believed(rival, memory)
        reason = f"in the same state “{memory.action}” came out otherwise: {memory.outcome}"
        turn, name = TurnSpan.parse(memory.turns).last_number, self._names[place]
        with self._draft.transaction(turn_stamp=self._stamp) as draft:
            decisions.oppose(draft, place, name, rival, memory, belief, turn, reason)

    # Trials

    def _take_in_trials(self, findings: MemoriesAfterEpisode) -> None:
        own = [
            replace(one, title=self._titles.get((one.location_id, one.title), one.title))
            for one in Trials(sidecar(findings.path)).own_trials(findings.episode)
        ]
        if own:
            self._trials.append(own)


def _differences(old: Memory, new: Memory) -> dict[str, Any]:
    """Return the fields that an episode has changed, but for those that count.

    That it has become doubtful is left out: what contradicts it is merged too, and decides that again.
    """
    fields = [name for name in _WORDED if getattr(old, name) != getattr(new, name)]
    if new.status != old.status and new.status != MemoryStatus.TENTATIVE:
        fields += ["status", "superseded_by", "superseded_at_turn", "invalidation_reason"]
    changed = {name: getattr(new, name) for name in fields}
    if "superseded_at_turn" in changed:
        # The memory that takes over these fields may have been seen last in another episode.
        changed["superseded_in_episode"] = (
            new.episode if new.superseded_in_episode is None else new.superseded_in_episode
        )
    return changed


def _counting(known: Memory, later: Memory) -> Memory:
    """Return a memory with the observations and trials of one of a later episode."""
    seen = [when(one).episode for one in (known, later) for when in (seen_first, seen_last)]
    return taking_over(known, later, tuple(dict.fromkeys(seen)))


def _is_plain_repeat(known: Memory, memory: Memory) -> bool:
    """Return whether the same words are kept already and nothing but a count has to be changed."""
    lasts = known.persistence in (memory.persistence, Persistence.PERMANENT)
    return known.status == memory.status == MemoryStatus.ACTIVE and lasts and not known.is_settled_by_person


def _words(memory: Memory) -> tuple[str, str]:
    return folded(memory.title), folded(memory.text)


def _bare(title: str) -> str:
    return folded(_NUMBER.sub("", title))


def _visits_of(document: Document, place: SubjectKey) -> int:
    return sum(section.visits for section in document.sections_of(place))


def _stamps(records: Iterable[HistoryRecord]) -> dict[tuple[SubjectKey, str, str], TurnStamp]:
    """Return the turn that taught each memory."""
    return {
        (record.change.location_id, *_words(record.change.after)): record.turn_stamp
        for record in records
        if record.turn_stamp is not None and record.change.kind == "added" and record.change.after is not None
    }


def _states(records: Iterable[HistoryRecord]) -> dict[tuple[SubjectKey, str, str], list[State]]:
    """Return the states in which each memory was observed."""
    found: dict[tuple[SubjectKey, str, str], list[State]] = {}
    for record in records:
        change, stamp = record.change, record.turn_stamp
        is_observed = change.kind in OBSERVATIONS and change.after is not None
        if is_observed and stamp is not None and (stamp.action or stamp.state):
            found.setdefault((change.location_id, *_words(change.memory)), []).append(stamp.state)
    return found
