"""The one place where the real parts are put together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import Story, find_story
from managers.checkpoint_manager import CheckpointManager
from managers.context_manager import ContextManager
from managers.episode_log import EpisodeLog
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.extraction_manager import ExtractionManager
from managers.knowledge_manager import KnowledgeManager
from managers.map_manager import MapManager
from managers.model_calls import ModelCalls
from managers.objective_manager import ObjectiveManager
from managers.progress_manager import ProgressManager
from managers.rejection_manager import RejectionManager
from managers.return_manager import ReturnManager
from managers.state_manager import StateManager
from orchestration.embedding_server import EmbeddingServer
from orchestration.parts import Parts
from orchestration.players import Choice
from orchestration.progress import Watcher
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.checkpoint import Run
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import History
from zorkgpt.agent import Agent
from zorkgpt.context.summary import ModelSummarizer
from zorkgpt.critic import Critic
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.errors import ConfigurationError, WorkdirError
from zorkgpt.extractor import Extractor, ModelExtractor
from zorkgpt.knowledge.asking import ModelKnowledge
from zorkgpt.llm.messages import LLM
from zorkgpt.log import get_logger
from zorkgpt.memory.changes import is_current
from zorkgpt.memory.judge import ModelJudge
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.model_synthesizer import ModelSynthesizer
from zorkgpt.memory.models import Memory
from zorkgpt.memory.synthesis import MemorySynthesizer
from zorkgpt.objectives.model_finder import ModelObjectiveFinder
from zorkgpt.offline.explorer import OfflineExplorer, Recall, Senses
from zorkgpt.offline.lessons import RuleKnowledge
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.offline.reading import RuleExtractor
from zorkgpt.offline.rules import RuleSynthesizer
from zorkgpt.offline.walkthrough import WalkthroughPlayer
from zorkgpt.player import Player
from zorkgpt.returning import ReturningPlayer


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


def assemble(
    config: GameConfiguration, wishes: Wishes, watchers: Sequence[Watcher] = (), *, llm: LLM | None = None
) -> ZorkOrchestratorV2:
    """Everything that plays, ready for its first episode.

    Args:
        llm: serves every role in the stead of the models that are configured.

    Raises:
        ZorkGPTError: a part can't be had; the message says which and what to do.
    """
    prepare_workdir(Path(config.zork_game_workdir))
    state, history = GameState(), History()
    episode_log = EpisodeLog(get_logger("episodes"), config, state)
    models = None
    if llm is None and wishes.choice.models:
        models = ModelCalls(get_logger("models"), config, state, wishes.choice.models)
        llm = models.client
    memory = _memory(config, state, llm) if wishes.remember and config.simple_memory.enabled else None
    keeps_map = memory is not None if wishes.keep_map is None else wishes.keep_map
    world = MapManager(get_logger("map"), config, state, remember=keeps_map)
    game = JerichoInterface(story=wishes.story or find_story(), seed=wishes.seed)
    senses = game if config.enable_critic else None
    player = _player(config, wishes, world, memory, llm, senses)
    state.max_score = game.get_max_score()
    knowledge = _knowledge(config, state, history, episode_log, memory, llm) if memory else None
    applying = knowledge.lines if knowledge else lambda now: ()
    recall = _recall(memory) if memory else lambda location_id: ()
    objectives = ObjectiveManager(
        get_logger("objectives"),
        config,
        state,
        history=history,
        graph=world.graph,
        episode_log=episode_log,
        rules=RuleObjectiveFinder(recall, game.get_object_attributes),
        model=ModelObjectiveFinder(llm) if llm else None,
        recall=recall,
        knowledge=applying,
        remember=memory is not None,
    )
    extraction = ExtractionManager(
        get_logger("extraction"),
        config,
        state,
        extractor=_extractor(config, llm),
        known_exits=world.graph.exits,
    )
    progress = ProgressManager(get_logger("progress"), config, state)
    context = ContextManager(
        get_logger("context"),
        config,
        state,
        graph=world.graph,
        vocabulary=game.vocabulary,
        memory=memory,
        summarizer=ModelSummarizer(llm) if llm and wishes.choice.kind == "model" else None,
        recall=recall,
        objectives=objectives.lines,
        knowledge=applying,
        destination=objectives.destination,
        notices=progress.notices,
    )
    export = StateManager(get_logger("state"), config, state)
    rejections = RejectionManager(get_logger("rejections"), config, state)
    managers = (
        extraction,
        progress,
        world,
        objectives,
        rejections,
        context,
        export,
        *((models,) if models else ()),
        *((knowledge,) if knowledge else ()),
    )
    if config.explore == "return" and wishes.choice.kind in ("model", "offline"):
        returns = _returns(config, state, wishes, game, world, episode_log)
        player = ReturningPlayer(player, lambda: returns.journey)
        managers = (*managers, returns)
    run = _run(config, wishes, game.story, remember=memory is not None)
    checkpoints = CheckpointManager(
        get_logger("checkpoints"),
        config,
        state,
        run=run,
        game=game,
        memory=memory,
        managers=managers,
        rollbacks=[kept.rollback() for kept in (memory, knowledge) if kept],
    )
    managers = (*managers, checkpoints)
    parts = Parts(
        config=config,
        game=game,
        player=player,
        player_name=wishes.choice.kind,
        seed=wishes.seed,
        state=state,
        history=history,
        map=world,
        extraction=extraction,
        progress=progress,
        context=context,
        export=export,
        memory=memory,
        checkpoints=checkpoints,
        models=models,
        objectives=objectives,
        managers=managers,
    )
    if config.enable_critic and wishes.choice.kind in ("model", "offline"):
        critic = Critic(game.language, llm, threshold=config.critic_rejection_threshold, budgets=config.context)
        parts = replace(parts, critic=critic, rejections=rejections)
    episodes = EpisodeSynthesizer(
        get_logger("episodes"),
        config,
        state,
        history=history,
        memory=memory,
        managers=managers,
        episode_log=episode_log,
        checkpoints=checkpoints,
        models=models,
        knowledge=knowledge,
    )
    return ZorkOrchestratorV2(parts, episodes, watchers)


def _run(config: GameConfiguration, wishes: Wishes, story: Story, *, remember: bool) -> Run:
    return Run(
        story=story.sha256,
        story_path=str(Path(story.path).resolve()),
        title=story.title or Path(story.path).stem,
        seed=wishes.seed,
        player=wishes.choice.kind,
        remember=remember,
        max_turns=config.max_turns_per_episode,
        explore=config.explore,
        walkthrough=str(wishes.walkthrough.resolve()) if wishes.walkthrough else None,
    )


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


def _memory(config: GameConfiguration, state: GameState, llm: LLM | None) -> SimpleMemoryManager:
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
    )


def _knowledge(
    config: GameConfiguration,
    state: GameState,
    history: History,
    episode_log: EpisodeLog,
    memory: SimpleMemoryManager,
    llm: LLM | None,
) -> KnowledgeManager:
    knowledge = KnowledgeManager(
        get_logger("knowledge"),
        config,
        state,
        history=history,
        synthesizer=ModelKnowledge(llm) if llm else RuleKnowledge(),
        episode_log=episode_log,
        memory=memory,
    )
    # What holds at many places is told once, not at each of them.
    memory.of_this_place_only = knowledge.of_this_place_only
    return knowledge


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


def _extractor(config: GameConfiguration, llm: LLM | None) -> Extractor:
    rules = RuleExtractor()
    return ModelExtractor(llm, rules) if llm and config.enable_extractor else rules


def _player(
    config: GameConfiguration,
    wishes: Wishes,
    world: MapManager,
    memory: SimpleMemoryManager | None,
    llm: LLM | None,
    senses: Senses | None,
) -> Player:
    kind = wishes.choice.kind
    if kind == "model" and llm is not None:
        return Agent(llm, config.context)
    if kind == "walkthrough":
        if wishes.walkthrough is None:
            raise ConfigurationError("The walkthrough player needs a file of commands: name one with --walkthrough.")
        return WalkthroughPlayer.from_file(wishes.walkthrough)
    if kind == "human" and wishes.person is not None:
        return wishes.person()
    return OfflineExplorer(world.graph, _recall(memory) if memory else None, senses)


def _returns(
    config: GameConfiguration,
    state: GameState,
    wishes: Wishes,
    game: JerichoInterface,
    world: MapManager,
    episode_log: EpisodeLog,
) -> ReturnManager:
    return ReturnManager(
        get_logger("explore"),
        config,
        state,
        story_sha256=game.story.sha256,
        seed=wishes.seed,
        episode_log=episode_log,
        untried=lambda room: len(world.graph.untried(room)),
    )


def _recall(memory: SimpleMemoryManager) -> Recall:
    """What is believed of a place, from both caches."""

    def believed(location_id: int) -> list[Memory]:
        kept = (*memory.memory_cache.get(location_id, ()), *memory.ephemeral_cache.get(location_id, ()))
        return [one for one in kept if is_current(one)]

    return believed
