"""The choice of a player for a run, with the reason."""

from dataclasses import dataclass

from session.game_configuration import GameConfiguration, model_settings
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.client import ModelStatus
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.runlog.events import PlayerKind

_WITH_MODEL = (PlayerKind.MODEL, PlayerKind.PLAIN)
HOW_TO_NAME_ONE = "Name one with --model, or in pyproject.toml as agent_model under [tool.zorkgpt.llm]."


@dataclass(frozen=True, slots=True)
class PlayerChoice:
    """The player of a run, and the reason for the choice."""

    kind: str
    """A key of `players.PLAYERS`."""
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
        asked: A key of `players.PLAYERS`, or `auto` for the configured model or else the rules.

    Raises:
        ConfigurationError: If `asked` needs a model and none is named, or a server is named without a model.
    """
    models = model_settings(config)
    if models is None and config.llm.client_base_url and asked in ("auto", *_WITH_MODEL):
        raise ConfigurationError(
            f"The server {config.llm.client_base_url} is configured without a model. {HOW_TO_NAME_ONE}"
        )
    if asked == "auto":
        if models is not None:
            return PlayerChoice(PlayerKind.MODEL, f"the model {models.of(Role.AGENT).model} is configured", models)
        key = "a key is set, but no model is named" if config.llm.client_api_key else "no model is configured"
        return PlayerChoice(PlayerKind.RULES, key, None)
    if asked in _WITH_MODEL and models is None:
        raise ConfigurationError(f"No model is configured. {HOW_TO_NAME_ONE}")
    return PlayerChoice(asked, f"--player {asked}", models if asked != PlayerKind.RULES else None)
