"""The configured server as a source of vectors, connected to on first use."""

from functools import cached_property
from typing import Any

from session.game_configuration import GameConfiguration


class EmbeddingServer:
    """What an OpenAI client offers of embeddings, and nothing else."""

    def __init__(self, config: GameConfiguration) -> None:
        self._config = config

    @cached_property
    def embeddings(self) -> Any:
        from openai import OpenAI

        key = self._config.client_api_key
        return OpenAI(
            base_url=self._config.client_base_url, api_key=key.get_secret_value() if key else "none", timeout=30
        ).embeddings
