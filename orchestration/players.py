"""The players, and the choice of one for a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from session.game_configuration import GameConfiguration, model_settings
from zorkgpt.agent import Agent
from zorkgpt.context.sections import Budgets
from zorkgpt.delegating_players import StandIn
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.client import ModelStatus
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.memory.models import Memory
from zorkgpt.offline.behaviors import BEHAVIORS, Behavior, follow_line
from zorkgpt.offline.explorer import OfflineExplorer
from zorkgpt.offline.offers import OFFERS
from zorkgpt.offline.view import OfferSource
from zorkgpt.offline.walkthrough import WalkthroughPlayer
from zorkgpt.player import Player
from zorkgpt.runlog.events import PlayerKind

if TYPE_CHECKING:
    from orchestration.services import Services

_WITH_MODEL = (PlayerKind.MODEL, PlayerKind.PLAIN)
_HOW_TO_NAME_ONE = "Name one with --model, or in pyproject.toml as agent_model under [tool.zorkgpt.llm]."


@dataclass(frozen=True, slots=True)
class PlayerChoice:
    """The player of a run, and the reason for the choice."""

    kind: str
    """A key of `PLAYERS`."""
    why: str
    models: LLMSettings | None
    """The models of all roles. None for rules."""
    servers: tuple[ModelStatus, ...] = ()
    """The servers of the models, as checked at the start."""

    @property
    def agent_model(self) -> str | None:
        """The name of the model that plays. None for other players."""
        return self.models.of(Role.AGENT).model if self.kind in _WITH_MODEL and self.models else None


def choose_player(asked: str, config: GameConfiguration) -> PlayerChoice:
    """Choose the player.

    Args:
        asked: A key of `PLAYERS`, or `auto` for the configured model or else the rules.

    Raises:
        ConfigurationError: If `asked` needs a model and none is named, or a server is named without a model.
    """
    models = model_settings(config)
    if models is None and config.llm.client_base_url and asked in ("auto", *_WITH_MODEL):
        raise ConfigurationError(
            f"The server {config.llm.client_base_url} is configured without a model. {_HOW_TO_NAME_ONE}"
        )
    if asked == "auto":
        if models is not None:
            return PlayerChoice(PlayerKind.MODEL, f"the model {models.of(Role.AGENT).model} is configured", models)
        key = "a key is set, but no model is named" if config.llm.client_api_key else "no model is configured"
        return PlayerChoice(PlayerKind.RULES, key, None)
    if asked in _WITH_MODEL and models is None:
        raise ConfigurationError(f"No model is configured. {_HOW_TO_NAME_ONE}")
    return PlayerChoice(asked, f"--player {asked}", models if asked != PlayerKind.RULES else None)


def _model_player(services: "Services", *, plain: bool = False) -> Player:
    if services.llm is None:
        raise ConfigurationError(f"No model is configured. {_HOW_TO_NAME_ONE}")
    agent = Agent(services.llm, Budgets(services.config.history_tokens), plain=plain, tools=services.tools)
    if not services.options.stand_in:
        return agent
    # The model decides whether to follow the best line.
    return StandIn(agent, rules_player(services, [each for each in BEHAVIORS if each is not follow_line]))


def rules_player(
    services: "Services", behaviors: Sequence[Behavior] = BEHAVIORS, offers: Sequence[OfferSource] = OFFERS
) -> Player:
    """Return the rules player, by default with all behaviors and kinds of actions."""
    memory = services.memory

    def hidden_at(place: int) -> list[Memory]:
        return [each for each in memory.memory_cache.get(place, ()) if each.vetoed] if memory else []

    return OfflineExplorer(
        services.map.graph,
        lambda: services.state.experience,
        services.recall,
        services.game if services.config.enable_critic else None,
        services.options.seed,
        hidden_at=hidden_at,
        behaviors=behaviors,
        offers=offers,
    )


def _walkthrough_player(services: "Services") -> Player:
    if services.options.walkthrough is None:
        raise ConfigurationError("The walkthrough player needs a file of commands. Pass one with --walkthrough.")
    return WalkthroughPlayer.from_file(services.options.walkthrough)


def _person(services: "Services") -> Player:
    if services.options.person is None:
        raise ConfigurationError("The human player needs a terminal. Choose another player with --player.")
    return services.options.person()


PLAYERS: dict[str, Callable[["Services"], Player]] = {
    PlayerKind.MODEL: _model_player,
    PlayerKind.PLAIN: partial(_model_player, plain=True),
    PlayerKind.RULES: rules_player,
    PlayerKind.WALKTHROUGH: _walkthrough_player,
    PlayerKind.HUMAN: _person,
}
"""A factory for each player. `--player` takes these names and `auto`."""
