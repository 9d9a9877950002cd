"""The face of the memory: what is known of a place, and what a turn adds to it."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from zorkgpt import telemetry
from zorkgpt.errors import MemoryEditError, MemoryStoreError
from zorkgpt.extras import missing_extra
from zorkgpt.files import LOCK_TIMEOUT_S, Disk
from zorkgpt.llm.messages import LLM
from zorkgpt.log import get_logger
from zorkgpt.memory import episode_snapshot
from zorkgpt.memory.checks import (
    check_name,
    check_parts,
    check_query,
    check_reason,
    check_text,
    check_turn,
    check_wanted,
    checked_facts,
    checked_memory,
    checked_path,
    title_of,
)
from zorkgpt.memory.dedup.deduplicator import Deduplicator
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.episode_snapshot import EpisodeSnapshot
from zorkgpt.memory.episode_state import EpisodeState
from zorkgpt.memory.ids import MemoryId, memory_id
from zorkgpt.memory.judgment_cache import Judgments
from zorkgpt.memory.learning import Learner
from zorkgpt.memory.models import (
    Category,
    Memory,
    MemoryEvent,
    MemoryStatus,
    Persistence,
    PlaceKey,
    ZMachineContext,
    episode_key,
)
from zorkgpt.memory.objects import PlacedObject
from zorkgpt.memory.places import checked_place, place_order, render_place
from zorkgpt.memory.provenance import AsOf
from zorkgpt.memory.retrieval import (
    LocatedMemory,
    Recalled,
    SearchResult,
    estimated_tokens,
    fenced,
    find_memory,
    plain,
    shown,
)
from zorkgpt.memory.search import Filters, Searcher
from zorkgpt.memory.settings import DeduplicationSettings, setting, settings_of
from zorkgpt.memory.storage.changes import is_current, same_words
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.memory.storage.postgres import is_postgres
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.restore_point import Restorer
from zorkgpt.memory.storage.sqlite import is_sqlite
from zorkgpt.memory.synthesis import MemorySynthesizer
from zorkgpt.memory.turn_span import TurnSpan
from zorkgpt.memory.upkeep.audit import AuditFinding, AuditVerdict, audit, tally
from zorkgpt.memory.visits import Visits
from zorkgpt.memory.world import NEUTRAL, TEXT_ADVENTURE, World, context_of
from zorkgpt.memory.writer import MemoryWriter
from zorkgpt.runlog.episodes import RUNS
from zorkgpt.text import quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zorkgpt.embeddings.cache import VectorCache
    from zorkgpt.embeddings.provider import EmbeddingProvider, ProviderChoice
    from zorkgpt.memory.dedup.consolidation import Merge
    from zorkgpt.memory.dedup.judge import Judge
    from zorkgpt.memory.editing import Edit
    from zorkgpt.memory.provenance import Provenance

    Vector = NDArray[np.float32]

"""(location, its name, its memories) → those that say something of this place alone."""


class ChatClient(Protocol):
    """A client of the OpenAI SDK's shape."""

    @property
    def chat(self) -> object:
        """With `completions.create(...)`."""
        ...


@runtime_checkable
class EmbeddingClient(Protocol):
    """A client of the OpenAI SDK's shape whose server makes vectors too."""

    @property
    def embeddings(self) -> object:
        """With `create(...)`."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a memory that are at work; "" for one that is not there."""

    words: bool
    """Whether two texts are compared by their words, and not only for being the same."""
    vectors: str
    """The name of the model that makes them."""
    judge: str
    """Who tells whether two texts say the same where their words leave it open; nobody is asked without vectors."""
    synthesizer: str
    """Who says what a turn teaches."""
    vectors_kept: str = ""
    """Where the vectors are kept, and why; "" where there are none."""

    def __str__(self) -> str:
        vectors = f"{self.vectors}, kept {self.vectors_kept}" if self.vectors_kept else self.vectors
        told = {"vectors": vectors, "judge": self.judge, "synthesizer": self.synthesizer}
        words = f"words {'compared' if self.words else 'not compared'}"
        return ", ".join([words, *(f"{name}: {said or 'none'}" for name, said in told.items())])


