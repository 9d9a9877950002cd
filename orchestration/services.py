"""The options of a run, and the parts that its managers and its player share."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from logging import Logger
from pathlib import Path
from typing import Any

from game_interface.game import Game, StoryIdentity
from game_interface.story import Story
from managers.background import BackgroundQuestions
from managers.map_manager import MapManager
from managers.model_calls import ModelCalls
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.agent import reader
from zorkgpt.context.tools import AgentTools
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.errors import EmbeddingError, WorkdirError
from zorkgpt.explore.trails import Trails
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.llm.background_work import BackgroundLLM
from zorkgpt.llm.client import OPENAI_URL
from zorkgpt.llm.connection import connect_openai
from zorkgpt.llm.model import LLM
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.log import get_logger
from zorkgpt.memory.dedup.judge import ModelJudge
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.model_synthesizer import ModelSynthesizer
from zorkgpt.memory.models import Memory
from zorkgpt.memory.parts import configured_embeddings
from zorkgpt.memory.settings import settings_of
from zorkgpt.memory.storage.addresses import open_record
from zorkgpt.memory.storage.postgres import PostgresDatabase
from zorkgpt.memory.storage.sqlite import SqliteDatabase
from zorkgpt.memory.things import is_attempts_entry
from zorkgpt.offline.memory_synthesizer import RuleSynthesizer
from zorkgpt.player import Player
from zorkgpt.record.events import Events
from zorkgpt.record.experience import Experience
from zorkgpt.run_folder import KNOWLEDGE_FILE
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.episodes import AppliedAnswers
from zorkgpt.runlog.events import PlayerKind
from zorkgpt.runlog.story_folder import StoryMark, check_story, mark_folder
from zorkgpt.timeouts import with_timeout

_EMBEDDINGS_WAIT_S = 2.0
_EMBEDDINGS_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class RunOptions:
    """The options of a run beyond its configuration."""

    choice: PlayerChoice
    story: Story | None = None
    """Defaults to the one that `find_story` finds."""
    seed: int = 1
    remember: bool = True
    walkthrough: Path | None = None
    person: Callable[[], Player] | None = None
    """Creates the human player."""
    keep_map: bool | None = None
    """Whether to keep the map after the episode. Defaults to whether memories are kept."""
    observer: CurrentCall | None = None
    """Is notified of the progress of each model call."""
    recorded_answers: AppliedAnswers | None = None
    """The applied background answers of the run that is replayed. None if there are none."""
    stand_in: bool = True
    """Whether the rules choose a command if the model gives no usable one. Otherwise the episode ends."""

    @property
    def is_plain(self) -> bool:
        """Whether the player is a model that sees only the transcript, without memory, map and other roles."""
        return self.choice.kind == PlayerKind.PLAIN


@dataclass(frozen=True)
class Services:
    """The parts that the managers and the player share."""

    config: GameConfiguration
    options: RunOptions
    state: GameState
    episode_log: EpisodeLog
    models: ModelCalls | None
    """The configured models. None if there are none, or `llm` overrides them."""
    llm: LLM | None
    """None if rules replace the model."""
    background_llm: LLM | None
    """The same, for work that may run in the background."""
    knowledge: KnowledgeStore | None
    """None without memory."""
    memory: SimpleMemoryManager | None
    """None without memory."""
    synthesizer: ModelSynthesizer | None
    """The memory's model. None if rules replace it."""
    map: MapManager
    game: Game
    record: SqliteDatabase | PostgresDatabase
    """The database of the memory. Without memory, that of the working directory."""
    background: BackgroundQuestions
    tools: AgentTools | None = None
    """The tools of the model that plays. None without tools."""

    def for_manager(self, name: str) -> tuple[Logger, GameConfiguration, GameState]:
        """Return the first arguments of every manager."""
        return get_logger(name), self.config, self.state

    def recall(self, location_id: int) -> list[Memory]:
        """Return the current memories of a location, and of the things that are or start there.

        Memories that only count attempts are left out.
        """
        memories = () if self.memory is None else self.memory.memories_at(location_id)
        return [memory for memory in memories if not is_attempts_entry(memory)]

    @cached_property
    def events(self) -> Events:
        """The events of the episodes."""
        return Events(self.record)

    @cached_property
    def trails(self) -> Trails:
        """The trails of earlier episodes of this story."""
        return Trails(self.events, self.game.story.sha256)

    def earlier(self, episode: int) -> Experience:
        """Return what the actions before an episode led to. Nothing without memory."""
        return Experience() if self.memory is None else self.trails.experience(episode)

    def turn(self) -> AbstractContextManager[None]:
        """Commit the changes of the memory and of the record in the block together, or none of them if it raises.

        If a model is asked in the block, they are committed one by one: nothing is locked while it answers.
        """
        if self.llm is not None and not self.background.enabled:
            return nullcontext()
        return self.record.turn() if self.memory is None else self.memory.store.turn()

    @property
    def is_deterministic(self) -> bool:
        """Whether rules choose each action, without a model: the same state leads to the same action."""
        return self.llm is None and self.options.choice.kind == PlayerKind.RULES

    @property
    def player_decides(self) -> bool:
        """Whether a program chooses each action, rather than a person or a list of commands."""
        return self.options.choice.kind not in (PlayerKind.WALKTHROUGH, PlayerKind.HUMAN)


