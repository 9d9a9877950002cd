"""A memory keyed by place for any agent. It knows no particular game."""

import inspect
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from weakref import WeakSet

from zorkgpt import telemetry
from zorkgpt.errors import MemoryEditError, MemoryRefused, MemoryStoreError
from zorkgpt.extras import missing_extra
from zorkgpt.llm.model import LLM
from zorkgpt.log import get_logger
from zorkgpt.memory.checks import (
    check_episode,
    check_fields,
    check_header,
    check_name,
    check_parts,
    check_query,
    check_text,
    check_threshold,
    check_turn,
    check_wanted,
    check_world,
    checked_count,
    checked_facts,
    checked_memory,
    checked_metadata,
    checked_path,
    checked_time,
    title_of,
)
from zorkgpt.memory.episode import EpisodeState
from zorkgpt.memory.guards import NewMemory
from zorkgpt.memory.ids import MemoryId
from zorkgpt.memory.learning import Learner
from zorkgpt.memory.models import Category, Memory, MemoryKind, MemoryStatus, Persistence, SubjectKey
from zorkgpt.memory.parts import (
    ChatClient,
    EmbeddingClient,
    Parts,
    configured_embeddings,
    deduplicator,
    open_store,
    with_model,
)
from zorkgpt.memory.places import LIMIT, checked_place, checked_prefix, has_prefix, is_place, place_in_words
from zorkgpt.memory.recording import TurnRecorder
from zorkgpt.memory.retrieval import Budget, LocatedMemory, Recalled, SearchResult, fenced, find_memory, shown
from zorkgpt.memory.scope import EVERYWHERE, checked_scope
from zorkgpt.memory.search import Searcher
from zorkgpt.memory.settings import settings_of
from zorkgpt.memory.storage.addresses import is_address
from zorkgpt.memory.storage.history import HistoryRecord, MemoryChange
from zorkgpt.memory.storage.lasting import Filters, by_place
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.synthesis import MemorySynthesizer
from zorkgpt.memory.world import NEUTRAL, World, context_of
from zorkgpt.memory.writer import MemoryWriter
from zorkgpt.run_folder import RUNS
from zorkgpt.text import quoted

if TYPE_CHECKING:
    from zorkgpt.embeddings.provider import EmbeddingProvider
    from zorkgpt.memory.dedup.judge import Judge

_UNTIL_CLOSED = ("store", "_writer", "_known", "_recorder", "_learner", "_deduplicator")
"""The attributes that a memory has until it is closed."""


