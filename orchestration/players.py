"""The players of a run."""

from collections.abc import Callable, Sequence
from functools import partial

from orchestration.player_choice import HOW_TO_NAME_ONE
from orchestration.services import Services
from zorkgpt.agent import Agent
from zorkgpt.context.sections import Budgets
from zorkgpt.delegating_players import StandIn
from zorkgpt.errors import ConfigurationError
from zorkgpt.memory.models import Memory
from zorkgpt.offline.behaviors import BEHAVIORS, Behavior, follow_line
from zorkgpt.offline.explorer import OfflineExplorer
from zorkgpt.offline.offers import OFFERS
from zorkgpt.offline.view import OfferSource
from zorkgpt.offline.walkthrough import WalkthroughPlayer
from zorkgpt.player import Player
from zorkgpt.runlog.events import PlayerKind


def _model_player(services: Services, *, plain: bool = False) -> Player:
    if services.llm is None:
        raise ConfigurationError(f"No model is configured. {HOW_TO_NAME_ONE}")
    agent = Agent(services.llm, Budgets(services.config.history_tokens), plain=plain, tools=services.tools)
    if not services.options.stand_in:
        return agent
    # The model decides whether to follow the best line.
    return StandIn(agent, rules_player(services, [each for each in BEHAVIORS if each is not follow_line]))


def rules_player(
    services: Services, behaviors: Sequence[Behavior] = BEHAVIORS, offers: Sequence[OfferSource] = OFFERS
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


def _walkthrough_player(services: Services) -> Player:
    if services.options.walkthrough is None:
        raise ConfigurationError("The walkthrough player needs a file of commands. Pass one with --walkthrough.")
    return WalkthroughPlayer.from_file(services.options.walkthrough)


def _person(services: Services) -> Player:
    if services.options.person is None:
        raise ConfigurationError("The human player needs a terminal. Choose another player with --player.")
    return services.options.person()


PLAYERS: dict[str, Callable[[Services], Player]] = {
    PlayerKind.MODEL: _model_player,
    PlayerKind.PLAIN: partial(_model_player, plain=True),
    PlayerKind.RULES: rules_player,
    PlayerKind.WALKTHROUGH: _walkthrough_player,
    PlayerKind.HUMAN: _person,
}
"""A factory for each player. `--player` takes these names and `auto`."""