class SimpleMemoryManager:
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
        compare_words: whether what says the same in other words is recognised without vectors too.
        world: what things are called in the questions to a model, and which facts are certain.

    Raises:
        MemoryStoreError: there is a file and it can't be read.
        ConfigurationError: there are `embeddings` and NumPy is not installed, or a part is none that can be used.
    """

    def __init__(
        self,
        logger: logging.Logger | None = None,
        config: object = None,
        game_state: object = None,
        llm_client: LLM | ChatClient | None = None,
        *,
        synthesizer: MemorySynthesizer | None = None,
        embeddings: "EmbeddingProvider | None" = None,
        judge: "Judge | None" = None,
        wait_for_embeddings: bool = True,
        path: Path | str | None = None,
        model: str | None = None,
        count_tokens: Callable[[str], int] = estimated_tokens,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        disk: Disk | None = None,
        compare_words: bool = False,
        world: World = TEXT_ADVENTURE,
    ) -> None:
        self.logger = logger or get_logger(__name__)
        self.config = config
        self.game_state = game_state
        if embeddings is not None and find_spec("numpy") is None:
            raise missing_extra("embeddings", "numpy")
        check_parts(world, embeddings=embeddings, judge=judge, synthesizer=synthesizer)
        self.settings = settings = settings_of(config)
        self.store: Store = _store(path or settings.path, lock_timeout_s, disk)
        self._runs = self.store.path.parent / RUNS if path else settings.runs
        self._state = EpisodeState(game_state)
        self._visits = Visits()
        if llm_client is not None and not (synthesizer and judge):
            judge, synthesizer = _asked(
                llm_client, model or settings.model, judge, synthesizer, settings.history_window, world
            )
        self._compare_words = compare_words
        provider = embeddings or _provider(settings.deduplication, llm_client)
        self._deduplicator = self._make_deduplicator(provider, judge, wait=wait_for_embeddings)
        self._writer = MemoryWriter(
            self.store,
            self._visits,
            self.logger,
            deduplicator=self._deduplicator,
            stamp=self._state.stamp,
            debug=settings.debug_ephemeral,
        )
        self._learner = self._make_learner(synthesizer)
        self._count_tokens = count_tokens
        self._as_of: AsOf | None = None
        index = None if self._deduplicator is None else self._deduplicator.index
        self._searcher = Searcher(self.store, self._writer.ephemeral, index, self._name)

    def _make_deduplicator(
        self, provider: "EmbeddingProvider | None", judge: "Judge | None", *, wait: bool
    ) -> Deduplicator | None:
        """Return the deduplicator; None: it is off, or nobody says by what to compare."""
        settings = self.settings.deduplication
        if not settings.enable or (provider is None and not settings.provider and not self._compare_words):
            return None
        keeps = provider is not None and settings.cache_embeddings
        table = self.store.vectors() if keeps else None
        return Deduplicator(
            self.store,
            EmbeddingIndex(provider, self.logger, wait=wait, table=table),
            judge,
            self.logger,
            candidate_threshold=settings.candidate_threshold,
            similarity_threshold=settings.similarity_threshold,
        )

    def _make_learner(self, synthesizer: MemorySynthesizer | None) -> Learner:
        # It may be anybody's: one that does not say asks a model. What costs nothing is asked every time.
        asks_a_model = setting(synthesizer, "asks_a_model", True)
        remembers = self.settings.ask_only_once and asks_a_model
        return Learner(
            self._writer,
            self._visits,
            synthesizer,
            self._state,
            self.logger,
            asks_a_model=asks_a_model,
            history_window=self.settings.history_window,
            judgments=Judgments(self.store.judgments, self.logger) if remembers else None,
            triggers=self.settings.triggers,
        )

    @classmethod
    def open(
        cls,
        path: Path | str,
        llm: LLM | ChatClient | None = None,
        embeddings: "EmbeddingProvider | None" = None,
        *,
        logger: logging.Logger | None = None,
        config: object = None,
        game_state: object = None,
        synthesizer: MemorySynthesizer | None = None,
        judge: "Judge | None" = None,
        model: str | None = None,
        wait_for_embeddings: bool = True,
        count_tokens: Callable[[str], int] = estimated_tokens,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        disk: Disk | None = None,
        world: World = NEUTRAL,
    ) -> "SimpleMemoryManager":
        """Open the memory without a game: of this file, of `Memories.md` in this folder, or of a PostgreSQL.

        The last is named by its address, `postgresql://user@host/database`, and needs the extra `postgres`.

        What says the same in other words is recognised: by the words alone, by vectors too where there are
        `embeddings`, and by the model's judgement where there is an `llm` besides. `parts` says which of them are at
        work. The other arguments are those of the class.

        Raises:
            TypeError, ValueError: the path is none.
            MemoryStoreError: the file can't be read, or the server can't be reached.
            ConfigurationError: `llm` is no model client that can be used, or another part is none.
        """
        path = checked_path(path)
        is_folder = not is_postgres(path) and Path(path).is_dir()
        manager = cls(
            logger,
            config,
            game_state,
            llm,
            synthesizer=synthesizer,
            embeddings=embeddings,
            judge=judge,
            wait_for_embeddings=wait_for_embeddings,
            path=Path(path) / "Memories.md" if is_folder else path,
            model=model,
            count_tokens=count_tokens,
            lock_timeout_s=lock_timeout_s,
            disk=disk,
            compare_words=True,
            world=world,
        )
        manager.logger.info("memory %s opened: %s", manager.store.name, manager.parts)
        return manager

    @property
    def parts(self) -> Parts:
        """What is at work to recognise a fact that is kept already, and to learn new ones."""
        deduplicator = self._deduplicator
        provider = None if deduplicator is None or deduplicator.index.is_lost else deduplicator.index.provider
        judge = None if deduplicator is None or provider is None else deduplicator.judge
        return Parts(
            words=deduplicator is not None,
            vectors="" if provider is None else provider.model,
            judge="" if judge is None else type(judge).__name__,
            synthesizer="" if self.synthesizer is None else type(self.synthesizer).__name__,
            vectors_kept=deduplicator.index.kept if deduplicator and provider else "",
        )

    def __enter__(self) -> "SimpleMemoryManager":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the episode's memories. All else was on disk when its call returned; nothing is held open."""
        self.reset_episode()
        self._writer.close()
        self.store.close()

    @property
    def synthesizer(self) -> MemorySynthesizer | None:
        return self._learner.synthesizer

    @property
    def memory_cache(self) -> dict[PlaceKey, list[Memory]]:
        """Core and permanent memories by location, as in the file."""
        return self.store.cache

    @property
    def ephemeral_cache(self) -> dict[PlaceKey, list[Memory]]:
        """This episode's memories by location."""
        return self._writer.ephemeral

    @telemetry.traced("remember")
    def add_memory(self, location_id: PlaceKey, location_name: str, memory: Memory) -> bool:
        """Keep a memory; on disk when this returns, if it is not ephemeral. False: it could not be written.

        One of the same title and text as a current one counts as seen again.

        Raises:
            TypeError, ValueError: a value is none that can be kept; nothing was stored.
        """
        location_id, memory = checked_place(location_id), checked_memory(memory)
        check_name(location_name)
        return bool(self._writer.keep(location_id, location_name, memory))

    @telemetry.traced("remember")
    def remember(
        self,
        place: PlaceKey,
        text: str,
        *,
        title: str | None = None,
        place_name: str = "",
        category: str = Category.NOTE,
        persistence: str = Persistence.PERMANENT,
        status: str = MemoryStatus.ACTIVE,
        score_change: int | None = None,
        action: str = "",
        episode: int | str | None = None,
        turn: int | None = None,
    ) -> str:
        """Keep a fact about a place, and return its id; on disk when this returns, if it is not ephemeral.

        What is kept there already in the same words, or says the same, counts as seen again; the id is of that one.

        Args:
            title: the first words of the text by default.
            place_name: what people call the place.
            category: a word in capitals.
            persistence: "permanent", "core" or "ephemeral".
            episode: the running one by default; so with the turn.

        Raises:
            TypeError, ValueError: a value is none that can be kept; nothing was stored.
            MemoryStoreError: it could not be written.
            MemoryEditError: a person has forbidden it.
        """
        place = checked_place(place)
        check_name(place_name)
        check_turn(turn)
        check_text("text", text)
        if title is not None:
            check_text("title", title)
        memory = checked_memory(
            Memory(
                category=category,
                title=title_of(text) if title is None else title,
                episode=self._state.episode if episode is None else episode,
                turns=str(self._state.turn if turn is None else turn),
                score_change=score_change,
                text=text,
                persistence=cast("Persistence", persistence),
                status=cast("MemoryStatus", status),
                action=action,
            )
        )
        found = self._writer.keep(place, place_name, memory)
        if not found:
            raise self._why_not(f"{memory.title!r} was not kept: a person has hidden it at this place.")
        return found

    def get(self, memory: str, place: PlaceKey | None = None) -> LocatedMemory | None:
        """Return the memory of this id or title; None if there is none.

        Args:
            memory: an id; else a title. Of several with one title, the only one that is believed.
            place: looked up at this place only.

        Raises:
            MemoryEditError: several have this title; the error names their ids.
        """
        check_wanted("id or title", memory)
        self._writer.refresh()
        places = None if place is None else [checked_place(place)]
        with self.store.guard:
            return find_memory(self._located(places), memory)

    @telemetry.traced("update")
    def update(
        self,
        memory: str,
        place: PlaceKey | None = None,
        *,
        text: str | None = None,
        title: str | None = None,
        category: str | None = None,
        persistence: str | None = None,
        status: str | None = None,
        pinned: bool | None = None,
        vetoed: bool | None = None,
        reason: str | None = None,
    ) -> LocatedMemory:
        """Change a memory, found by its id or title; what is not given stays, and so does the id.

        Raises:
            MemoryEditError: there is no such memory, there are several, or the change makes no sense.
            MemoryStoreError: it could not be written.
        """
        from zorkgpt.memory.editing import Edit, edit, edited

        for name, given in (("text", text), ("title", title), ("reason", reason)):
            if given is not None:
                check_text(name, given)
        found = self._found(memory, place)
        wanted = Edit(text, title, category, persistence, status, pinned, vetoed, reason)
        if found.memory.persistence.outlives_episode:
            new = edit(self.store, found.location_id, MemoryId(found.id), wanted, source="agent")
        else:
            wanted.check()
            if persistence is not None:
                raise MemoryEditError(f"{found.memory.title!r} is of this episode; to keep it for good, supersede it.")
            new = replace(edited(found.memory, wanted), id=found.id)
            self._writer.replace_ephemeral(found.location_id, found.memory, new)
        return replace(found, memory=new)

    @telemetry.traced("supersede")
    def supersede(
        self,
        memory: str,
        text: str,
        place: PlaceKey | None = None,
        *,
        title: str | None = None,
        category: str | None = None,
        persistence: str | None = None,
        turn: int | None = None,
    ) -> str:
        """Replace a memory, found by its id or title, by a new text, and return the id of the new one.

        The old one stays in the file, marked as superseded.

        Args:
            title: the old one's by default, unless that was made of its text; so with category and persistence.

        Raises:
            TypeError, ValueError: a value is none that can be kept; nothing was changed.
            MemoryEditError: there is no such memory, there are several, or it may not be replaced.
            MemoryStoreError: it could not be written.
        """
        check_text("text", text)
        if title is not None:
            check_text("title", title)
        check_turn(turn)
        found = self._found(memory, place)
        old = found.memory
        if title is None:
            title = title_of(text) if old.title == title_of(old.text) else old.title
        turn = self._state.turn if turn is None else turn
        new = checked_memory(
            Memory(
                category=category or old.category,
                title=title,
                episode=self._state.episode,
                turns=str(turn),
                score_change=None,
                text=text,
                persistence=cast("Persistence", persistence or old.persistence),
            )
        )
        if not self._writer.supersede(found.location_id, found.location_name, [MemoryId(found.id)], new, turn):
            raise self._why_not(
                f"{old.title!r} was not replaced: it is pinned, edited by a person, no longer believed, or lasting "
                "while the new one is of this episode only."
            )
        with self.store.guard:
            return memory_id(found.location_id, self._newest(found.location_id, new))

    @telemetry.traced("invalidate")
    def invalidate(self, memory: str, reason: str, place: PlaceKey | None = None, *, turn: int | None = None) -> None:
        """Mark a memory, found by its id or title, as wrong.

        Raises:
            ValueError: there is no reason.
            MemoryEditError: there is no such memory, there are several, or a person has pinned or edited it.
            MemoryStoreError: it could not be written.
        """
        check_text("reason", reason)
        check_turn(turn)
        found = self._found(memory, place)
        turn = self._state.turn if turn is None else turn
        if not self._writer.invalidate(found.location_id, MemoryId(found.id), reason, turn):
            raise self._why_not(
                f"{found.memory.title!r} was not marked as wrong: it is pinned, edited by a person, or not believed."
            )

    @telemetry.traced("delete")
    def delete(self, memory: str, place: PlaceKey | None = None, *, reason: str | None = None) -> None:
        """Take a memory, found by its id or title, out of the file. The history tells what it was: see `forget`.

        Raises:
            MemoryEditError: there is no such memory, there are several, or a person has pinned or edited it.
            MemoryStoreError: it could not be written.
        """
        check_reason(reason)
        found = self._found(memory, place)
        if not self._writer.remove(found.location_id, MemoryId(found.id), reason):
            raise self._why_not(
                f"{found.memory.title!r} was not deleted: it is pinned, edited by a person, or gone already."
            )

    def forget(self, memory: str | None = None, place: PlaceKey | None = None, *, text: str | None = None) -> int:
        """Take a memory out of everything: the file, its backup, the history, all that is beside it, and `runs/`.

        Where it has left a trace in something else, `[forgotten]` stands. Nothing brings it back.

        Args:
            memory: its id or title.
            text: instead of a memory: whatever holds this text is forgotten, such as a password.

        Returns:
            How many memories were taken out of the file and of the running episode.

        Raises:
            ValueError: both are given, or neither.
            MemoryEditError: there is no such memory, or there are several.
            MemoryStoreError, FileError, OSError: something could not be written; calling again goes on from there.
        """
        from zorkgpt.memory.upkeep.forgetting import forget, traces_of_memory, traces_of_text

        if (memory is None) == (text is None):
            raise ValueError("Say what to forget: a memory by its id or title, or a text, and not both.")
        with self.store.guard:
            if memory is not None:
                found = self._found(memory, place)
                traces = traces_of_memory(self.store, found.location_id, found.memory)
            else:
                check_wanted("text", text)
                self._writer.refresh()
                traces = traces_of_text(str(text), (self.store.cache, self._writer.ephemeral))
            self._writer.forget(traces.removed, traces.are_in)
            self._learner.forget()
            forget(self.store, traces, self._runs)
            self._as_of = None
        return len(traces.removed)

    def _found(self, memory: str, place: PlaceKey | None) -> LocatedMemory:
        found = self.get(memory, place)
        if found is None:
            where = "" if place is None else f" at {render_place(place)}"
            raise MemoryEditError(f"There is no memory with the id or title {quoted(memory)}{where}.")
        return found

    def _newest(self, place: PlaceKey, memory: Memory) -> Memory:
        kept = (*self.store.cache.get(place, ()), *self._writer.ephemeral.get(place, ()))
        return next((one for one in reversed(kept) if is_current(one) and same_words(one, memory)), memory)

    def _why_not(self, otherwise: str) -> MemoryEditError | MemoryStoreError:
        return self._writer.last_error or MemoryEditError(otherwise)

    @telemetry.traced("supersede")
    def supersede_memory(
        self, location_id: PlaceKey, location_name: str, old_memory_title: str, new_memory: Memory
    ) -> bool:
        """Replace a memory by a newer one. False: not found, not written, or refused, and nothing was changed.

        What is known for good can't be replaced by what is true for the episode only.
        """
        location_id, new_memory = checked_place(location_id), checked_memory(new_memory)
        check_name(location_name)
        turn = self._state.turn or TurnSpan.parse(new_memory.turns).last_number
        return self._writer.supersede(location_id, location_name, [old_memory_title], new_memory, turn)

    @telemetry.traced("invalidate")
    def invalidate_memory(self, location_id: PlaceKey, memory_title: str, reason: str, turn: int | None = None) -> bool:
        """Mark a memory as wrong. False: not found, not written, or there is no reason."""
        location_id = checked_place(location_id)
        return self._writer.invalidate(location_id, memory_title, reason, self._state.turn if turn is None else turn)

    def invalidate_memories(
        self, location_id: PlaceKey, memory_titles: list[str] | set[str], reason: str, turn: int | None = None
    ) -> dict[str, bool]:
        return {title: self.invalidate_memory(location_id, title, reason, turn) for title in memory_titles}

    def update_memory_metadata(
        self, memory: Memory, location_id: PlaceKey, location_name: str, new_turn: int | str, new_episode: int | str
    ) -> bool:
        """Count one more observation of a memory. The same turn of the same episode counts once."""
        location_id = checked_place(location_id)
        return self._writer.seen_again(location_id, memory, new_turn, new_episode)

    @telemetry.traced("recall", shown=lambda text: [text] if text else [])
    def recall(self, place: PlaceKey, *, format: Callable[[Recalled], str] = fenced) -> str:
        """Return what a model is told of a place, between backticks and labelled as data; "" if nothing is known.

        Args:
            format: makes the text of what is recalled; `plain` gives the lines alone.

        Raises:
            TypeError, ValueError: the place is no key of a place.
        """
        return format(self._recalled(checked_place(place)))

    @telemetry.traced("recall", shown=lambda text: [text] if text else [])
    def get_location_memory(self, location_id: PlaceKey, *, format: Callable[[Recalled], str] = plain) -> str:
        """Return what the agent is told of this location, a line for each memory; "" if nothing is known.

        The prompts of the game fence and label these lines themselves; for another prompt there is `recall`.

        Raises:
            TypeError, ValueError: the location is no key of a place.
        """
        return format(self._recalled(checked_place(location_id)))

    def _recalled(self, location_id: PlaceKey) -> Recalled:
        self._writer.refresh()
        with self.store.guard:
            sections = self.store.document.sections_of(location_id)
            name = self._name(location_id)
            found = shown(
                self.store.cache.get(location_id, ()),
                self._writer.ephemeral.get(location_id, ()),
                episodes=sections[0].episodes if sections else (),
                budget=self.settings.budget,
                count_tokens=self._count_tokens,
                now=lambda memory: self._learner.instead_of(location_id, memory),
            )
            self._learner.show(location_id, found.memories)
        return Recalled(location_id, name, found.text, found.memories)

    def instead_of(self, location_id: PlaceKey, memory: Memory) -> str:
        """Return what is so at this moment instead of what a memory of a location claims, as far as was seen: `gone`.

        "" where it still is so, or that is not known.
        """
        return self._learner.instead_of(location_id, memory)

    def get_visits(self, location_id: PlaceKey) -> tuple[int, int]:
        """Return how often the player has been here, and in how many episodes, the present visit included.

        That is the one that goes on here, or, when the player was last somewhere else, the one that begins now.
        """
        location_id = checked_place(location_id)
        self._writer.refresh()
        with self.store.guard:
            written = next(iter(self.store.document.sections_of(location_id)), None)
            uncounted = self._visits.with_present(location_id, self._state.episode)
            times, episodes = (written.visits, written.episodes) if written else (0, ())
            played = {episode_key(each) for each in (*episodes, *uncounted, self._state.episode)}
            return times + len(uncounted), len(played)

    def get_ephemeral_count(self, location_id: PlaceKey | None = None) -> int:
        """Return how many memories of the episode there are, with the superseded."""
        return _count(self._writer.ephemeral, location_id)

    def get_persistent_count(self, location_id: PlaceKey | None = None) -> int:
        """Return how many lasting memories there are, with the superseded."""
        self._writer.refresh()
        with self.store.guard:
            return _count(self.store.cache, location_id)

    def get_memory_breakdown(self, location_id: PlaceKey) -> dict[str, int]:
        """Return how many memories of each persistence are current."""
        self._writer.refresh()
        location_id = checked_place(location_id)
        found = Counter(memory.persistence for memory in self._writer.current(location_id))
        return {kind.value: found[kind] for kind in Persistence}

    def all_memories(self) -> list[LocatedMemory]:
        """Return every memory with its place, the superseded too, by location."""
        self._writer.refresh()
        with self.store.guard:
            return self._located()

    def _located(self, places: Iterable[PlaceKey] | None = None) -> list[LocatedMemory]:
        if places is None:
            places = sorted({*self.store.cache, *self._writer.ephemeral}, key=place_order)
        return [
            LocatedMemory(location_id, self._name(location_id), memory)
            for location_id in places
            for cache in (self.store.cache, self._writer.ephemeral)
            for memory in cache.get(location_id, ())
        ]

    def edit_memory(self, location_id: PlaceKey, title: str, wanted: "Edit", *, expected: str | None = None) -> Memory:
        """Change a memory in the file as a person wants it: see `zorkgpt.memory.editing.edit`."""
        from zorkgpt.memory.editing import edit

        return edit(self.store, checked_place(location_id), title, wanted, expected=expected)

    @telemetry.traced("search", shown=lambda found: [each.located.memory.text for each in found])
    def search(
        self,
        query: str,
        k: int = 5,
        *,
        location_id: PlaceKey | None = None,
        persistence: str | None = None,
        status: str | None = None,
        category: str | None = None,
        episode: int | str | None = None,
    ) -> list[SearchResult]:
        """Return the memories, wherever they are, that answer the query best, best first.

        By words, and by meaning too where there are vectors; each result says by which it was found.

        Args:
            location_id: of this location only.
            persistence: of this class only.
            status: with this status only; without it, those that are believed.
            category: of this category only.
            episode: seen first or last in this episode only.

        Raises:
            TypeError, ValueError: a value is none by which can be searched.
        """
        check_query(query, k)
        self._writer.refresh()
        place = None if location_id is None else checked_place(location_id)
        filters = Filters(place, persistence, status, category, episode)
        with self.store.guard:
            return self._searcher.search(query, k, filters)

    def is_first_visit(self, location_id: PlaceKey) -> bool:
        """Return whether no turn at this location has been recorded in this episode, but for the present turn."""
        return self._learner.is_first_visit(checked_place(location_id))

    def record_action_outcome(
        self,
        location_id: PlaceKey,
        location_name: str,
        action: str,
        response: str,
        z_machine_context: ZMachineContext | Mapping[str, object] | None = None,
    ) -> None:
        """Learn from an action taken at this location. Whatever fails is logged and counted; the game goes on."""
        self._learner.learn(location_id, location_name, action, response, z_machine_context, arrival=False)

    def record_outcome(
        self,
        place: PlaceKey,
        action: str,
        result: str,
        facts: Mapping[str, object] | None = None,
        *,
        place_name: str = "",
    ) -> None:
        """Learn from what came of an action at a place; what fails meanwhile is logged and counted.

        Nothing is learned without an `llm` or a synthesizer. It is asked only where a fact gives a reason to.

        Args:
            facts: whatever is known of the outcome, by name: `reward`, `done`, `changed`, `first_visit`, `place_after`
                and `turn` are reasons or are counted, and all of them are told to whoever is asked.

        Raises:
            TypeError, ValueError: the place is no key, a text is none, or a fact is none that can be told.
        """
        place, facts = checked_place(place), checked_facts(facts)
        check_text("action", action)
        check_name(place_name)
        if not isinstance(result, str):
            raise TypeError(f"The result is {result!r}, of the type {type(result).__name__}; it must be a text.")
        if facts.get("place_after") is not None:
            facts["place_after"] = checked_place(facts["place_after"])
        told = context_of(facts)
        if "place_after" in facts:
            told.setdefault("location_changed", facts["place_after"] not in (None, place))
        self._learner.learn(place, place_name, action, result, told, arrival=False, facts=facts)

    def record_arrival(
        self,
        location_id: PlaceKey,
        location_name: str,
        description: str,
        z_machine_context: ZMachineContext | Mapping[str, object] | None = None,
    ) -> None:
        """Learn from the first look at a location in this episode, the opening text included. Never raises."""
        self._learner.learn(location_id, location_name, "", description, z_machine_context, arrival=True)

    # Deduplication

    @property
    def enable_deduplication(self) -> bool:
        """Whether more is recognised than word-for-word repeats."""
        return self._deduplicator is not None

    @property
    def similarity_threshold(self) -> float:
        return self.settings.deduplication.similarity_threshold

    @property
    def embedding_provider(self) -> "EmbeddingProvider | None":
        """The provider of vectors; None if there is none."""
        return None if self._deduplicator is None else self._deduplicator.index.provider

    @property
    def embedding_cache(self) -> "VectorCache | Mapping[str, Vector]":
        """Vectors by text: `len()` and `in` tell what is in it. Empty where there is no provider."""
        if self._deduplicator is None or self._deduplicator.index.provider is None:
            return {}
        return self._deduplicator.index.cache

    def calculate_embedding(self, text: str) -> "Vector | None":
        """Return the vector of a text, float32 of unit length; None if there is none to be had."""
        return None if self._deduplicator is None else self._deduplicator.index.vector(text)

    def get_location_embeddings(self, location_id: PlaceKey) -> "list[tuple[Memory, Vector]]":
        """Return the believed lasting memories of a location with their vectors; none where there are no vectors."""
        if self._deduplicator is None:
            return []
        self._writer.refresh()
        memories = self._deduplicator.lasting(checked_place(location_id))
        vectors = self._deduplicator.index.vectors([memory.text for memory in memories]) if memories else None
        return [] if vectors is None else list(zip(memories, vectors, strict=True))

    def check_semantic_duplicate(self, candidate_text: str, location_id: PlaceKey) -> tuple[Memory, float] | None:
        """Return the nearest memory of the location whose text the candidate says, and their cosine similarity.

        Where there are no vectors only the very same words count.
        """
        location_id = checked_place(location_id)
        self._writer.refresh()
        if not candidate_text.strip():
            return None
        wanted = folded(candidate_text)
        kept = [memory for memory in self._writer.current(location_id) if memory.persistence.outlives_episode]
        repeats = [memory for memory in kept if folded(memory.text) == wanted]
        found = self._deduplicator and self._deduplicator.nearest_duplicate(location_id, candidate_text)
        return found or ((repeats[0], 1.0) if repeats else None)

    def rebuild_embedding_cache(self) -> bool:
        """Embed all lasting memories anew; False if that was not possible."""
        return self._deduplicator is not None and self._deduplicator.index.rebuild(self._deduplicator.texts())

    @staticmethod
    def cosine_similarity(a: "Vector", b: "Vector") -> float:
        """Return a value in [-1, 1]; 0 where one of them is no vector but zeros, or not finite."""
        from zorkgpt.embeddings.arrays import np

        one, other = (np.asarray(vector, dtype=np.float64) for vector in (a, b))
        lengths = np.linalg.norm(one) * np.linalg.norm(other)
        if one.shape != other.shape or not np.isfinite(lengths) or lengths == 0:
            return 0.0
        return float(np.clip(one @ other / lengths, -1, 1))

    def consolidate(self, *, apply: bool = True, threshold: float | None = None) -> "list[Merge]":
        """Find what says the same in the whole file, place by place, and merge it; what is unsure is left alone.

        Args:
            apply: False: only say what would be merged.
            threshold: cosine below which nothing is merged; the candidates' threshold by default.
        """
        if self._deduplicator is None:
            return []
        from zorkgpt.memory.dedup.consolidation import find_repeats

        self._writer.refresh()
        found = find_repeats(self.store, self._deduplicator, threshold)
        if apply:
            self.merge(found)
        return found

    def merge(self, found: "list[Merge]") -> int:
        """Merge what `consolidate(apply=False)` has found, and return how many were."""
        from zorkgpt.memory.dedup.consolidation import merge

        made = merge(found, self._writer.apply)
        if found and self._deduplicator is not None:
            self._deduplicator.save_vectors()
        return made

    def export_file(self, path: Path | str) -> None:
        """Write all lasting memories to one Markdown file, in the place of what stands there.

        Raises:
            MemoryStoreError: it can't be written, or the memories can't be read.
        """
        from zorkgpt.memory.upkeep.exchange import write_memories

        write_memories(self.store, Path(path))

    def import_file(self, path: Path | str) -> int:
        """Add the memories of a Markdown file, or of what `memories export --json` wrote; return how many were new.

        An empty memory takes over a Markdown file byte for byte, with what people wrote in it.

        Raises:
            MemoryStoreError: the file can't be read or is neither; or the memories can't be written.
        """
        from zorkgpt.memory.upkeep.exchange import import_memories

        return import_memories(self.store, Path(path))[0]

    # The past

    def as_of(self, episode: int | str, turn: int) -> dict[PlaceKey, list[Memory]]:
        """Return the memories of each location as they stood at the end of this turn, the superseded ones too.

        Ephemeral ones are read from the episode's log, in `runs/` beside the memory file. Of an episode that nobody
        played there is nothing to tell: see `knows_episode`.
        """
        with self.store.guard:
            return self._past().all_memories(episode, turn)

    def knows_episode(self, episode: int | str) -> bool:
        """Return whether the history or `runs/` hold anything of it."""
        with self.store.guard:
            return self._past().knows(episode)

    def _past(self) -> AsOf:
        if self._as_of is None:
            self._as_of = AsOf(self.store.journal, self._runs)
        self._as_of.refresh()
        return self._as_of

    def explain(self, title: str, location_id: PlaceKey | None = None) -> "list[Provenance]":
        """Return what taught the memories of this title, when they were shown, and what came of it, by location."""
        from zorkgpt.memory.provenance import explain

        self._writer.refresh()
        with self.store.guard:
            place = None if location_id is None else checked_place(location_id)
            return explain(self.store, title, location_id=place, runs=self._runs)

    # The episode

    def audit(self, world: Sequence[PlacedObject], *, apply: bool = True) -> list[AuditFinding]:
        """Hold the core memories against a world that has just begun, and mark as wrong what it contradicts.

        Args:
            world: everything that is in a room, as the game begins.
            apply: off, nothing is changed.
        """
        findings = audit(self.all_memories(), world)
        for finding in findings:
            located = finding.located
            if not apply or finding.verdict != AuditVerdict.CONTRADICTED:
                continue
            if not located.memory.is_settled_by_person:
                self._writer.invalidate(located.location_id, located.memory.title, finding.evidence, 0)
        self._learner.counts.audit = tally(findings)
        return findings

    def drain_events(self) -> list[MemoryEvent]:
        """Return what happened to memories since the last call, for showing the turn."""
        with self.store.guard:
            events = list(self._writer.events)
            self._writer.events.clear()
        return events

    @telemetry.traced("reset")
    def reset_episode(self) -> None:
        """Begin a new episode: what was true until the restart is forgotten."""
        with self.store.guard:
            self._writer.count_all()
            cleared, stay = (_count(cache, None) for cache in (self._writer.ephemeral, self.store.cache))
            self._writer.forget_episode()
            self._learner.reset()
        self.logger.info("episode reset: %d ephemeral memories cleared, %d persistent memories stay", cleared, stay)

    def reset(self) -> None:
        self.reset_episode()

    def drop_episode(self) -> None:
        """Forget what `restore` has taken over, and the counts that wait to be written: nothing is written."""
        with self.store.guard:
            self._visits.drop()
            self._writer.evidence.drop()
            self._writer.forget_episode()
            self._learner.reset()

    def get_status(self) -> dict[str, object]:
        """Return how many memories there are, and how this episode's learning went."""
        self._writer.refresh()
        with self.store.guard:
            ephemeral = [memory for kept in self._writer.ephemeral.values() for memory in kept]
            lasting = [memory for kept in self.store.cache.values() for memory in kept]
            tentative = sum(memory.status == MemoryStatus.TENTATIVE for memory in (*lasting, *ephemeral))
            metrics = {
                "locations": len({*self.store.cache, *self._writer.ephemeral}),
                "persistent_memories": len(lasting),
                "ephemeral_memories": len(ephemeral),
                "open_tentative": tentative,
                "write_failures": self._writer.write_failures,
                "evidence_failures": self._writer.evidence.failures,
                "vetoes_obeyed": self._writer.vetoes_obeyed,
                "person_edits_kept": self._writer.protected,
                **asdict(self._learner.counts),
                **self._writer.metrics(),
            }
        state = "learning" if self.synthesizer is not None else "remembering"
        return {"type": "simple_memory", "state": state, "metrics": metrics}

    def save_session(self, path: Path | str) -> bool:
        """Write this episode's memories to a file of their own, for resuming it."""
        with self.store.guard:
            self._writer.count_all()
            return episode_snapshot.save(Path(path), self._episode_snapshot())

    def restore_session(self, path: Path | str) -> bool:
        """Restore what `save_session` wrote. False: there is none, or it is another episode's; nothing was changed."""
        found = episode_snapshot.load(Path(path), self._state.episode)
        if found is None:
            return False
        self._resume(found)
        return True

    def snapshot(self) -> dict[str, object]:
        """Return what `save_session` writes, as plain values for JSON."""
        with self.store.guard:
            return episode_snapshot.to_dict(self._episode_snapshot())

    def restore(self, saved: dict[str, object]) -> None:
        """Go on with the episode of which `snapshot` gave these values.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it gave other values; nothing is as it was.
        """
        self._resume(episode_snapshot.from_dict(saved))

    def rollback(self) -> Restorer:
        """Return what can take the files back to a checkpoint from here on.

        Of a memory on PostgreSQL nothing is taken back: others may have built upon it since.
        """
        return self.store.restorer()

    def _episode_snapshot(self) -> EpisodeSnapshot:
        under_way = {"recorder": self._learner.snapshot(), "keeper": self._writer.snapshot()}
        return EpisodeSnapshot(self._state.episode, dict(self._writer.ephemeral), self._visits.first_turns(), under_way)

    def _resume(self, found: EpisodeSnapshot) -> None:
        with self.store.guard:
            self._writer.restore(found.episode, found.memories, found.under_way["keeper"])
            self._learner.restore(found.first_turns, found.under_way["recorder"])

    def _name(self, location_id: PlaceKey) -> str:
        return self._writer.name_of(location_id)


