"""A client of the OpenAI SDK's shape, taken wherever an `LLM` is."""

from collections.abc import Callable
from typing import Any

from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import LLM
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.llm.usage import CallRecord


def as_llm(
    client: Any,
    *,
    model: str | None = None,
    settings: LLMSettings | None = None,
    on_call: Callable[[CallRecord], None] | None = None,
) -> LLM:
    """The client itself if it is an `LLM`, or an `LLM` over its `chat.completions.create(...)`.

    Args:
        model: asked for every role, where no `settings` say which model serves which.

    Raises:
        ConfigurationError: it is neither, or no model is named.
    """
    if hasattr(client, "complete"):
        return client
    if not hasattr(getattr(getattr(client, "chat", None), "completions", None), "create"):
        raise ConfigurationError(
            f"{type(client).__name__} is no model client: it has neither complete() nor chat.completions.create()."
        )
    if settings is None and not model:
        raise ConfigurationError(f"Say which model {type(client).__name__} is to ask: model=, or settings=.")
    if settings is None:
        key = getattr(client, "api_key", None)
        base_url = str(getattr(client, "base_url", "")) or type(client).__name__
        settings = LLMSettings.single(model, base_url=base_url, api_key=key if isinstance(key, str) else None)
    return LLMClient(settings, on_call=on_call, connect=lambda *_: client)
