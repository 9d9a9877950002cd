"""Chooses the player of a run by what was asked for and what is configured."""

from dataclasses import dataclass
from typing import Literal

from session.game_configuration import GameConfiguration
from session.model_settings import model_settings
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings

PlayerKind = Literal["auto", "model", "offline", "walkthrough", "human"]
PLAYER_KINDS: tuple[PlayerKind, ...] = ("auto", "model", "offline", "walkthrough", "human")

_HOW_TO_NAME_ONE = "Name one with --model, or in pyproject.toml as agent_model under [tool.zorkgpt.llm]."


@dataclass(frozen=True, slots=True)
class PlayerChoice:
    """The player that was asked for, or that fits the configuration."""

    kind: Literal["model", "offline", "walkthrough", "human"]
    why: str
    models: LLMSettings | None
    """The models that serve all roles; None if rules do."""


def choose_player(asked: PlayerKind, config: GameConfiguration) -> PlayerChoice:
    """Return who plays. A model that is configured is never passed over in silence.

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
        return PlayerChoice("offline", f"{key}; this player follows rules, without a language model", None)
    if asked == "model" and models is None:
        raise ConfigurationError(f"No model is configured. {_HOW_TO_NAME_ONE}")
    return PlayerChoice(asked, f"--player {asked}", models if asked != "offline" else None)