def _count(cache: dict[PlaceKey, list[Memory]], location_id: PlaceKey | None) -> int:
    if location_id is not None:
        return len(cache.get(checked_place(location_id), ()))
    return sum(map(len, cache.values()))


def _store(path: Path | str, lock_timeout_s: float, disk: Disk | None) -> Store:
    if is_sqlite(path):
        from zorkgpt.memory.storage.sql_store import SqliteStore

        return SqliteStore(path, lock_timeout_s=lock_timeout_s)
    if not is_postgres(path):
        return MarkdownStore(path, lock_timeout_s=lock_timeout_s, disk=disk)
    # Only here, so that a memory in a file loads nothing that a server needs.
    from zorkgpt.memory.storage.sql_store import PostgresStore

    return PostgresStore(str(path), lock_timeout_s=lock_timeout_s)


def _asked(
    client: LLM | ChatClient,
    model: str,
    judge: "Judge | None",
    synthesizer: MemorySynthesizer | None,
    history_window: int,
    world: World,
) -> "tuple[Judge, MemorySynthesizer]":
    """Return who is asked: the model, in the place of those that were not handed in."""
    # Only here, so that a memory without a model loads nothing that asks one, nor pydantic.
    from zorkgpt.llm.client import as_llm
    from zorkgpt.memory.dedup.judge import ModelJudge
    from zorkgpt.memory.model_synthesizer import ModelSynthesizer

    llm = as_llm(client, model=model)
    asked = synthesizer or ModelSynthesizer(llm, history_window=history_window, world=world)
    return judge or ModelJudge(llm, world), asked


def _provider(settings: DeduplicationSettings, client: LLM | ChatClient | None) -> "EmbeddingProvider | None":
    """Return the provider that the settings name; None: vectors are not wanted."""
    if not settings.enable or settings.provider in ("", "none"):
        return None
    from zorkgpt.embeddings.choose import choose_provider

    provider = choose_provider(
        # A name that it does not know gives a provider that finds nothing to work with.
        cast("ProviderChoice", settings.provider),
        sentence_transformer_model=settings.sentence_transformer_model,
        llm_embedding_model=settings.llm_embedding_model,
        llm_client=client if isinstance(client, EmbeddingClient) else None,
        batch_size=settings.batch_size,
    )
    return provider if provider and provider.available else None
