"""Create and connect the managers, the player and the critic of a run, with the services that `services.py` builds."""

from collections.abc import Sequence
from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.game import Game
from game_interface.story import find_story
from managers.base import BaseManager
from managers.best_line_manager import BestLineManager
from managers.checkpoint_manager import CheckpointManager
from managers.context_manager import ContextManager
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.extraction_manager import ExtractionManager
from managers.knowledge_manager import KnowledgeManager
from managers.objective_manager import ObjectiveManager, ObjectiveSources
from managers.progress_manager import ProgressManager
from managers.rejection_manager import RejectionManager
from managers.state_manager import StateManager
from orchestration.players import PLAYERS
from orchestration.services import RunOptions, Services, build_services, claim_workdir, prepare_workdir
from orchestration.turn import Managers
from orchestration.zork_orchestrator_v2 import Watcher, ZorkOrchestratorV2
from session.checkpoint import Run
from session.game_configuration import GameConfiguration
from zorkgpt import telemetry
from zorkgpt.context.view import PlayerView
from zorkgpt.critic import Critic
from zorkgpt.delegating_players import FollowingPlayer
from zorkgpt.knowledge.synthesis import ModelKnowledgeSynthesizer
from zorkgpt.llm.model import LLM
from zorkgpt.objectives.finder import ModelObjectiveFinder
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.runlog.events import PlayerKind

__all__ = ["RunOptions", "assemble", "claim_workdir", "prepare_workdir"]


def assemble(
    config: GameConfiguration,
    options: RunOptions,
    watchers: Sequence[Watcher] = (),
    *,
    llm: LLM | None = None,
    game: Game | None = None,
) -> ZorkOrchestratorV2:
    """Return an orchestrator that is ready for its first episode.

    Args:
        llm: Overrides the configured models for every role.
        game: The game to play, which is closed with the orchestrator. Defaults to the story of `options`.

    Raises:
        ZorkGPTError: If a part can't be created.
    """
    if config.telemetry.enabled:
        telemetry.switch_on(content=config.telemetry.content)
    if game is None:
        game = JerichoInterface(story=options.story or find_story(), seed=options.seed)
    services = build_services(config, options, llm, game)
    player = PLAYERS[options.choice.kind](services)
    best_line = _best_line(services)
    if best_line is not None:
        player = FollowingPlayer(player, best_line)
    knowledge = _knowledge(services)
    managers = _managers(services, knowledge, best_line)
    episodes = EpisodeSynthesizer(
        *services.for_manager("episodes"),
        managers=managers.in_order,
        episode_log=services.episode_log,
        memory=services.memory,
        events=services.events,
        earlier=services.earlier,
    )
    return ZorkOrchestratorV2(services, managers, episodes, player, _critic(services), watchers)


def _managers(services: Services, knowledge: KnowledgeManager | None, best_line: BestLineManager | None) -> Managers:
    objectives = _objectives(services, knowledge)
    extraction = ExtractionManager(
        *services.for_manager("extraction"),
        take_named_exits=services.synthesizer.take_named_exits if services.synthesizer else tuple,
    )
    progress = ProgressManager(*services.for_manager("progress"))
    context = _context(services, knowledge, objectives, best_line)
    export = StateManager(*services.for_manager("state"))
    rejections = RejectionManager(*services.for_manager("rejections"))
    always: tuple[BaseManager, ...] = (
        services.background,
        extraction,
        progress,
        services.map,
        objectives,
        rejections,
        context,
        export,
    )
    optional = (manager for manager in (services.models, knowledge, best_line) if manager is not None)
    return Managers(
        extraction=extraction,
        progress=progress,
        objectives=objectives,
        rejections=rejections,
        context=context,
        checkpoints=_checkpoints(services),
        in_order=(*always, *optional),
    )


def _knowledge(services: Services) -> KnowledgeManager | None:
    """Return the manager of the knowledge base. None without memory."""
    if services.knowledge is None:
        return None
    return KnowledgeManager(
        *services.for_manager("knowledge"),
        store=services.knowledge,
        synthesizer=ModelKnowledgeSynthesizer(services.background_llm)
        if services.background_llm
        else RuleKnowledgeSynthesizer(),
        episode_log=services.episode_log,
        background=services.background,
    )


def _objectives(services: Services, knowledge: KnowledgeManager | None) -> ObjectiveManager:
    return ObjectiveManager(
        *services.for_manager("objectives"),
        finder=ModelObjectiveFinder(services.background_llm)
        if services.background_llm and not services.options.is_plain
        else RuleObjectiveFinder(services.recall, services.game.get_object_attributes),
        sources=ObjectiveSources(services.map.graph, services.recall, knowledge.lines if knowledge else lambda now: ()),
        episode_log=services.episode_log,
        background=services.background,
        store=services.memory.store if services.memory else None,
    )


def _context(
    services: Services,
    knowledge: KnowledgeManager | None,
    objectives: ObjectiveManager,
    best_line: BestLineManager | None,
) -> ContextManager:
    return ContextManager(
        *services.for_manager("context"),
        view=PlayerView(
            graph=services.map.graph,
            recall=services.recall,
            memory=services.memory,
            game=services.game,
            goals=objectives,
            knowledge=knowledge.lines if knowledge else lambda now: (),
            best_line=best_line.ahead if best_line else lambda now: None,
            is_for_rules=services.is_deterministic,
        ),
        summarizer=services.background_llm if services.options.choice.kind == PlayerKind.MODEL else None,
        background=services.background,
        episode_log=services.episode_log,
    )


def _best_line(services: Services) -> BestLineManager | None:
    """Return the manager of the best line. None without memory, or if no program plays."""
    if services.memory is None or not services.player_decides:
        return None
    return BestLineManager(
        *services.for_manager("best_line"),
        game=services.game,
        trails=services.trails,
        seed=services.options.seed,
        graph=services.map.graph,
    )


def _critic(services: Services) -> Critic | None:
    """Return the critic. None if proposals are played without review."""
    config, language = services.config, services.game.language
    if not (config.enable_critic and services.player_decides) or services.options.is_plain:
        return None
    return Critic(language, services.llm, threshold=config.critic_rejection_threshold)


def _checkpoints(services: Services) -> CheckpointManager:
    options, story = services.options, services.game.story
    run = Run(
        story=story.sha256,
        story_path=str(Path(story.path).resolve()),
        title=story.title or Path(story.path).stem,
        seed=options.seed,
        player=options.choice.kind,
        remember=services.memory is not None,
        max_turns=services.config.max_turns_per_episode,
        walkthrough=str(options.walkthrough.resolve()) if options.walkthrough else None,
    )
    return CheckpointManager(
        services.config,
        services.state,
        events=services.events,
        run=run,
        game=services.game,
        background=services.background,
        memory=services.memory,
    )
