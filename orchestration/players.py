"""The players, and the choice among them by what was asked for and what is configured."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from session.game_configuration import GameConfiguration
from session.model_settings import model_settings
from zorkgpt.agent import Agent
from zorkgpt.errors import ConfigurationError
from zorkgpt.explore.trail_file import TrailReader
from zorkgpt.llm.client import ModelStatus
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.offline.experience import Experience
from zorkgpt.offline.explorer import Experiences, OfflineExplorer
from zorkgpt.offline.outcomes import remembered_outcome
from zorkgpt.offline.scoring_plan import ScoringStep
from zorkgpt.offline.walkthrough import WalkthroughPlayer
from zorkgpt.player import Player
from zorkgpt.stand_in import StandIn

if TYPE_CHECKING:
    from orchestration.services import Services

_HOW_TO_NAME_ONE = "Name one with --model, or in pyproject.toml as agent_model under [tool.zorkgpt.llm]."


@dataclass(frozen=True, slots=True)
class PlayerChoice:
    """The player that was asked for, or that fits the configuration."""

    kind: str
    """A key of `PLAYERS`."""
    why: str
    models: LLMSettings | None
    """The models that serve all roles; None if rules do."""
    servers: tuple[ModelStatus, ...] = ()
    """What a check of these models found."""


def choose_player(asked: str, config: GameConfiguration) -> PlayerChoice:
    """Return who plays: a key of `PLAYERS`, or `auto`. A model that is configured is never passed over in silence.

    Raises:
        ConfigurationError: A model was asked for, and none is named; or a server is named without a model.
    """
    models = model_settings(config)
    if models is None and config.llm.client_base_url and asked in ("auto", "model"):
        raise ConfigurationError(
            f"The server {config.llm.client_base_url} is configured, but no model. {_HOW_TO_NAME_ONE}"
        )
    if asked == "auto":
        if models is not None:
            return PlayerChoice("model", f"the model {models.of(Role.AGENT).model} is configured", models)
        key = "a key is set, but no model is named" if config.llm.client_api_key else "no model is configured"
        return PlayerChoice("rules", key, None)
    if asked == "model" and models is None:
        raise ConfigurationError(f"No model is configured. {_HOW_TO_NAME_ONE}")
    return PlayerChoice(asked, f"--player {asked}", models if asked != "rules" else None)


def _model_player(services: "Services") -> Player:
    if services.llm is None:
        raise ConfigurationError(f"No model is configured. {_HOW_TO_NAME_ONE}")
    agent = Agent(services.llm, services.config.context)
    return StandIn(agent, _rules_player(services)) if services.options.stand_in else agent


def _rules_player(services: "Services") -> Player:
    senses = services.game if services.config.enable_critic else None
    return OfflineExplorer(services.map.graph, services.recall, senses, _experience(services), services.options.seed)


def _experience(services: "Services") -> Experiences:
    """Return a function for what earlier episodes tell, without the scoring steps that a person has vetoed."""
    config, memory = services.config, services.memory
    if memory is None:
        return Experience
    reader = TrailReader(Path(config.zork_game_workdir), config.episode_log_file, services.game.story.sha256)

    def is_vetoed(step: ScoringStep) -> bool:
        vetoed = (remembered_outcome(one) for one in memory.memory_cache.get(step.place, ()) if one.vetoed)
        return any(known is not None and known[0] == step.action for known in vetoed)

    return lambda: Experience.of(reader.before(services.state.episode_id), is_vetoed, services.options.seed)


def _walkthrough_player(services: "Services") -> Player:
    if services.options.walkthrough is None:
        raise ConfigurationError("The walkthrough player needs a file of commands: name one with --walkthrough.")
    return WalkthroughPlayer.from_file(services.options.walkthrough)


def _person(services: "Services") -> Player:
    if services.options.person is None:
        raise ConfigurationError("There is nobody at a keyboard here: choose another player with --player.")
    return services.options.person()


PLAYERS: dict[str, Callable[["Services"], Player]] = {
    "model": _model_player,
    "rules": _rules_player,
    "walkthrough": _walkthrough_player,
    "human": _person,
}
"""What makes each player; `--player` takes these names, and `auto`."""
