"""The face of the memory: what is known of a place, and what a turn adds to it."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zorkgpt.files import LOCK_TIMEOUT_S, Disk
from zorkgpt.log import get_logger
from zorkgpt.memory.asking import asking, judging
from zorkgpt.memory.dedup.choice import deduplication_settings, keeper_for
from zorkgpt.memory.keeping import session
from zorkgpt.memory.keeping.lifecycle import Visits
from zorkgpt.memory.learning.judgment_cache import JudgmentCache
from zorkgpt.memory.learning.recorder import Recorder
from zorkgpt.memory.learning.synthesis import MemorySynthesizer
from zorkgpt.memory.likeness import Likeness
from zorkgpt.memory.lookback import Lookback
from zorkgpt.memory.models import Memory, MemoryEvent, MemoryStatus, ZMachineContext, episode_key
from zorkgpt.memory.recall.retrieval import estimated_tokens, shown
from zorkgpt.memory.recall.search import Found, LocatedMemory
from zorkgpt.memory.settings import settings_of
from zorkgpt.memory.storage.restore_point import FileRestorer
from zorkgpt.memory.storage.store import MemoryStore
from zorkgpt.memory.turn_span import TurnSpan
from zorkgpt.memory.upkeep.audit import AuditFinding, AuditVerdict, Thing, held_against, tally

if TYPE_CHECKING:
    from zorkgpt.memory.editing import Edit

OfThisPlaceOnly = Callable[[int, str, Sequence[Memory]], list[Memory]]
"""(location, its name, its memories) → those that say something of this place alone."""


class SimpleMemoryManager(Likeness, Lookback):
    """Memories by place: kept in `Memories.md`, those of the running episode in memory only.

    Safe to use from several threads, and from several processes on one file.

    Args:
        config: anything with some of the attributes that `[tool.zorkgpt.memory]` and `simple_memory` name.
        game_state: anything with `episode_id` and `turn_count`, and perhaps `action_history` and
            `action_reasoning_history`.
        llm_client: an `LLM`, or a client of the OpenAI SDK's shape; decides what a turn teaches. Without it, and
            without a `synthesizer`, nothing is learned from turns.
        synthesizer: decides in its stead.
        embeddings: an `EmbeddingProvider`, in the place of the one that the configuration names. Without either, only
            word-for-word repeats are recognised.
        judge: tells whether two memories say the same where their words leave it open; `llm_client` by default.
        wait_for_embeddings: if not, the model is loaded in the background, and words are compared meanwhile.
        model: which one `llm_client` is asked for; without it, the one that the configuration names.
        path: the file, where it is not `memory_file` in the configuration's working directory.
        count_tokens: the model's own tokenizer; without one, tokens are estimated.

    Raises:
        MemoryStoreError: there is a file and it can't be read.
    """

    def __init__(
        self,
        logger: logging.Logger | None = None,
        config: Any = None,
        game_state: Any = None,
        llm_client: Any = None,
        *,
        synthesizer: MemorySynthesizer | None = None,
        embeddings: Any = None,
        judge: Any = None,
        wait_for_embeddings: bool = True,
        path: Path | str | None = None,
        model: str | None = None,
        count_tokens: Callable[[str], int] = estimated_tokens,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        disk: Disk | None = None,
    ) -> None:
        self.logger = logger or get_logger(__name__)
        self.config = config
        self.game_state = game_state
        self.settings = settings_of(config)
        self.store = MemoryStore(path or self.settings.path, lock_timeout_s=lock_timeout_s, disk=disk)
        self._visits = Visits()
        self._likeness = deduplication_settings(config)
        self._keeper = keeper_for(
            self._likeness,
            self.store,
            self._visits,
            self.logger,
            embeddings=embeddings,
            llm_client=llm_client,
            judge=judge or judging(llm_client, model or self.settings.model),
            wait=wait_for_embeddings,
            debug=self.settings.debug_ephemeral,
        )
        self._judgements = self.store.file.path.with_suffix(".judged.jsonl")
        synthesizer = synthesizer or asking(llm_client, model or self.settings.model, self.settings)
        # What costs nothing to ask is asked every time.
        passes_over = self.settings.ask_only_once and getattr(synthesizer, "asks_a_model", True)
        self._recorder = Recorder(
            self._keeper,
            self._visits,
            synthesizer,
            game_state,
            self.logger,
            history_window=self.settings.history_window,
            judged=JudgmentCache(self._judgements, self.logger) if passes_over else None,
            triggers=self.settings.triggers,
        )
        self._count_tokens = count_tokens
        self.of_this_place_only: OfThisPlaceOnly = lambda location_id, location_name, memories: list(memories)
        """Which memories of a location are shown there; the others are told as what holds at many places."""

    @classmethod
    def open(cls, path: Path | str, llm: Any = None, embeddings: Any = None, **options: Any) -> "SimpleMemoryManager":
        """The memory without a game: of this file, or of `Memories.md` in this folder."""
        path = Path(path)
        file = path / "Memories.md" if path.is_dir() else path
        return cls(llm_client=llm, embeddings=embeddings, path=file, **options)

    def __enter__(self) -> "SimpleMemoryManager":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget what was of the episode. All else was on disk when its call returned; nothing is held open."""
        self.reset_episode()
        self._keeper.close()

    @property
    def synthesizer(self) -> MemorySynthesizer | None:
        return self._recorder.synthesizer

    @property
    def memory_cache(self) -> dict[int, list[Memory]]:
        """Core and permanent memories by location, as in the file."""
        return self.store.cache

    @property
    def ephemeral_cache(self) -> dict[int, list[Memory]]:
        """This episode's memories by location."""
        return self._keeper.ephemeral

    def add_memory(self, location_id: int, location_name: str, memory: Memory) -> bool:
        """Keep a memory; on disk when this returns, if it is not ephemeral. False: it could not be written.

        One of the same title and text as a current one counts as seen again.
        """
        return self._keeper.add(location_id, location_name, memory)

    def supersede_memory(self, location_id: int, location_name: str, old_memory_title: str, new_memory: Memory) -> bool:
        """Replace a memory by a newer one. False: not found, not written, or refused, and nothing was changed.

        What is known for good can't be replaced by what is true for the episode only.
        """
        turn = self._recorder.turn or TurnSpan.parse(new_memory.turns).last_number
        return self._keeper.supersede(location_id, location_name, [old_memory_title], new_memory, turn)

    def invalidate_memory(self, location_id: int, memory_title: str, reason: str, turn: int | None = None) -> bool:
        """Mark a memory as wrong. False: not found, not written, or there is no reason."""
        return self._keeper.invalidate(location_id, memory_title, reason, self._recorder.turn if turn is None else turn)

    def invalidate_memories(
        self, location_id: int, memory_titles: list[str] | set[str], reason: str, turn: int | None = None
    ) -> dict[str, bool]:
        return {title: self.invalidate_memory(location_id, title, reason, turn) for title in memory_titles}

    def update_memory_metadata(
        self, memory: Memory, location_id: int, location_name: str, new_turn: int | str, new_episode: int | str
    ) -> bool:
        """Count one more observation of a memory. The same turn of the same episode counts once."""
        return self._keeper.seen_again(location_id, memory, new_turn, new_episode)

    def get_location_memory(self, location_id: int) -> str:
        """What the agent is told of this location; "" if nothing is known."""
        self._keeper.refresh()
        with self.store.guard:
            sections = self.store.document.sections_of(location_id)
            kept = self.store.cache.get(location_id, [])
            of_here = self.of_this_place_only(location_id, self._name(location_id), kept)
            of_here += [one for one in kept if one.pinned and one not in of_here]
            found = shown(
                of_here,
                self._keeper.ephemeral.get(location_id, ()),
                episodes=sections[0].episodes if sections else (),
                budget=self.settings.budget,
                count_tokens=self._count_tokens,
                in_general=len(kept) - len(of_here),
            )
            self._recorder.shown(location_id, found.memories)
        return found.text

    def mark_recalled(self, location_id: int, memories: Iterable[Memory]) -> None:
        """These memories of a location were shown to the agent elsewhere: repeating them is no observation."""
        with self.store.guard:
            self._recorder.recalled.show(location_id, memories)

    def mark_lines_recalled(self, lines: Iterable[str]) -> None:
        """The same for what was drawn from memories and is of no place."""
        with self.store.guard:
            self._recorder.recalled.show_lines(lines)

    def get_visits(self, location_id: int) -> tuple[int, int]:
        """How often the player has been here, and in how many episodes; the present visit included.

        That is the one that goes on here, or, when the player was last somewhere else, the one that begins now.
        """
        self._keeper.refresh()
        with self.store.guard:
            written = next(iter(self.store.document.sections_of(location_id)), None)
            uncounted = self._visits.with_present(location_id, self._recorder.episode)
            times, episodes = (written.visits, written.episodes) if written else (0, ())
            played = {episode_key(each) for each in (*episodes, *uncounted, self._recorder.episode)}
            return times + len(uncounted), len(played)

    def get_ephemeral_count(self, location_id: int | None = None) -> int:
        """With the superseded."""
        return _count(self._keeper.ephemeral, location_id)

    def get_persistent_count(self, location_id: int | None = None) -> int:
        """With the superseded."""
        self._keeper.refresh()
        with self.store.guard:
            return _count(self.store.cache, location_id)

    def get_memory_breakdown(self, location_id: int) -> dict[str, int]:
        """How many of each persistence are current."""
        self._keeper.refresh()
        found = Counter(memory.persistence for memory in self._keeper.current(location_id))
        return {kind: found[kind] for kind in ("core", "permanent", "ephemeral")}

    def all_memories(self) -> list[LocatedMemory]:
        """Every memory with its place, the superseded too, by location."""
        self._keeper.refresh()
        with self.store.guard:
            return [
                LocatedMemory(location_id, self._name(location_id), memory)
                for location_id in sorted({*self.store.cache, *self._keeper.ephemeral})
                for cache in (self.store.cache, self._keeper.ephemeral)
                for memory in cache.get(location_id, ())
            ]

    def edit_memory(self, location_id: int, title: str, wanted: "Edit", *, expected: str | None = None) -> Memory:
        """What a person wants otherwise of a memory in the file: see `zorkgpt.memory.editing.edit`."""
        from zorkgpt.memory.editing import edit

        return edit(self.store, location_id, title, wanted, expected=expected)

    def search(self, query: str, k: int = 5) -> list[Found]:
        """The current memories, wherever they are, that are nearest to the query, best first.

        By meaning where there are embeddings, else by common words.
        """
        return self._found(query, self.all_memories(), k)

    def is_first_visit(self, location_id: int) -> bool:
        """Whether no turn at this location has been recorded in this episode, but for the present turn."""
        return self._recorder.is_first_visit(location_id)

    def record_action_outcome(
        self,
        location_id: int,
        location_name: str,
        action: str,
        response: str,
        z_machine_context: ZMachineContext | dict[str, Any] | None = None,
    ) -> None:
        """Learn from an action taken at this location. Whatever fails is logged and counted; the game goes on."""
        self._recorder.record(location_id, location_name, action, response, z_machine_context, arrival=False)

    def record_arrival(
        self,
        location_id: int,
        location_name: str,
        description: str,
        z_machine_context: ZMachineContext | dict[str, Any] | None = None,
    ) -> None:
        """Learn from the first look at a location in this episode, the opening text included. Never raises."""
        self._recorder.record(location_id, location_name, "", description, z_machine_context, arrival=True)

    def audit(self, world: Sequence[Thing], *, apply: bool = True) -> list[AuditFinding]:
        """Hold the core memories against a world that has just begun, and mark as wrong what it contradicts.

        Args:
            world: everything that is in a room, as the game begins.
            apply: off, nothing is changed.
        """
        findings = held_against(self.all_memories(), world)
        for finding in findings:
            located = finding.located
            if not apply or finding.verdict != AuditVerdict.CONTRADICTED:
                continue
            if not self._keeper.is_by_a_person(located.location_id, located.memory):
                self._keeper.invalidate(located.location_id, located.memory.title, finding.evidence, 0)
        self._recorder.counts.audit = tally(findings)
        return findings

    def drain_events(self) -> list[MemoryEvent]:
        """What happened to memories since this was asked last: for showing the turn."""
        with self.store.guard:
            events = list(self._keeper.events)
            self._keeper.events.clear()
        return events

    def reset_episode(self) -> None:
        """A new episode: what was true until the restart is forgotten."""
        with self.store.guard:
            self._keeper.count_all()
            cleared, stay = (_count(cache, None) for cache in (self._keeper.ephemeral, self.store.cache))
            self._keeper.forget_episode()
            self._recorder.reset()
        self.logger.info("episode reset: %d ephemeral memories cleared, %d persistent memories stay", cleared, stay)

    def reset(self) -> None:
        self.reset_episode()

    def drop_episode(self) -> None:
        """Forget what `restore` has taken over, counts that wait to be written too: nothing is written."""
        with self.store.guard:
            self._visits.drop()
            self._keeper.evidence.drop()
            self._keeper.forget_episode()
            self._recorder.reset()

    def get_status(self) -> dict[str, Any]:
        """What stands where, and how this episode's learning went."""
        self._keeper.refresh()
        with self.store.guard:
            ephemeral = [memory for kept in self._keeper.ephemeral.values() for memory in kept]
            lasting = [memory for kept in self.store.cache.values() for memory in kept]
            tentative = sum(memory.status == MemoryStatus.TENTATIVE for memory in (*lasting, *ephemeral))
            metrics = {
                "locations": len({*self.store.cache, *self._keeper.ephemeral}),
                "persistent_memories": len(lasting),
                "ephemeral_memories": len(ephemeral),
                "open_tentative": tentative,
                "write_failures": self._keeper.write_failures,
                "history_failures": self.store.history_failures,
                "evidence_failures": self._keeper.evidence.failures,
                "vetoes_obeyed": self._keeper.vetoes_obeyed,
                **asdict(self._recorder.counts),
                **self._keeper.metrics(),
            }
        state = "learning" if self.synthesizer is not None else "remembering"
        return {"type": "simple_memory", "state": state, "metrics": metrics}

    def save_session(self, path: Path | str) -> bool:
        """Write this episode's memories to a file of their own, for resuming it."""
        with self.store.guard:
            self._keeper.count_all()
            return session.save(Path(path), self._session())

    def restore_session(self, path: Path | str) -> bool:
        """Take them back. False: there are none, or they are another episode's; nothing was changed."""
        found = session.load(Path(path), self._recorder.episode)
        if found is None:
            return False
        self._resume(found)
        return True

    def snapshot(self) -> dict[str, Any]:
        """What `save_session` writes, as plain values for JSON."""
        with self.store.guard:
            return session.to_dict(self._session())

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on with the episode of which `snapshot` gave these values.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it gave other values; nothing is as it was.
        """
        self._resume(session.from_dict(saved))

    def rollback(self) -> FileRestorer:
        """From here on, what is written can be taken back to a checkpoint."""
        beside = (self.store.history.path, self._judgements, self._keeper.evidence.path)
        return FileRestorer(self.store.file, beside)

    def _session(self) -> session.Session:
        under_way = {"recorder": self._recorder.snapshot(), "keeper": self._keeper.snapshot()}
        return session.Session(
            self._recorder.episode, dict(self._keeper.ephemeral), self._visits.first_turns(), under_way
        )

    def _resume(self, found: session.Session) -> None:
        under_way = found.under_way or {}
        with self.store.guard:
            self._keeper.restore_episode(found.memories, under_way.get("keeper"))
            self._recorder.restore(found.first_turns, under_way.get("recorder"))

    def _name(self, location_id: int) -> str:
        written = next((section.name for section in self.store.document.sections_of(location_id)), "")
        return written or self._keeper.names.get(location_id, "")


def _count(cache: dict[int, list[Memory]], location_id: int | None) -> int:
    if location_id is not None:
        return len(cache.get(location_id, ()))
    return sum(map(len, cache.values()))
