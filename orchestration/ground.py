"""What a run stands on: what it was asked to be, its model, its memory, the game, the map and the log."""

from collections.abc import Callable
from dataclasses import dataclass
from logging import Logger
from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import Story, find_story
from managers.episode_log import EpisodeLog
from managers.knowledge_manager import memories_of_place_only, open_store
from managers.map_manager import MapManager
from managers.model_calls import ModelCalls
from orchestration.embedding_server import EmbeddingServer
from orchestration.players import Choice
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import History
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.errors import WorkdirError
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.llm.messages import LLM
from zorkgpt.log import get_logger
from zorkgpt.memory.dedup.judge import ModelJudge
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.changes import is_current
from zorkgpt.memory.synthesis import MemorySynthesizer, ModelSynthesizer
from zorkgpt.offline.rules import RuleSynthesizer
from zorkgpt.player import Player
from zorkgpt.runlog.story_folder import StoryMark, check_story, mark_folder


@dataclass(frozen=True)
class Wishes:
    """What a run was asked to be, beyond its configuration."""

    choice: Choice
    story: Story | None = None
    """None: the one that `find_story` finds by itself."""
    seed: int = 1
    remember: bool = True
    walkthrough: Path | None = None
    person: Callable[[], Player] | None = None
    """Makes the player who sits at the keyboard."""
    keep_map: bool | None = None
    """Whether the map outlives the episode; None: if memories do."""


@dataclass(frozen=True)
class Ground:
    """What the managers and the player are built upon."""

    config: GameConfiguration
    wishes: Wishes
    state: GameState
    history: History
    episode_log: EpisodeLog
    models: ModelCalls | None
    """The configured models; None: there are none, or something else serves in their stead."""
    llm: LLM | None
    """None: rules do what a model would."""
    memory: SimpleMemoryManager | None
    """None: nothing is remembered."""
    knowledge_store: KnowledgeStore | None
    """None: nothing is remembered."""
    world: MapManager
    game: JerichoInterface

    def common(self, name: str) -> tuple[Logger, GameConfiguration, GameState]:
        """What every manager begins with."""
        return get_logger(name), self.config, self.state

    def recall(self, location_id: int) -> list[Memory]:
        """What is believed of a place, from both caches."""
        if self.memory is None:
            return []
        caches = self.memory.memory_cache, self.memory.ephemeral_cache
        return [one for cache in caches for one in cache.get(location_id, ()) if is_current(one)]

    @property
    def decides(self) -> bool:
        """Whether the player makes up its own mind on each turn, and is no person."""
        return self.wishes.choice.kind in ("model", "offline")


def lay_ground(config: GameConfiguration, wishes: Wishes, llm: LLM | None) -> Ground:
    """
    Args:
        llm: serves every role in the stead of the models that are configured.

    Raises:
        ZorkGPTError: a part can't be had; the message says which and what to do.
    """
    story = wishes.story or find_story()
    claim_workdir(config, story)
    state = GameState()
    models = None
    if llm is None and wishes.choice.models:
        models = ModelCalls(get_logger("models"), config, state, wishes.choice.models)
        llm = models.client
    knowledge_store = memory = None
    if wishes.remember and config.simple_memory.enabled:
        knowledge_store = open_store(config)
        memory = _memory(config, state, llm, knowledge_store)
    keeps_map = memory is not None if wishes.keep_map is None else wishes.keep_map
    world = MapManager(get_logger("map"), config, state, remember=keeps_map)
    game = JerichoInterface(story=story, seed=wishes.seed)
    state.max_score = game.get_max_score()
    episode_log = EpisodeLog(get_logger("episodes"), config, state)
    return Ground(config, wishes, state, History(), episode_log, models, llm, memory, knowledge_store, world, game)


def claim_workdir(config: GameConfiguration, story: Story) -> None:
    """Make the working directory, and let it be this story's.

    Raises:
        WorkdirError: it is another story's, and nothing was changed; or it can't be made or written.
    """
    workdir, mark = Path(config.zork_game_workdir), StoryMark.of(story.summary())
    check_story(workdir, mark, config.episode_log_file)
    prepare_workdir(workdir)
    mark_folder(workdir, mark)


def prepare_workdir(workdir: Path) -> None:
    """Make the working directory.

    Raises:
        WorkdirError: it can't be made or written.
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
    config: GameConfiguration, state: GameState, llm: LLM | None, knowledge_store: KnowledgeStore
) -> SimpleMemoryManager:
    synthesizer: MemorySynthesizer = (
        ModelSynthesizer(llm, history_window=config.get_memory_history_window()) if llm else RuleSynthesizer()
    )
    return SimpleMemoryManager(
        get_logger("memory"),
        config,
        state,
        synthesizer=synthesizer,
        embeddings=_embeddings(config, llm),
        judge=ModelJudge(llm) if llm else None,
        wait_for_embeddings=False,
        # What holds at many places is told once, not at each of them.
        of_this_place_only=memories_of_place_only(knowledge_store, config),
    )


def _embeddings(config: GameConfiguration, llm: LLM | None) -> EmbeddingProvider | None:
    """None: deduplication is off, or words are all there is to go by."""
    wanted = config.memory_deduplication
    if not wanted.enable or wanted.provider == "none":
        return None
    # Only here, so that a run without embeddings loads nothing that makes them.
    from zorkgpt.embeddings.choose import choose_provider

    # Where a server plays no part in the run, it is not asked for vectors either, unless it is named.
    has_server = llm is not None or wanted.provider == "llm"
    return choose_provider(
        wanted.provider,
        sentence_transformer_model=wanted.sentence_transformer_model,
        llm_embedding_model=wanted.llm_embedding_model,
        llm_client=EmbeddingServer(config) if has_server else None,
        batch_size=wanted.batch_size,
    )