class AgentMemory:
    """A memory keyed by place. Usually made by `open`.

    Lasting memories are on disk when a call returns. Ephemeral ones live in this process until the next episode.
    Several threads can share an object, and several processes a file. An object that was opened before a fork can be
    used in the parent and in the child. After `close`, every method raises a `MemoryStoreError`.

    Args:
        config: Any object with attributes named like the keys of `[tool.zorkgpt.memory]`, `simple_memory` and
            `memory_deduplication`, or a `MemorySettings`. Missing attributes take their defaults.
        game_state: Any object with `episode_id` and `turn_count`, and optionally `action_history` and
            `action_reasoning_history`. Defaults to episode 1 without turns.
        llm_client: An `LLM`, or a client of the OpenAI SDK's shape. Without it, and without a `synthesizer`, nothing is
            learned from outcomes.
        path: A file, a database address or an open store. Defaults to the configured `memory_file`.
        synthesizer: Decides what an outcome teaches, instead of `llm_client`.
        embeddings: Overrides the configured provider. If neither is given, only identical texts are duplicates.
        judge: Decides whether two memories say the same, instead of `llm_client`.
        world: Names of places, actions, outcomes and resets in questions to the model. Defaults to `NEUTRAL`, and in a
            `SimpleMemoryManager` to `TEXT_ADVENTURE`.

    Raises:
        MemoryStoreError: If the memories can't be read.
        ConfigurationError: If a part can't be used, or `embeddings` are given and NumPy is not installed.
    """

    _default_world: ClassVar[World] = NEUTRAL
    _allows_scope: ClassVar[bool] = True
    """Whether the memory can be opened with a scope."""

    def __init__(
        self,
        logger: logging.Logger | None = None,
        config: object = None,
        game_state: object = None,
        llm_client: LLM | ChatClient | None = None,
        *,
        path: Path | str | Store | None = None,
        synthesizer: MemorySynthesizer | None = None,
        embeddings: "EmbeddingProvider | None" = None,
        judge: "Judge | None" = None,
        world: World | None = None,
    ) -> None:
        world = self._default_world if world is None else world
        check_world(world)
        if embeddings is not None and find_spec("numpy") is None:
            raise missing_extra("embeddings", "numpy")
        check_parts(embeddings=embeddings, judge=judge, synthesizer=synthesizer)
        self._settings = settings = settings_of(config)
        synthesizer, judge = with_model(llm_client, settings, world, synthesizer, judge)
        self._log = logger or get_logger(__name__)
        self._config, self._game_state, self._llm_client = config, game_state, llm_client
        address = path or settings.path
        self.store: Store = open_store(address) if isinstance(address, (str, Path)) else address
        self._name = self.store.name
        self._scope = self.store.scope
        if self._scope.path and not self._allows_scope:
            raise TypeError(f"A {type(self).__name__} has no scope. Use `AgentMemory.open`.")
        self._runs = self.store.path.parent / RUNS if path else settings.runs
        if embeddings is None:
            server = llm_client if isinstance(llm_client, EmbeddingClient) else None
            configured = configured_embeddings(settings, server)
            embeddings = configured if configured and configured.available else None
        self._deduplicator = deduplicator(self.store, settings, embeddings, judge, self._log)
        self._state = EpisodeState(game_state)
        self._writer = MemoryWriter(
            self.store, self._state, self._log, deduplicator=self._deduplicator, debug=settings.debug_ephemeral
        )
        self._known = self._writer.known
        self._recorder = TurnRecorder(self._writer, self._state, history_window=settings.history_window)
        self._learner = Learner(self._writer, self._recorder, synthesizer, self._state, self._log)
        index = None if self._deduplicator is None else self._deduplicator.index
        self._searcher = Searcher(self._known, index)
        _OPEN.add(self)

    @classmethod
    def open(
        cls,
        path: Path | str,
        llm: LLM | ChatClient | None = None,
        embeddings: "EmbeddingProvider | None" = None,
        *,
        config: object = None,
        game_state: object = None,
        synthesizer: MemorySynthesizer | None = None,
        judge: "Judge | None" = None,
        world: World | None = None,
        scope: tuple[int | str, ...] | None = None,
    ) -> Self:
        """Open the memory in a file, in `Memories.md` in a folder, or at a PostgreSQL address.

        Unlike the class, it compares the words of memories if `config` doesn't say how to find duplicates.

        ":memory:" opens an empty memory in this process. It is lost when it is closed, nothing is written to disk, and
        only the threads that use this very object share it: another `open`, another process and a child after a fork
        can't.

        Duplicates in other words are found by comparing words. With `embeddings` they are also found by meaning, and
        with an `llm` it judges unsure pairs. An address, `postgresql://user@host/database`, needs the extra `postgres`.

        Args:
            config: As for the class. `memory_model` names the model of an `llm` of the OpenAI SDK's shape.
            world: As for the class.
            scope: A path such as `("acme", "user-7")`. All places are then relative to it, and nothing outside it can
                be read or changed: 5 is stored as `("acme", "user-7", 5)`, and `GAME` as the scope itself. Defaults to
                the whole memory.

        Raises:
            TypeError, ValueError: If `path` is not a path, or the scope is invalid.
            MemoryStoreError: If the file can't be read or belongs to another program, the server can't be reached, or
                the address is of an unknown kind.
            ConfigurationError: If `llm` is not a supported client, or another part can't be used.
        """
        path = checked_path(path)
        within = EVERYWHERE if scope is None else checked_scope(scope)
        address = Path(path) / "Memories.md" if not is_address(path) and Path(path).is_dir() else path
        memory = cls(
            None,
            settings_of(config, provider="none"),
            game_state,
            llm,
            path=open_store(address, within),
            synthesizer=synthesizer,
            embeddings=embeddings,
            judge=judge,
            world=world,
        )
        memory._log.info("memory %s opened: %s", memory.store.name, memory.parts)
        return memory

    def __enter__(self) -> Self:
        self._writer.refresh()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the episode and close the store. Closing again does nothing."""
        if "store" not in vars(self):
            return
        self.new_episode()
        if self._deduplicator is not None:
            self._deduplicator.close()
        self.store.close()
        _OPEN.discard(self)
        for name in _UNTIL_CLOSED:
            delattr(self, name)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name in _UNTIL_CLOSED:
                raise MemoryStoreError(f"The memory at {self._name} is closed. Open it again.")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def parts(self) -> Parts:
        """The parts that find duplicates and learn from outcomes."""
        deduplicator, synthesizer = self._deduplicator, self._learner.synthesizer
        provider = None if deduplicator is None or deduplicator.index.is_lost else deduplicator.index.provider
        judge = None if deduplicator is None or provider is None else deduplicator.judge
        return Parts(
            words=deduplicator is not None,
            vectors="" if provider is None else provider.model,
            judge="" if judge is None else type(judge).__name__,
            synthesizer="" if synthesizer is None else type(synthesizer).__name__,
            vectors_kept=deduplicator.index.kept if deduplicator and provider else "",
        )

    @telemetry.traced("remember")
    def remember(
        self,
        place: SubjectKey,
        text: str,
        *,
        title: str | None = None,
        place_name: str = "",
        category: str = Category.NOTE,
        persistence: str = Persistence.PERMANENT,
        status: str = MemoryStatus.ACTIVE,
        kind: str | None = None,
        score_change: int | None = None,
        action: str = "",
        episode: int | str | None = None,
        turn: int | None = None,
        metadata: Mapping[str, object] | None = None,
        expires_at: datetime | timedelta | str | None = None,
        valid_from: datetime | str | None = None,
    ) -> str:
        """Store a fact about a place and return its id.

        A fact that is already known is counted as seen again. The id is then that of the known memory, which takes the
        given metadata and time.

        Args:
            title: Defaults to the first words of the text.
            place_name: For display.
            category: One word in capitals.
            persistence: "permanent", "core" or "ephemeral".
            kind: "rule", "procedure", "danger", "insight", "text" or "location". None if unknown.
            episode: Defaults to the current episode.
            turn: Defaults to the current turn.
            metadata: Your own values, such as `{"user": 7}`. At most 10,000 characters as JSON.
            expires_at: When it is deleted: a time with a time zone, or a duration from now. Defaults to never.
            valid_from: Since when the fact is true: a time with a time zone. None if unknown.

        Raises:
            TypeError, ValueError: If a value is invalid. Nothing was stored.
            MemoryStoreError: If the memory can't be written.
            MemoryEditError: If a person has hidden this memory.
        """
        given = {
            "place": place,
            "text": text,
            "title": title,
            "place_name": place_name,
            "category": category,
            "persistence": persistence,
            "status": status,
            "kind": kind,
            "score_change": score_change,
            "action": action,
            "episode": episode,
            "turn": turn,
            "metadata": metadata,
            "expires_at": expires_at,
            "valid_from": valid_from,
        }
        return self._kept([self._new(given)])[0]

    @telemetry.traced("remember")
    def remember_many(self, items: Iterable[Mapping[str, object]]) -> list[str]:
        """Store several facts in one write and return their ids in order.

        Each fact is checked and compared with what is known, including the facts before it, as by `remember`.

        Args:
            items: The arguments of `remember` by name, such as `{"place": 5, "text": "A lever."}`.

        Raises:
            TypeError, ValueError: If a value is invalid. The message gives the number of the item, counted from 1.
                Nothing was stored.
            MemoryStoreError: If the memories can't be written. Nothing was stored.
            MemoryEditError: If a person has hidden one of the memories. Nothing was stored.
        """
        new = []
        for number, item in enumerate(items, 1):
            try:
                if not isinstance(item, Mapping):
                    raise TypeError(f"{quoted(item)} is not a mapping, such as {{'place': 5, 'text': 'A lever.'}}.")
                given: dict[str, Any] = {str(name): value for name, value in item.items()}
                if missing := [name for name in ("place", "text") if name not in given]:
                    raise TypeError(f"There is no {' and no '.join(missing)}.")
                if unknown := sorted(given.keys() - _DEFAULTS.keys()):
                    raise TypeError(f"Unknown: {', '.join(unknown)}. Choose from: {', '.join(sorted(_DEFAULTS))}.")
                new.append(self._new({**_DEFAULTS, **given}))
            except (TypeError, ValueError) as error:
                raise type(error)(f"Item {number}: {error}") from error
        return self._kept(new) if new else []

    @telemetry.traced("recall", shown=lambda text: [text] if text else [])
    def recall(
        self,
        place: SubjectKey,
        query: str | None = None,
        limit: int | None = None,
        budget_tokens: int | None = None,
        *,
        ancestors: bool = False,
        format: Callable[[Recalled], str] = fenced,
    ) -> str:
        """Return the memories of a place, of the things there and of the game, for a prompt; "" if there are none.

        Args:
            query: Limits the result to the memories that match it. See `search`.
            limit: Maximum number of memories: the best matches, or without a query, the most important ones.
            budget_tokens: Maximum length. Defaults to the setting `max_tokens_per_location`.
            ancestors: Whether to include the memories of the shorter paths, such as ("acme",) for ("acme", "cart").
            format: Makes the text. Defaults to lines in a code fence, labeled as data. `plain` gives the lines alone.

        Raises:
            TypeError, ValueError: If an argument is invalid.
        """
        stored, budget = self._stored(place), self._settings.budget
        if query is not None:
            check_query(query, LIMIT)
        if limit is not None:
            budget = replace(budget, memories=checked_count("limit", limit))
        if budget_tokens is not None:
            budget = replace(budget, tokens=checked_count("budget_tokens", budget_tokens))
        text, located = self._selected(stored, budget=budget, query=query, ancestors=ancestors)
        self._note_shown(stored, located)
        memories = tuple(each.memory for each in self._results(located))
        return format(Recalled(self._scope.relative(stored), self._known.name_of(stored), text, memories))

    @telemetry.traced("search", shown=lambda found: [each.located.memory.text for each in found])
    def search(
        self,
        query: str,
        k: int = 5,
        *,
        place: SubjectKey | None = None,
        persistence: str | None = None,
        status: str | None = None,
        category: str | None = None,
        kind: str | None = None,
        episode: int | str | None = None,
        metadata: Mapping[str, object] | None = None,
        after: datetime | str | None = None,
        threshold: float = 0.0,
    ) -> list[SearchResult]:
        """Return the memories that match a query best, best first, by words and, with embeddings, by meaning.

        Args:
            k: Maximum number of results. There are never more than 10,000.
            status: Defaults to every status except SUPERSEDED.
            episode: The first or last episode in which a memory was seen.
            metadata: Values that must be equal.
            after: Limits the result to memories stored or changed after this time. Counts of observations don't count.
            threshold: Minimum score of a result, from 0 to 1.

        Returns:
            Results with a score above 0 and at most 1, which never rises from one result to the next. By words, it is
            Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, with k1 = 1.2 and b = 0.75)
            divided by its limit, so it is the share of the query's rare words that the memory covers: about 0.5 if it
            contains each of them once or twice. By meaning, it is the cosine. If both are known, the results are
            ordered by reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009), and the score is the larger one, or
            that of the next result if this is larger still.

        Raises:
            TypeError, ValueError: If the query, a filter or the threshold is invalid.
            MemoryStoreError: If `after` is given and the history can't be read.
        """
        check_query(query, k)
        check_threshold(threshold)
        self._writer.refresh()
        at, since = None if place is None else self._stored(place), checked_time(after)
        wanted = Filters(at, persistence, status, category, episode, kind, metadata or {}, changed_after=since)
        with self.store.guard:
            results = self._searcher.search(query, k, wanted)
            results = [result for result in results if result.score >= threshold]
            located = self._results(result.located for result in results)
            return [replace(result, located=each) for result, each in zip(results, located, strict=True)]

    def get(self, memory: str, place: SubjectKey | None = None) -> LocatedMemory | None:
        """Return the memory with this id or title. None if there is none.

        If several memories have the title, the current one is returned.

        Args:
            place: Limits the search to the memories that are recalled at this place: its own first, then those of the
                things there and of the game.

        Raises:
            MemoryEditError: If several memories have this title. The message lists their ids.
        """
        match = self._get(memory, None if place is None else self._stored(place))
        return None if match is None else self._results([match])[0]

    def _get(self, memory: str, place: SubjectKey | None) -> LocatedMemory | None:
        """Return the memory with this id or title, with its stored place."""
        check_wanted("id or title", memory)
        self._writer.refresh()
        with self.store.guard:
            if place is None:
                return find_memory(self._named(memory), memory)
            others = (located for other in self._recalled_with(place) for located in self._named(memory, other))
            return find_memory(self._named(memory, place), memory) or find_memory(list(others), memory)

    def find(
        self,
        place: SubjectKey | None = None,
        *,
        prefix: str | tuple[int | str, ...] | None = None,
        persistence: str | None = None,
        status: str | None = None,
        category: str | None = None,
        kind: str | None = None,
        episode: int | str | None = None,
        metadata: Mapping[str, object] | None = None,
        after: datetime | str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[LocatedMemory]:
        """Return the memories that match all filters, ordered by place.

        Args:
            prefix: The beginning of the place: of a string, or the first elements of a tuple.
            status: Defaults to every status except SUPERSEDED.
            episode: The first or last episode in which a memory was seen.
            metadata: Values that must be equal.
            after: Limits the result to memories stored or changed after this time. Counts of observations don't count.
            limit: Maximum number of memories.
            offset: Number of memories to skip.

        Raises:
            TypeError, ValueError: If a filter is invalid.
            MemoryStoreError: If `after` is given and the history can't be read.
        """
        at, since = None if place is None else self._stored(place), checked_time(after)
        wanted = Filters(at, persistence, status, category, episode, kind, metadata or {}, changed_after=since)
        limit, offset = checked_count("limit", limit), checked_count("offset", offset)
        begins = None if prefix is None else checked_prefix(prefix)
        self._writer.refresh()
        with self.store.guard:
            book, scope = self._known, self._scope
            if isinstance(begins, str) and scope.path:
                matches = book.find(wanted)
                matches = [match for match in matches if has_prefix(scope.relative(match[0]), begins)]
                matches = matches[offset : offset + limit]
            else:
                within = (*scope.path, *begins) if isinstance(begins, tuple) else begins
                matches = book.find(replace(wanted, prefix=within), limit=limit, offset=offset)
            return self._results(self._known.located(matches))

    def refresh(self) -> int:
        """Read the changes of other processes, and delete expired memories. Every call that reads memories does this.

        Returns:
            The number of expired memories that were deleted.

        Raises:
            MemoryStoreError: If the memories can't be read.
        """
        self.store.refresh()
        return self._writer.forget_expired()

    @telemetry.traced("update")
    def update(
        self,
        memory: str,
        place: SubjectKey | None = None,
        *,
        text: str | None = None,
        title: str | None = None,
        category: str | None = None,
        persistence: str | None = None,
        status: str | None = None,
        kind: str | None = None,
        pinned: bool | None = None,
        vetoed: bool | None = None,
        reason: str | None = None,
        metadata: Mapping[str, object] | None = None,
        expires_at: datetime | timedelta | str | None = None,
        valid_from: datetime | str | None = None,
    ) -> LocatedMemory:
        """Change the given fields of a memory and return it. Its id stays the same.

        Args:
            memory: Id or title.
            kind: "" makes it unknown.
            reason: For the history.
            metadata: Replaces all metadata of the memory.
            expires_at: "" for never.
            valid_from: "" for unknown.

        Raises:
            TypeError, ValueError: If the metadata or the time is invalid.
            MemoryEditError: If no memory or several have this id or title, or the change is not allowed.
            MemoryStoreError: If the change can't be written.
        """
        from zorkgpt.memory.editing import Edit, edit, edited

        for name, given in (("text", text), ("title", title), ("reason", reason)):
            if given is not None:
                check_text(name, given)
        old = self._found(memory, place)
        wanted = Edit(
            text,
            title,
            category,
            persistence,
            status,
            pinned,
            vetoed,
            kind,
            metadata=None if metadata is None else checked_metadata(metadata),
            expires_at="" if expires_at == "" else checked_time(expires_at),
            valid_from="" if valid_from == "" else checked_time(valid_from),
            reason=reason,
        )
        if old.memory.persistence.outlives_episode:
            at, id, stamp = old.location_id, MemoryId(old.id), self._state.stamp()
            new = edit(self.store, at, id, wanted, source="agent", turn_stamp=stamp)
        else:
            wanted.check()
            if persistence is not None:
                raise MemoryEditError(f"{old.memory.title!r} is ephemeral. Use `supersede` to keep it for good.")
            new = replace(edited(old.memory, wanted), id=old.id)
            with self._writer.changing(lasting=False) as draft:
                draft.replace(old.location_id, old.memory, new, "edited")
        return self._results([replace(old, memory=new)])[0]

    @telemetry.traced("supersede")
    def supersede(
        self,
        memory: str,
        text: str,
        place: SubjectKey | None = None,
        *,
        title: str | None = None,
        category: str | None = None,
        persistence: str | None = None,
        kind: str | None = None,
        turn: int | None = None,
        valid_from: datetime | str | None = None,
    ) -> str:
        """Replace a memory by a new text and return the new id. The old memory stays on file as superseded.

        The new one keeps the metadata and the time of expiry.

        Args:
            memory: Id or title.
            title: Defaults to the old title, or to the first words of the text if the old title was made that way.
            category: Defaults to the old one.
            persistence: Defaults to the old one.
            kind: Defaults to the old one.
            valid_from: Since when the new fact is true: a time with a time zone. None if unknown.

        Raises:
            TypeError, ValueError: If a value is invalid. Nothing was changed.
            MemoryEditError: If no memory or several have this id or title, or it may not be replaced.
            MemoryStoreError: If the change can't be written.
        """
        check_text("text", text)
        if title is not None:
            check_text("title", title)
        check_turn(turn)
        found = self._current(memory, place)
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
                kind=cast("MemoryKind | None", old.kind if kind is None else kind),
                metadata=old.metadata,
                expires_at=old.expires_at,
                valid_from=checked_time(valid_from),
            )
        )
        replaces = [MemoryId(found.id)]
        return self._kept([NewMemory(found.location_id, found.location_name, new, replaces=replaces, turn=turn)])[0]

    @telemetry.traced("invalidate")
    def invalidate(self, memory: str, reason: str, place: SubjectKey | None = None, *, turn: int | None = None) -> None:
        """Mark a memory, given by id or title, as wrong. It stays in the store but is never recalled again.

        Raises:
            TypeError, ValueError: If the reason is blank or not a string.
            MemoryEditError: If no memory or several have this id or title, if it is superseded, or if a person has
                hidden, pinned or edited it.
            MemoryStoreError: If the change can't be written.
        """
        check_text("reason", reason)
        check_turn(turn)
        found = self._current(memory, place)
        turn = self._state.turn if turn is None else turn
        self._writer.invalidate(found.location_id, MemoryId(found.id), reason, turn)

    def forget(
        self,
        memory: str | None = None,
        place: SubjectKey | None = None,
        *,
        prefix: str | tuple[int | str, ...] | None = None,
        text: str | None = None,
    ) -> int:
        """Erase memories permanently from the store, its backup, the history and `runs/`.

        Give one memory, a place, a prefix of places or a text. Other occurrences of the erased texts are replaced by
        `[forgotten]`. With a place or a prefix, texts that other places have too are not erased.

        Args:
            memory: Id or title. `place` is then the place of the memory.
            place: Erase everything that was ever stored there.
            prefix: Erase everything at the places that begin with it, as `find` does.
            text: Erase everything that contains this text, such as a password.

        Returns:
            The number of memories erased, including those that only the history had.

        Raises:
            TypeError, ValueError: If a value is invalid, or not exactly one of these is given.
            MemoryEditError: If no memory or several have this id or title.
            MemoryStoreError, FileError, OSError: If a file can't be written. Another call continues from there.
        """
        from zorkgpt.memory.upkeep.forgetting import forget, traces_of_memory, traces_of_places, traces_of_text

        if [memory, prefix, text].count(None) != (2 if place is None or memory is not None else 3):
            raise ValueError("Give exactly one of: a memory by its id or title, a place, a prefix or a text.")
        with self.store.guard:
            self._writer.refresh()
            if memory is not None:
                found = self._found(memory, place)
                traces = traces_of_memory(self.store, found.location_id, found.memory)
            elif text is not None:
                check_wanted("text", text)
                traces = traces_of_text(text, self._known, self._scope)
            else:
                begins = None if prefix is None else checked_prefix(prefix)
                at = None if place is None else self._stored(place)
                relative = self._scope.relative
                inside = (*self._scope.path, *begins) if isinstance(begins, tuple) else self._scope.path or None
                traces = traces_of_places(
                    self.store,
                    self._known,
                    lambda key: key == at if begins is None else has_prefix(relative(key), begins),
                    self._runs,
                    inside,
                )
            self._writer.forget(traces.removed, traces.are_in, traces.gone)
            self._recorder.forget(traces.are_in_folded)
            forget(self.store, traces, self._runs)
        return len(traces.removed)

    def learn(
        self,
        place: SubjectKey,
        action: str,
        result: str,
        facts: Mapping[str, object] | None = None,
        *,
        place_name: str = "",
    ) -> None:
        """Learn from the outcome of an action at a place. Errors of the model are logged and counted.

        Does nothing without an `llm` or a synthesizer, which is asked only if a fact gives a reason.

        Args:
            facts: Facts about the outcome, by name. `reward`, `done`, `changed`, `first_visit` and `place_after` can
                be reasons to ask. `turn` is the turn number. All are passed to the synthesizer.

        Raises:
            TypeError, ValueError: If a value is invalid.
        """
        place, facts = checked_place(place), checked_facts(facts)
        if not is_place(place):
            raise TypeError(
                f"The place is {place}, where no action can be taken; it must be an integer, a string or a path."
            )
        check_text("action", action)
        check_name(place_name)
        if not isinstance(result, str):
            raise TypeError(f"The result is {result!r}, of the type {type(result).__name__}; it must be a string.")
        if facts.get("place_after") is not None:
            facts["place_after"] = self._stored(facts["place_after"])
        at = self._scope.absolute(place)
        context = context_of(facts)
        if "place_after" in facts:
            context.setdefault("location_changed", facts["place_after"] not in (None, at))
        turn = self._learner.take_turn(at, place_name, action, result, context, arrival=False, facts=facts)
        self._learner.learn(turn)

    @telemetry.traced("reset")
    def new_episode(self) -> None:
        """Forget ephemeral memories, because the environment starts over. Lasting memories stay."""
        with self.store.guard:
            self._writer.count()
            cleared = len(self._known.all_ephemeral())
            try:
                stay = str(self.store.lasting.count())
            except MemoryStoreError:
                stay = "unreadable"
            self._writer.forget_episode()
            self._learner.reset()
        self._log.info("episode reset: %d ephemeral memories cleared, %s persistent memories stay", cleared, stay)

    def history(
        self,
        memory: str | None = None,
        place: SubjectKey | None = None,
        *,
        after: int | datetime | str | None = None,
        limit: int | None = None,
    ) -> list[MemoryChange]:
        """Return the changes of a memory, of a place, or of all memories, oldest first. Deleted memories have theirs.

        Args:
            memory: Id or title. A deleted memory can only be given by its id.
            after: Only changes after this position or this time.
            limit: Maximum number of changes. Defaults to all.

        Raises:
            TypeError, ValueError: If a value is invalid.
            MemoryEditError: If no memory or several have this id or title.
            MemoryStoreError: If the history can't be read.
        """
        at = None if place is None else self._stored(place)
        most = LIMIT if limit is None else checked_count("limit", limit)
        with self.store.guard:
            journal = self.store.journal
            start = self._position(after) if after is not None else 0
            if memory is None:
                self._writer.refresh()
                records = [*journal.records(at, start=start, limit=most)]
            else:
                known = self._history_of(memory, place, at)
                records = [record for record in known if record.position > start][:most]
        return [MemoryChange.of(record.relative_to(self._scope)) for record in records]

    def _history_of(self, memory: str, place: SubjectKey | None, at: SubjectKey | None) -> list[HistoryRecord]:
        """Return the changes of a memory, whose place as stored is `at`."""
        found = self._get(memory, at)
        if found is not None:
            return self.store.journal.history(found.location_id, found.id)
        at = self.store.journal.last_place(memory) if at is None else at
        records = [] if at is None else self.store.journal.history(at, memory)
        if not records:
            raise self._unknown(memory, place)
        return records

    def _position(self, moment: int | datetime | str) -> int:
        """Return a position of the history, given as such or as a time."""
        if isinstance(moment, int):
            return checked_count("position", moment)
        return self.store.journal.position_at_time(checked_time(moment) or "")

    def as_of(
        self,
        episode: int | str | None = None,
        turn: int | None = None,
        *,
        moment: int | datetime | str | None = None,
    ) -> dict[SubjectKey, list[Memory]]:
        """Return the memories of each place at the end of a turn, or at another moment, including superseded ones.

        Args:
            moment: A position, such as `MemoryChange.position`, or a time with a time zone, instead of a turn.

        Raises:
            TypeError, ValueError: If a value is invalid, or not exactly one of a turn and a moment is given.
        """
        check_episode(episode)
        check_turn(turn)
        with self.store.guard:
            journal = self.store.journal
            if moment is None and episode is not None and turn is not None:
                position = journal.position_at(episode, turn)
            elif moment is not None and episode is None and turn is None:
                position = self._position(moment)
            else:
                raise ValueError("Give either an episode and a turn, or a moment.")
            by_stored_place = journal.memories_at(position, episode).items()
            located = (LocatedMemory(place, "", memory) for place, memories in by_stored_place for memory in memories)
            relative = (each.relative_to(self._scope) for each in located)
            return by_place((each.location_id, each.memory) for each in relative)

    def export(self, path: Path | str) -> None:
        """Write all lasting memories to a Markdown file and replace what it contained.

        Raises:
            MemoryStoreError: If the file can't be written or the memories can't be read.
        """
        from zorkgpt.memory.upkeep.exchange import write_memories

        write_memories(self.store, Path(path))

    def import_memories(self, path: Path | str) -> int:
        """Add the memories of a Markdown file, or of `memories export --to jsonl`, and return how many were new.

        An empty memory in a Markdown file copies another one byte for byte, including everything that people wrote in
        it.

        Raises:
            MemoryStoreError: If the file can't be read or has another format, or the memories can't be written.
        """
        from zorkgpt.memory.upkeep.exchange import import_memories

        return import_memories(self.store, Path(path)).added

    def _new(self, given: Mapping[str, Any]) -> NewMemory:
        """Return the checked memory of the arguments of `remember`, by name."""
        place, text, title = self._stored(given["place"]), given["text"], given["title"]
        check_name(given["place_name"])
        check_turn(given["turn"])
        check_text("text", text)
        if title is not None:
            check_text("title", title)
        memory = Memory(
            category=given["category"],
            title=title_of(text) if title is None else title,
            episode=self._state.episode if given["episode"] is None else given["episode"],
            turns=str(self._state.turn if given["turn"] is None else given["turn"]),
            score_change=given["score_change"],
            text=text,
            persistence=given["persistence"],
            status=given["status"],
            action=given["action"],
            kind=given["kind"],
            metadata=checked_metadata(given["metadata"] or {}),
            expires_at=checked_time(given["expires_at"]),
            valid_from=checked_time(given["valid_from"]),
        )
        check_fields(memory)
        check_header(memory)
        known = ("metadata", "expires_at", "valid_from")
        taken_over = {name: getattr(memory, name) for name in known if given[name] is not None}
        return NewMemory(place, given["place_name"], memory, taken_over)

    def _kept(self, new: list[NewMemory]) -> list[str]:
        return [id for _, id in self._writer.keep(new)]

    def _stored(self, place: object) -> SubjectKey:
        """Return the key under which a place is stored.

        Raises:
            TypeError, ValueError: If it is not a valid place, or is a `Thing` in a scope.
        """
        return self._scope.absolute(checked_place(place))

    def _selected(
        self,
        place: SubjectKey,
        *,
        unseen_only: bool = False,
        budget: Budget | None = None,
        query: str | None = None,
        ancestors: bool = False,
    ) -> tuple[str, list[LocatedMemory]]:
        """Return the text about a place and the memories in it.

        Args:
            budget: Defaults to that of the settings.
        """
        budget = budget or self._settings.budget
        self._writer.refresh()
        with self.store.guard:
            lasting, ledger = self.store.lasting, self._recorder.ledger
            # Of memories with the same rank, those of later subjects come first.
            subjects = (*(self._scope.above(place) if ancestors else ()), place, *self._recalled_with(place))
            persistent = {each: lasting.memories(each) for each in subjects}
            ephemeral = {each: [*self._known.ephemeral.get(each, ())] for each in persistent}
            if unseen_only:
                persistent[place] = self._recorder.unseen(persistent[place])
                ephemeral[place] = self._recorder.unseen(ephemeral[place])
            matches = None if query is None else self._matches(query, (persistent, ephemeral), budget.memories)
            places = {
                id(memory): subject
                for by_subject in (persistent, ephemeral)
                for subject, memories in by_subject.items()
                for memory in memories
            }
            chosen = [
                [
                    memory
                    for subject, memories in by_subject.items()
                    for memory in memories
                    if matches is None or (subject, memory.id) in matches
                ]
                for by_subject in (persistent, ephemeral)
            ]
            selection = shown(
                *chosen,
                episodes=lasting.episodes(place),
                budget=budget,
                now=lambda memory: ledger.contradicting_state(place, memory.claims) if is_place(place) else "",
            )
            return selection.text, [LocatedMemory(places[id(memory)], "", memory) for memory in selection.memories]

    def _matches(
        self, query: str, groups: Iterable[Mapping[SubjectKey, Iterable[Memory]]], most: int | None
    ) -> set[tuple[SubjectKey, str]]:
        """Return the places and ids of the memories that match a query best, among these."""
        among = {
            (place, memory.id) for by_place in groups for place, memories in by_place.items() for memory in memories
        }
        most = len(among) if most is None else min(most, len(among))
        found = self._searcher.search(query, most, Filters(among=among))
        return {(result.located.location_id, result.located.id) for result in found}

    def _note_shown(self, place: SubjectKey, located: Iterable[LocatedMemory]) -> None:
        """Record that the agent sees these memories before it acts at a place, for their counts of trials."""
        if is_place(place):
            self._writer.credit.show(place, [each.memory for each in located if each.location_id == place])

    def _recalled_with(self, place: SubjectKey) -> tuple[SubjectKey, ...]:
        """Return the other subjects whose memories are recalled at a place."""
        whole = self._scope.whole
        return (*self._recorder.things_at(place), whole) if is_place(place) and place != whole else ()

    def _named(self, wanted: str, place: SubjectKey | None = None) -> list[LocatedMemory]:
        return self._known.located(self._known.named(wanted, place))

    def _results(self, found: Iterable[LocatedMemory]) -> list[LocatedMemory]:
        """Return memories for the caller, with places relative to the scope."""
        return [each.relative_to(self._scope) for each in found]

    def _found(self, memory: str, place: SubjectKey | None) -> LocatedMemory:
        match = self._get(memory, None if place is None else self._stored(place))
        if match is None:
            raise self._unknown(memory, place)
        return match

    def _current(self, memory: str, place: SubjectKey | None) -> LocatedMemory:
        found = self._found(memory, place)
        if not is_current(found.memory):
            why = "a person has hidden it" if found.memory.vetoed else "it is superseded"
            raise MemoryRefused(f"{quoted(found.memory.title)} was not changed: {why}.")
        return found

    def _unknown(self, memory: str, place: SubjectKey | None) -> MemoryEditError:
        where = "" if place is None else f" at {place_in_words(place)}"
        return MemoryEditError(f"There is no memory with the id or title {quoted(memory)}{where}.")


_OPEN: WeakSet[AgentMemory] = WeakSet()
"""The memories that are open in this process."""


def _leave_counts_to_parent() -> None:
    """Drop the counts that are not written yet in a child process, because its parent writes them."""
    for memory in _OPEN:
        memory._writer.visits.drop()
        memory._writer.credit.drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_counts_to_parent)

_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(AgentMemory.remember).parameters.items()
    if name != "self"
}
"""The arguments of `remember` with their defaults."""
