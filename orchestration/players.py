"""The players, and the choice of one for a run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from session.game_configuration import GameConfiguration, model_settings
from zorkgpt.agent import Agent
from zorkgpt.delegating_players import StandIn
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.client import ModelStatus
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.memory.losses import LossKind, loss_in
from zorkgpt.memory.models import Memory
from zorkgpt.offline.behaviors import BEHAVIORS, Behavior
from zorkgpt.offline.experience import PastEpisodes, past_episodes
from zorkgpt.offline.explorer import OfflineExplorer, Past
from zorkgpt.offline.offers import OFFERS, Offer
from zorkgpt.offline.outcomes import remembered_outcome
from zorkgpt.offline.scoring_plan import ScoringStep
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
    agent = Agent(services.llm, services.config.context, plain=plain, tools=services.tools)
    return StandIn(agent, rules_player(services)) if services.options.stand_in else agent


def rules_player(
    services: "Services", behaviors: Sequence[Behavior] = BEHAVIORS, offers: Sequence[Offer] = OFFERS
) -> Player:
    """Return the rules player, by default with all behaviors and kinds of actions."""
    return OfflineExplorer(
        services.map.graph,
        services.recall,
        services.game if services.config.enable_critic else None,
        _past(services),
        services.options.seed,
        behaviors=behaviors,
        offers=offers,
    )


def _past(services: "Services") -> Past:
    """Return a function that reads what earlier episodes showed, without vetoed scoring steps."""
    memory, state = services.memory, services.state
    if memory is None:
        return lambda: PastEpisodes(state.experience)

    def is_vetoed(step: ScoringStep) -> bool:
        memories = memory.memory_cache.get(step.place, ())
        outcomes = (remembered_outcome(each) for each in memories if each.vetoed)
        return any(outcome is not None and outcome[0] == step.action for outcome in outcomes)

    def past() -> PastEpisodes:
        trails = services.trails.before(state.episode_id)
        deadline = _deadline(located.memory for located in memory.all_memories())
        return past_episodes(state.experience, trails, is_vetoed=is_vetoed, deadline=deadline)

    return past


def _deadline(memories: Iterable[Memory]) -> int | None:
    """Return the earliest move at which a clock killed the player. None if there was none."""
    valid = (memory for memory in memories if memory.superseded_by is None and not memory.vetoed)
    losses = (loss_in(memory.outcome) for memory in valid)
    deadlines = (loss[1] for loss in losses if loss and loss[0] is LossKind.DEATH and loss[1])
    return min(deadlines, default=None)


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
