"""The memory of a player of text adventures: `AgentMemory` with full `Memory` objects and the game's ground truth."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zorkgpt import telemetry
from zorkgpt.errors import FileError, MemoryStoreError, StateError, reason_of
from zorkgpt.llm.model import LLM
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.by_place import MemoriesByPlace
from zorkgpt.memory.checks import check_episode, check_name, check_turn, checked_memory
from zorkgpt.memory.episode import read_session, write_session
from zorkgpt.memory.guards import GuardCount, NewMemory
from zorkgpt.memory.models import (
    OBJECTIVES,
    Memory,
    MemoryEvent,
    MemoryStatus,
    Persistence,
    PlaceKey,
    SubjectKey,
    ZMachineContext,
)
from zorkgpt.memory.objects import PlacedObject
from zorkgpt.memory.parts import ChatClient
from zorkgpt.memory.places import checked_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.lasting import EVERY
from zorkgpt.memory.storage.reverting import revert
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.memory.upkeep.audit import AuditFinding, AuditVerdict, audit, tally
from zorkgpt.memory.world import TEXT_ADVENTURE
from zorkgpt.record.experience import ExperienceRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zorkgpt.embeddings.provider import EmbeddingProvider
    from zorkgpt.memory.answers import FurtherFact
    from zorkgpt.memory.dedup.consolidation import Merge
    from zorkgpt.memory.editing import Edit
    from zorkgpt.memory.provenance import Provenance

    Vector = NDArray[np.float32]


class SimpleMemoryManager(AgentMemory):
    """The memory of a player of text adventures.

    Adds methods that take a full `Memory` and return False if nothing was changed, the game's ground truth, and the
    state that a run saves and restores. The arguments are those of `AgentMemory`.
    """

    _default_world = TEXT_ADVENTURE
    _allows_scope = False

    @property
    def logger(self) -> logging.Logger:
        """The logger."""
        return self._log

    @property
    def config(self) -> object:
        """The configuration, as given."""
        return self._config

    @property
    def game_state(self) -> object:
        """The state of the game, as given."""
        return self._game_state

    @property
    def llm_client(self) -> LLM | ChatClient | None:
        """The model's client, as given. None without a model."""
        return self._llm_client

    @property
    def memory_file(self) -> Path:
        """The file of the lasting memories."""
        return self.store.path

    @property
    def memory_cache(self) -> MemoriesByPlace:
        """The core and permanent memories by place, as in the file. Assigning a list of memories stores it."""
        return MemoriesByPlace(self._writer, lasting=True)

    @property
    def ephemeral_cache(self) -> MemoriesByPlace:
        """The ephemeral memories of this episode by place. Assigning a list of memories stores it."""
        return MemoriesByPlace(self._writer, lasting=False)

    # Memories

    @telemetry.traced("remember")
    def add_memory(self, location_id: SubjectKey, location_name: str, memory: Memory) -> bool:
        """Store a memory and return whether it could be written. Lasting memories are on disk when this returns.

        A memory with the same title and text as a current one is counted as seen again.

        Raises:
            TypeError, ValueError: If a value is invalid. Nothing was stored.
        """
        location_id, memory = checked_place(location_id), checked_memory(memory)
        check_name(location_name)
        new = NewMemory(location_id, location_name, memory)
        return self._is_kept(new)

    @telemetry.traced("recall", shown=lambda text: [text] if text else [])
    def get_location_memory(self, location_id: SubjectKey, *, unseen_only: bool = False) -> str:
        """Return the memories of a location, of the things there and of the game, one line each; "" if there are none.

        They count as shown to the player: its next action there tests them.

        The game's prompts fence and label these lines themselves. Use `recall` for other prompts.

        Args:
            unseen_only: Omit the whereabouts of things that the player sees now or has moved.

        Raises:
            TypeError, ValueError: If `location_id` is not a valid place.
        """
        location_id = checked_place(location_id)
        text, located = self._selected(location_id, unseen_only=unseen_only)
        self._note_shown(location_id, located)
        return text

    @telemetry.traced("supersede")
    def supersede_memory(
        self, location_id: SubjectKey, location_name: str, old_memory_title: str, new_memory: Memory
    ) -> bool:
        """Replace a memory by a newer one. Return False if it was not found, not written, or refused.

        An ephemeral memory can't replace a lasting one, because the restart would lose both.
        """
        location_id, new_memory = checked_place(location_id), checked_memory(new_memory)
        check_name(location_name)
        turn = self._state.turn or new_memory.last_turn
        new = NewMemory(location_id, location_name, new_memory, replaces=[old_memory_title], turn=turn)
        return self._is_kept(new)

    @telemetry.traced("invalidate")
    def invalidate_memory(
        self, location_id: SubjectKey, memory_title: str, reason: str, turn: int | None = None
    ) -> bool:
        """Mark a memory as wrong. Return False if it was not found, not written, or the reason is blank."""
        location_id = checked_place(location_id)
        check_turn(turn)
        turn = self._state.turn if turn is None else turn
        writer = self._writer
        with writer.refusals_logged():
            writer.invalidate(location_id, memory_title, reason, turn)
            return True
        return False

    def invalidate_memories(
        self, location_id: SubjectKey, memory_titles: list[str] | set[str], reason: str, turn: int | None = None
    ) -> dict[str, bool]:
        """Mark several memories as wrong and return the result for each title."""
        return {title: self.invalidate_memory(location_id, title, reason, turn) for title in memory_titles}

    def update_memory_metadata(
        self, memory: Memory, location_id: SubjectKey, location_name: str, new_turn: int | str, new_episode: int | str
    ) -> bool:
        """Count another observation of a memory. Each turn is counted once."""
        location_id = checked_place(location_id)
        check_episode(new_episode)
        if isinstance(new_turn, int):
            check_turn(new_turn)
        writer = self._writer
        changing = writer.changing_memory(location_id, memory, also_settled=True)
        with writer.refusals_logged(), changing as (draft, known):
            draft.see_again(location_id, known, new_turn, new_episode)
            return True
        return False

    def _is_kept(self, new: NewMemory) -> bool:
        """Store a memory, and return whether it was stored. If not, the reason is logged."""
        writer = self._writer
        with writer.refusals_logged():
            writer.keep([new])
            return True
        return False

    def edit_memory(
        self, location_id: SubjectKey, title: str, wanted: "Edit", *, expected: str | None = None
    ) -> Memory:
        """Change a stored memory on behalf of a person. See `zorkgpt.memory.editing.edit`."""
        from zorkgpt.memory.editing import edit

        return edit(self.store, checked_place(location_id), title, wanted, expected=expected)

    def get_ephemeral_count(self, location_id: SubjectKey | None = None) -> int:
        """Return the number of ephemeral memories, including superseded ones."""
        return _count(self._known.ephemeral, location_id)

    def get_persistent_count(self, location_id: SubjectKey | None = None) -> int:
        """Return the number of lasting memories, including superseded ones."""
        self._writer.refresh()
        with self.store.guard:
            lasting = self.store.lasting
            return lasting.count() if location_id is None else len(lasting.memories(location_id))

    def get_memory_breakdown(self, location_id: SubjectKey) -> dict[str, int]:
        """Return the number of current memories by persistence."""
        self._writer.refresh()
        location_id = checked_place(location_id)
        counts = Counter(memory.persistence for memory in self._known.current(location_id))
        return {kind.value: counts[kind] for kind in Persistence}

    def all_memories(self) -> list[LocatedMemory]:
        """Return all memories, including superseded ones, ordered by place."""
        self._writer.refresh()
        with self.store.guard:
            return self._known.located(self._known.find(EVERY))

    def explain(self, title: str, place: SubjectKey | None = None) -> "list[Provenance]":
        """Return the origin, uses and results of the memories with this title, ordered by place."""
        from zorkgpt.memory.provenance import explain

        self._writer.refresh()
        with self.store.guard:
            location_id = None if place is None else checked_place(place)
            return explain(self.store, title, self._known, location_id=location_id, runs=self._runs)

    # Turns

    def record_action_outcome(
        self,
        location_id: PlaceKey,
        location_name: str,
        action: str,
        response: str,
        z_machine_context: ZMachineContext | Mapping[str, object] | None = None,
    ) -> None:
        """Learn from an action at this location. Never raises. Errors are logged and counted.

        If `first_look` is set in the context, the same question covers the destination: don't call `record_arrival`.
        """
        self._learner.learn(self.take_turn(location_id, location_name, action, response, z_machine_context))

    def record_arrival(
        self,
        location_id: PlaceKey,
        location_name: str,
        description: str,
        z_machine_context: ZMachineContext | Mapping[str, object] | None = None,
    ) -> None:
        """Learn from the first description of a location in this episode. Never raises."""
        self._learner.learn(
            self.take_turn(location_id, location_name, "", description, z_machine_context, arrival=True)
        )

    def take_turn(
        self,
        location_id: PlaceKey,
        location_name: str,
        action: str,
        response: str,
        z_machine_context: ZMachineContext | Mapping[str, object] | None = None,
        *,
        arrival: bool = False,
        row: ExperienceRow | None = None,
    ) -> SynthesisRequest | None:
        """Do the part of `record_action_outcome`, or `record_arrival`, that needs no model.

        Args:
            row: The row of the turn in the experience of `game_state`, if that has it already.

        Returns:
            The question for `learn_from`. None if there is nothing to ask.
        """
        return self._learner.take_turn(
            location_id, location_name, action, response, z_machine_context, arrival=arrival, row=row
        )

    def note_moves(self, z_machine_context: ZMachineContext) -> None:
        """Record moves and changes on a turn that shows no outcome, such as an answer to a question."""
        self._recorder.ledger.note_moves(z_machine_context)

    def learn_from(self, question: SynthesisRequest | None) -> None:
        """Ask what a turn of this episode teaches and store the answer. Never raises. Errors are logged and counted."""
        self._learner.learn(question)

    def note(
        self, location_id: PlaceKey, subject: SubjectKey, name: str, fact: "FurtherFact"
    ) -> tuple[MemoryEvent, ...]:
        """Store a fact that the player itself states, after the same checks as for a fact that a model learned.

        Args:
            location_id: Where the player is.
            subject: What the fact is about.
            name: The subject's name.

        Returns:
            The changes: added, contested, ignored with a reason, ... Empty if the fact is already known.

        Raises:
            MemoryStoreError: If it could not be written.
        """
        return self._learner.note(checked_place(location_id), checked_place(subject), name, fact)

    def is_first_visit(self, location_id: PlaceKey) -> bool:
        """Return whether no earlier turn of this episode was recorded at this location."""
        return self._recorder.is_first_visit(checked_place(location_id), self._state.turn)

    def get_visits(self, location_id: PlaceKey) -> tuple[int, int]:
        """Return the number of visits and of episodes with a visit, both including the current visit.

        If the player was last somewhere else, the visit that begins now is the current one.
        """
        location_id = checked_place(location_id)
        self._writer.refresh()
        with self.store.guard:
            return self._writer.visits.totals(self.store.lasting, location_id, self._state.episode)

    def memories_at(self, location_id: PlaceKey) -> list[Memory]:
        """Return the current memories of a location, and of the things that are there or start there."""
        subjects = (location_id, *self._recorder.things_at(location_id))
        return [memory for subject in subjects for memory in self._known.current(subject)]

    def contradicting_state(self, location_id: PlaceKey, memory: Memory) -> str:
        """Return the observed state that contradicts a memory's claims, such as `gone`; "" if none is known."""
        return self._recorder.ledger.contradicting_state(location_id, memory.claims)

    def audit(self, world: Sequence[PlacedObject], *, apply: bool = True) -> list[AuditFinding]:
        """Compare the core memories with a new game, and invalidate those that it contradicts.

        Args:
            world: Every object that is in a room when the game begins.
            apply: If False, nothing is changed.
        """
        findings = audit(self.all_memories(), world)
        for finding in findings:
            located = finding.located
            if not apply or finding.verdict != AuditVerdict.CONTRADICTED:
                continue
            if not located.memory.is_settled_by_person:
                self.invalidate_memory(located.location_id, located.memory.title, finding.evidence, turn=0)
        self._learner.counts.audit = tally(findings)
        return findings

    def drain_events(self) -> list[MemoryEvent]:
        """Return the changes to memories since the last call."""
        with self.store.guard:
            return self._writer.events.drain()

    def get_status(self) -> dict[str, object]:
        """Return the number of memories and the metrics of this episode."""
        self._writer.refresh()
        with self.store.guard:
            places = {place for place, _ in self._known.find(EVERY)}
            ephemeral = self._known.all_ephemeral()
            lasting = [memory for _, memory in self.store.lasting.find(EVERY)]
            tentative = sum(memory.status == MemoryStatus.TENTATIVE for memory in (*lasting, *ephemeral))
            metrics = {
                "locations": len(places),
                "persistent_memories": len(lasting),
                "ephemeral_memories": len(ephemeral),
                "open_tentative": tentative,
                "write_failures": self._writer.write_failures,
                **{count.value: self._writer.guard_counts[count] for count in GuardCount},
                **asdict(self._learner.counts),
            }
            if self._deduplicator is not None:
                metrics["deduplication_metrics"] = self._deduplicator.metrics()
        return {"type": "simple_memory", "metrics": metrics}

    # Duplicates

    @property
    def enable_deduplication(self) -> bool:
        """Whether duplicates in other words are found."""
        return self._deduplicator is not None

    @property
    def similarity_threshold(self) -> float:
        """Minimum cosine similarity of a near-duplicate."""
        return self._settings.deduplication_similarity_threshold

    @property
    def embedding_provider(self) -> "EmbeddingProvider | None":
        """The embedding provider. None if there is none."""
        return None if self._deduplicator is None else self._deduplicator.index.provider

    @property
    def embedding_cache(self) -> "dict[PlaceKey, list[tuple[str, Vector]]]":
        """The result of `get_location_embeddings` by place, computed when read. Empty without vectors."""
        by_place = ((place, self.get_location_embeddings(place)) for place in self.memory_cache)
        return {place: vectors for place, vectors in by_place if vectors}

    def calculate_embedding(self, text: str) -> "Vector | None":
        """Return the vector of a text, float32 of unit length. None if it can't be made."""
        return None if self._deduplicator is None else self._deduplicator.index.vector(text)

    def get_location_embeddings(self, location_id: SubjectKey) -> "list[tuple[str, Vector]]":
        """Return the titles of a location's current lasting memories with their vectors. Empty without vectors."""
        if self._deduplicator is None:
            return []
        self._writer.refresh()
        current = self._known.current(checked_place(location_id))
        memories = [memory for memory in current if memory.persistence.outlives_episode and memory.text.strip()]
        vectors = self._deduplicator.index.vectors([memory.text for memory in memories]) if memories else None
        titles = [memory.title for memory in memories]
        return [] if vectors is None else list(zip(titles, vectors, strict=True))

    def check_semantic_duplicate(self, candidate_text: str, location_id: SubjectKey) -> tuple[Memory, float] | None:
        """Return the nearest lasting memory that says the same, and the cosine similarity. None if there is none.

        Without vectors, only identical texts are found.
        """
        location_id = checked_place(location_id)
        self._writer.refresh()
        if not candidate_text.strip():
            return None
        wanted = folded(candidate_text)
        lasting = [memory for memory in self._known.current(location_id) if memory.persistence.outlives_episode]
        identical = [memory for memory in lasting if folded(memory.text) == wanted]
        nearest = self._deduplicator and self._deduplicator.nearest_duplicate(location_id, candidate_text)
        return nearest or ((identical[0], 1.0) if identical else None)

    def rebuild_embedding_cache(self) -> bool:
        """Embed all lasting memories again, and return whether this succeeded."""
        return self._deduplicator is not None and self._deduplicator.index.rebuild(self._deduplicator.texts())

    @staticmethod
    def cosine_similarity(a: "Vector", b: "Vector") -> float:
        """Return the cosine similarity in [-1, 1]. 0 if a vector is zero or not finite, or the shapes differ."""
        from zorkgpt.embeddings.arrays import np

        first, second = (np.asarray(vector, dtype=np.float64) for vector in (a, b))
        lengths = np.linalg.norm(first) * np.linalg.norm(second)
        if first.shape != second.shape or not np.isfinite(lengths) or lengths == 0:
            return 0.0
        return float(np.clip(first @ second / lengths, -1, 1))

    def consolidate(self, *, apply: bool = True, threshold: float | None = None) -> "list[Merge]":
        """Find duplicates among all lasting memories, merge them, and return the merges. Unsure pairs are left alone.

        Args:
            apply: If False, nothing is changed.
            threshold: Minimum cosine similarity. Defaults to `candidate_threshold`.
        """
        if self._deduplicator is None:
            return []
        from zorkgpt.memory.dedup.consolidation import find_repeats

        self._writer.refresh()
        merges = find_repeats(self.store, self._deduplicator, threshold)
        if apply:
            self.merge(merges)
        return merges

    def merge(self, merges: "list[Merge]") -> int:
        """Apply the merges of `consolidate(apply=False)`, and return how many were made."""
        from zorkgpt.memory.dedup.consolidation import merge

        writer, made = self._writer, 0
        for place in dict.fromkeys(each.location_id for each in merges):
            # The writer logs a failure. Other places may still be written.
            with suppress(MemoryStoreError):
                with writer.changing(lasting=True) as draft:
                    made_here = merge(draft, [each for each in merges if each.location_id == place])
                made += made_here
        return made

    # Episodes

    def reset_episode(self) -> None:
        """Begin a new episode: the same as `new_episode`."""
        self.new_episode()

    def reset(self) -> None:
        """Begin a new episode: the same as `new_episode`."""
        self.new_episode()

    def process_turn(self, record: object = None) -> None:
        """Record that the current turn has ended, so that later changes by a person belong to the next one."""
        self._writer.end_turn()

    def process_periodic_update(self) -> None:
        """Do nothing. Writes are immediate."""

    def drop_episode(self) -> None:
        """Discard the restored episode without writing anything."""
        with self.store.guard:
            self._writer.visits.drop()
            self._writer.credit.drop()
            self._writer.forget_episode()
            self._learner.reset()

    def flush(self) -> None:
        """Write all pending counts of visits and results."""
        with self.store.guard:
            self._recorder.count_attempts()
            self._writer.count()

    def save_session(self, path: Path | str) -> bool:
        """Write the state of this episode to a file, and return whether this succeeded."""
        with self.store.guard:
            self.flush()
            session = self._session()
        try:
            write_session(Path(path), session)
        except (OSError, FileError) as error:
            self._log.warning("session not saved", extra={"path": str(path), "error": str(error)})
            return False
        return True

    def restore_session(self, path: Path | str) -> bool:
        """Restore the state that `save_session` wrote. Return False if there is none for this episode."""
        try:
            with self.store.guard:
                session, before = read_session(Path(path), self._state.episode), self._session()
                try:
                    self._restore_session(session)
                except BaseException:
                    self._restore_session(before)
                    raise
        except FileNotFoundError:
            return False
        except (OSError, StateError) as error:
            self._log.warning("session not restored", extra={"error": str(error)})
            return False
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._log.warning(
                "session not restored: it is damaged", extra={"path": str(path), "error": reason_of(error)}
            )
            return False
        return True

    def _session(self) -> dict[str, object]:
        return self.snapshot() | {"experience": self._recorder.experience.saved()}

    def _restore_session(self, session: dict[str, Any]) -> None:
        self._recorder.experience.restore(session["experience"])
        self.restore(session)

    def snapshot(self) -> dict[str, object]:
        """Return the state of this episode as plain values for JSON, without its experience."""
        with self.store.guard:
            learner, writer = self._learner.snapshot(), self._writer.snapshot()
            position = self.store.journal.size()
            return {"episode": self._state.episode, "position": position, "learner": learner, "writer": writer}

    def restore(self, saved: dict[str, object]) -> None:
        """Restore the state that `snapshot` returned.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: If the values are not those of a snapshot.
        """
        with self.store.guard:
            content: dict[str, Any] = saved
            position = int(content["position"])
            # Before the writer, which reverts changes.
            self._learner.restore(content["learner"])
            self._writer.restore(content["episode"], content["writer"], position)

    def undo_to(self, saved: dict[str, object]) -> None:
        """Revert what the episode of a snapshot has changed of ephemeral memories and objectives since then.

        The turns were played: lasting memories and counts stay.

        Raises:
            KeyError, TypeError, ValueError: If the values are not those of a snapshot.
            MemoryStoreError: If the memories can't be read or written.
        """
        content: dict[str, Any] = saved
        with self.store.guard, self.store.turn():
            episode, position = content["episode"], int(content["position"])
            self._writer.revert_ephemeral(episode, position, source="person")
            changes = self.store.journal.lasting_changes(episode, position)
            with self.store.transaction(source="person", places=[OBJECTIVES]) as draft:
                objectives = [record for record in changes if record.change.location_id == OBJECTIVES]
                revert(self.store.journal, draft, objectives, source="person")
            self._recorder.undo_to(content["learner"])

    def revert_to(self, saved: dict[str, object]) -> None:
        """Undo what the episode of a snapshot has changed since then. Changes by others stay.

        Raises:
            KeyError, TypeError, ValueError: If the values are not those of a snapshot.
            MemoryStoreError: If the memories can't be read or written. The call can be repeated.
        """
        content: dict[str, Any] = saved
        self.store.revert_to(int(content["position"]), content["episode"])


def _count(cache: Mapping[SubjectKey, Sequence[Memory]], location_id: SubjectKey | None) -> int:
    if location_id is not None:
        return len(cache.get(checked_place(location_id), ()))
    return sum(map(len, cache.values()))