def build_services(config: GameConfiguration, options: RunOptions, llm: LLM | None, game: Game) -> Services:
    """Build the services of a run.

    Args:
        llm: Overrides the configured models for every role.

    Raises:
        ZorkGPTError: If a service can't be created.
    """
    claim_workdir(config, game.story)
    state = GameState()
    models = None
    choice = options.choice
    if llm is None and choice.models is not None:
        readers = {Role.AGENT: reader(tuple(game.language.words) if game.language else ())}
        models = ModelCalls(
            get_logger("models"), config, state, choice.models, choice.servers, options.observer, readers
        )
        llm = models.client
    background = _background(config, options, state, asks_models=models is not None)
    background_llm = BackgroundLLM(llm) if llm is not None and background.enabled else llm
    knowledge = memory = synthesizer = None
    if options.remember and config.simple_memory.enabled and not options.is_plain:
        if background_llm is not None:
            window = config.get_memory_history_window()
            synthesizer = ModelSynthesizer(background_llm, history_window=window, asks_for_exits=True)
        memory = _memory(config, state, background_llm, synthesizer, game.story)
    without_memory = config.memory_of_run(remember=False)
    record = memory.store.database if memory else open_record(Path(config.zork_game_workdir), without_memory)
    if memory is not None:
        file = Path(config.zork_game_workdir) / KNOWLEDGE_FILE
        knowledge = KnowledgeStore(memory.store, Events(record), file, turn=state.turn_stamp)
    keeps_map = memory is not None if options.keep_map is None else options.keep_map
    game_map = MapManager(
        get_logger("map"),
        config,
        state,
        remember=keeps_map,
        is_open=lambda door: game.get_object_attributes(door).get("open"),
    )
    state.max_score = game.get_max_score()
    has_tools = choice.kind == PlayerKind.MODEL and config.enable_agent_tools
    return Services(
        config=config,
        options=options,
        state=state,
        episode_log=EpisodeLog(get_logger("episodes"), config, state, Events(record)),
        models=models,
        llm=llm,
        background_llm=background_llm,
        knowledge=knowledge,
        memory=memory,
        synthesizer=synthesizer,
        map=game_map,
        game=game,
        record=record,
        tools=AgentTools(game_map.graph, memory) if has_tools and memory else None,
        background=background,
    )


def _background(
    config: GameConfiguration, options: RunOptions, state: GameState, *, asks_models: bool
) -> BackgroundQuestions:
    """Return the background questions, enabled for configured models unless a person plays.

    A person can undo turns, but not answers about them.
    """
    enabled = asks_models and config.ask_in_background and options.choice.kind != PlayerKind.HUMAN
    return BackgroundQuestions(
        get_logger("background"),
        config,
        state,
        enabled=enabled or options.recorded_answers is not None,
        recorded=options.recorded_answers,
    )


def claim_workdir(config: GameConfiguration, story: StoryIdentity) -> None:
    """Create the working directory and mark it as this story's.

    Raises:
        WorkdirError: If it belongs to another story, or can't be created or written.
    """
    workdir, mark = Path(config.zork_game_workdir), StoryMark.of(story.summary())
    check_story(workdir, mark)
    prepare_workdir(workdir)
    mark_folder(workdir, mark)


def prepare_workdir(workdir: Path) -> None:
    """Create the working directory and check that it can be written.

    Raises:
        WorkdirError: If it can't be created or written.
    """
    probe = workdir / ".writable"
    try:
        workdir.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise WorkdirError(
            f"The working directory {workdir} can't be written: {error.strerror}. Name another with --workdir."
        ) from None


def _memory(
    config: GameConfiguration, state: GameState, llm: LLM | None, model: ModelSynthesizer | None, story: StoryIdentity
) -> SimpleMemoryManager:
    memory = SimpleMemoryManager(
        get_logger("memory"),
        settings_of(config, wait_for_embeddings=False),
        state,
        synthesizer=model or RuleSynthesizer(),
        embeddings=_embeddings(config, llm),
        judge=ModelJudge(llm) if llm else None,
    )
    mark = StoryMark.of(story.summary())
    sha256, _, theirs = memory.store.claim_subject(f"{mark.sha256} {mark}").partition(" ")
    if sha256 not in ("", mark.sha256):
        raise WorkdirError(
            f"{memory.store.name} keeps memories of {theirs}; {mark} can't be played with them. Use another database "
            "or schema as memory_address."
        )
    return memory


def _embeddings(config: GameConfiguration, llm: LLM | None) -> EmbeddingProvider | None:
    """Return the configured provider. None without embeddings."""
    settings = settings_of(config)
    # Without a model, use the server for embeddings only if it is the configured provider.
    uses_server = llm is not None or settings.embedding_provider == "llm"
    provider = configured_embeddings(settings, _EmbeddingServer(config) if uses_server else None)
    if provider is None:
        return None
    # Imported here, so that a run without embeddings does not load NumPy.
    from zorkgpt.embeddings.llm_provider import LLMEmbeddingProvider

    if isinstance(provider.in_use, LLMEmbeddingProvider):
        # Many servers have no embedding model. Find out now, so that the run can report it at its start, but don't
        # wait for a slow server.
        with suppress(EmbeddingError, TimeoutError):
            with_timeout(_EMBEDDINGS_WAIT_S, lambda: provider.embed("warm up"))
    return provider


class _EmbeddingServer:
    """An OpenAI client of the configured server, for embeddings only, created on first use."""

    def __init__(self, config: GameConfiguration) -> None:
        self._config = config

    @cached_property
    def embeddings(self) -> Any:
        """The embeddings resource of the client."""
        settings = LLMSettings(roles={}, timeout_s=_EMBEDDINGS_TIMEOUT_S)
        base_url = self._config.client_base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        return connect_openai(base_url, self._config.client_api_key, settings).embeddings
