"""The one place where the real parts are put together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from managers.base import Manager
from managers.checkpoint_manager import CheckpointManager
from managers.context_manager import ContextManager
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.extraction_manager import ExtractionManager
from managers.knowledge_manager import KnowledgeManager
from managers.objective_manager import ObjectiveManager
from managers.progress_manager import ProgressManager
from managers.rejection_manager import RejectionManager
from managers.return_manager import ReturnManager
from managers.state_manager import StateManager
from orchestration.ground import Ground, Wishes, claim_workdir, lay_ground, prepare_workdir
from orchestration.parts import Parts
from orchestration.progress import Watcher
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.checkpoint import Run
from session.game_configuration import GameConfiguration
from zorkgpt.agent import Agent
from zorkgpt.context.summary import ModelSummarizer
from zorkgpt.critic import Critic
from zorkgpt.errors import ConfigurationError
from zorkgpt.explore.reading import TrailReader
from zorkgpt.extractor import Extractor, ModelExtractor
from zorkgpt.knowledge.asking import ModelKnowledge
from zorkgpt.llm.messages import LLM
from zorkgpt.objectives.model_finder import ModelObjectiveFinder
from zorkgpt.offline.explorer import OfflineExplorer, Proven
from zorkgpt.offline.lessons import RuleKnowledge
from zorkgpt.offline.notes import what_came_of
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.offline.proven import ProvenStep, plan_of
from zorkgpt.offline.reading import RuleExtractor
from zorkgpt.offline.walkthrough import WalkthroughPlayer
from zorkgpt.player import Player
from zorkgpt.returning import ReturningPlayer

__all__ = ["Wishes", "assemble", "claim_workdir", "prepare_workdir"]


def assemble(
    config: GameConfiguration, wishes: Wishes, watchers: Sequence[Watcher] = (), *, llm: LLM | None = None
) -> ZorkOrchestratorV2:
    """Everything that plays, ready for its first episode.

    Args:
        llm: serves every role in the stead of the models that are configured.

    Raises:
        ZorkGPTError: a part can't be had; the message says which and what to do.
    """
    ground = lay_ground(config, wishes, llm)
    player = _player(ground)
    managers = _managers(ground)
    learning = managers.in_order
    if config.explore == "return" and ground.decides:
        returns = _returns(ground)
        player = ReturningPlayer(player, lambda: returns.journey)
        learning = (*learning, returns)
    checkpoints = _checkpoints(ground, managers.knowledge, learning)
    parts = _parts(ground, player, managers, checkpoints, (*learning, checkpoints))
    return ZorkOrchestratorV2(parts, _episodes(ground, managers.knowledge, parts), watchers)


@dataclass(frozen=True)
class _Managers:
    """Those that learn from the turns."""

    extraction: ExtractionManager
    progress: ProgressManager
    objectives: ObjectiveManager
    rejections: RejectionManager
    context: ContextManager
    export: StateManager
    knowledge: KnowledgeManager | None
    in_order: tuple[Manager, ...]
    """As they take over a turn, with the map and the models' calls among them."""


def _managers(ground: Ground) -> _Managers:
    knowledge = _knowledge(ground)
    objectives = _objectives(ground, knowledge)
    extraction = ExtractionManager(
        *ground.common("extraction"),
        extractor=_extractor(ground.config, ground.llm),
        known_exits=ground.world.graph.exits,
    )
    progress = ProgressManager(*ground.common("progress"))
    context = _context(ground, knowledge, objectives, progress)
    export = StateManager(*ground.common("state"))
    rejections = RejectionManager(*ground.common("rejections"))
    optional = (each for each in (ground.models, knowledge) if each is not None)
    in_order = (extraction, progress, ground.world, objectives, rejections, context, export, *optional)
    return _Managers(extraction, progress, objectives, rejections, context, export, knowledge, in_order)


def _knowledge(ground: Ground) -> KnowledgeManager | None:
    """None: nothing is remembered."""
    if ground.memory is None:
        return None
    return KnowledgeManager(
        *ground.common("knowledge"),
        history=ground.history,
        synthesizer=ModelKnowledge(ground.llm) if ground.llm else RuleKnowledge(),
        episode_log=ground.episode_log,
        memory=ground.memory,
        store=ground.knowledge_store,
    )


def _objectives(ground: Ground, knowledge: KnowledgeManager | None) -> ObjectiveManager:
    return ObjectiveManager(
        *ground.common("objectives"),
        history=ground.history,
        graph=ground.world.graph,
        episode_log=ground.episode_log,
        rules=RuleObjectiveFinder(ground.recall, ground.game.get_object_attributes),
        model=ModelObjectiveFinder(ground.llm) if ground.llm else None,
        recall=ground.recall,
        knowledge=knowledge.lines if knowledge else lambda now: (),
        remember=ground.memory is not None,
    )


def _context(
    ground: Ground, knowledge: KnowledgeManager | None, objectives: ObjectiveManager, progress: ProgressManager
) -> ContextManager:
    summarises = ground.llm is not None and ground.wishes.choice.kind == "model"
    return ContextManager(
        *ground.common("context"),
        graph=ground.world.graph,
        vocabulary=ground.game.vocabulary,
        memory=ground.memory,
        summarizer=ModelSummarizer(ground.llm) if summarises else None,
        recall=ground.recall,
        objectives=objectives.lines,
        knowledge=knowledge.lines if knowledge else lambda now: (),
        destination=objectives.destination,
        notices=progress.notices,
    )


def _extractor(config: GameConfiguration, llm: LLM | None) -> Extractor:
    rules = RuleExtractor()
    return ModelExtractor(llm, rules) if llm and config.enable_extractor else rules


def _player(ground: Ground) -> Player:
    wishes, kind = ground.wishes, ground.wishes.choice.kind
    if kind == "model" and ground.llm is not None:
        return Agent(ground.llm, ground.config.context)
    if kind == "walkthrough":
        if wishes.walkthrough is None:
            raise ConfigurationError("The walkthrough player needs a file of commands: name one with --walkthrough.")
        return WalkthroughPlayer.from_file(wishes.walkthrough)
    if kind == "human" and wishes.person is not None:
        return wishes.person()
    senses = ground.game if ground.config.enable_critic else None
    return OfflineExplorer(ground.world.graph, ground.recall, senses, _proven(ground))


def _proven(ground: Ground) -> Proven:
    """What scored in earlier episodes, but for what a person has vetoed; nothing where nothing is remembered."""
    config, memory = ground.config, ground.memory
    if memory is None:
        return tuple
    reader = TrailReader(Path(config.zork_game_workdir), config.episode_log_file, ground.game.story.sha256)

    def is_vetoed(step: ProvenStep) -> bool:
        vetoed = (what_came_of(one) for one in memory.memory_cache.get(step.place, ()) if one.vetoed)
        return any(known is not None and known[0] == step.action for known in vetoed)

    return lambda: [step for step in plan_of(reader.before(ground.state.episode_id)) if not is_vetoed(step)]


def _returns(ground: Ground) -> ReturnManager:
    return ReturnManager(
        *ground.common("explore"),
        story_sha256=ground.game.story.sha256,
        seed=ground.wishes.seed,
        episode_log=ground.episode_log,
        untried=lambda room: len(ground.world.graph.untried(room)),
    )


def _critic(ground: Ground) -> Critic | None:
    """None: what is proposed is played."""
    config, language = ground.config, ground.game.language
    if not (config.enable_critic and ground.decides):
        return None
    return Critic(language, ground.llm, threshold=config.critic_rejection_threshold, budgets=config.context)


def _checkpoints(ground: Ground, knowledge: KnowledgeManager | None, managers: Sequence[Manager]) -> CheckpointManager:
    return CheckpointManager(
        *ground.common("checkpoints"),
        run=_run(ground),
        asks_model=ground.llm is not None,
        game=ground.game,
        memory=ground.memory,
        managers=managers,
        rollbacks=[kept.rollback() for kept in (ground.memory, knowledge, ground.world) if kept],
    )


def _run(ground: Ground) -> Run:
    wishes, story = ground.wishes, ground.game.story
    return Run(
        story=story.sha256,
        story_path=str(Path(story.path).resolve()),
        title=story.title or Path(story.path).stem,
        seed=wishes.seed,
        player=wishes.choice.kind,
        remember=ground.memory is not None,
        max_turns=ground.config.max_turns_per_episode,
        explore=ground.config.explore,
        walkthrough=str(wishes.walkthrough.resolve()) if wishes.walkthrough else None,
    )


def _parts(
    ground: Ground,
    player: Player,
    managers: _Managers,
    checkpoints: CheckpointManager,
    in_order: tuple[Manager, ...],
) -> Parts:
    critic = _critic(ground)
    return Parts(
        config=ground.config,
        game=ground.game,
        player=player,
        player_name=ground.wishes.choice.kind,
        seed=ground.wishes.seed,
        state=ground.state,
        history=ground.history,
        map=ground.world,
        extraction=managers.extraction,
        progress=managers.progress,
        context=managers.context,
        export=managers.export,
        memory=ground.memory,
        checkpoints=checkpoints,
        critic=critic,
        rejections=managers.rejections if critic else None,
        objectives=managers.objectives,
        models=ground.models,
        managers=in_order,
    )


def _episodes(ground: Ground, knowledge: KnowledgeManager | None, parts: Parts) -> EpisodeSynthesizer:
    return EpisodeSynthesizer(
        *ground.common("episodes"),
        history=ground.history,
        memory=ground.memory,
        managers=parts.managers,
        episode_log=ground.episode_log,
        checkpoints=parts.checkpoints,
        models=ground.models,
        knowledge=knowledge,
    )
