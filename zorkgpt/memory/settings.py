"""The settings of the memory, read from any configuration object."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zorkgpt.log import get_logger
from zorkgpt.memory.retrieval import Budget
from zorkgpt.run_folder import RUNS

log = get_logger(__name__)

DEFAULT_MODEL = "gpt-4o-mini"
"""Used if there is a model client but no configured model."""
MEMORY_FILE = "Memories.md"
DEFAULT_HISTORY_WINDOW = 3
_LONG_HISTORY_WINDOW = 10

_Value = TypeVar("_Value", bool, int, float, str)


@dataclass(frozen=True, slots=True)
class DeduplicationSettings:
    """The values of `[tool.zorkgpt.memory_deduplication]`."""

    enable: bool
    provider: str
    """"none" compares words only. "" also compares no words: only identical texts are duplicates."""
    similarity_threshold: float
    candidate_threshold: float
    sentence_transformer_model: str
    llm_embedding_model: str
    cache_embeddings: bool
    batch_size: int
    wait_for_embeddings: bool
    """Whether the first comparison waits until the model is loaded. If not, words are compared until then."""


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The values of `[tool.zorkgpt.memory]`, `simple_memory` and `memory_deduplication`."""

    path: Path | str
    """The memory file, or the address of a PostgreSQL database."""
    runs: Path
    """The folder with a folder for each episode."""
    budget: Budget
    debug_ephemeral: bool
    history_window: int
    model: str
    deduplication: DeduplicationSettings


def settings_of(config: object, *, provider: str = "", wait_for_embeddings: bool = True) -> MemorySettings:
    """Read the settings from attributes with the flat names. Missing or mistyped ones take their defaults.

    Args:
        config: Any object. `MemorySettings` are returned unchanged.
        provider: The embedding provider if `config` names none.
    """
    if isinstance(config, MemorySettings):
        return config
    window = getattr(config, "get_memory_history_window", None)
    models = (setting(config, key, "") for key in ("memory_model", "info_ext_model", "agent_model"))
    workdir = Path(setting(config, "zork_game_workdir", "game_files"))
    address = setting(config, "memory_address", "")
    return MemorySettings(
        path=address or workdir / setting(config, "memory_file", MEMORY_FILE),
        runs=workdir / RUNS,
        budget=Budget(
            tokens=setting(config, "max_tokens_per_location", 300),
            successes=setting(config, "max_successful_actions_shown", 5),
            failures=setting(config, "max_failed_actions_shown", 5),
            markers=setting(config, "show_persistence_markers", True),
        ),
        debug_ephemeral=setting(config, "debug_ephemeral", False),
        history_window=checked_window(window() if callable(window) else None),
        model=next(filter(None, models), DEFAULT_MODEL),
        deduplication=DeduplicationSettings(
            enable=setting(config, "enable_semantic_deduplication", True),
            provider=setting(config, "embedding_provider", "") or provider,
            similarity_threshold=setting(config, "deduplication_similarity_threshold", 0.85),
            candidate_threshold=setting(config, "candidate_threshold", 0.55),
            sentence_transformer_model=setting(config, "sentence_transformer_model", "all-MiniLM-L6-v2"),
            llm_embedding_model=setting(config, "llm_embedding_model", "text-embedding-3-small"),
            cache_embeddings=setting(config, "cache_embeddings", True),
            batch_size=setting(config, "embedding_batch_size", 32),
            wait_for_embeddings=wait_for_embeddings,
        ),
    )


def setting(config: object, name: str, default: _Value) -> _Value:
    """Return an attribute of any object, or the default if it is missing or has another type."""
    value: Any = getattr(config, name, default)
    if isinstance(default, str):
        return str(value) if isinstance(value, (str, Path)) else default
    return value if isinstance(value, type(default)) else default


def checked_window(window: object) -> int:
    """Return a valid number of earlier turns for a synthesis. Logs a warning for an unsuitable one."""
    if not isinstance(window, int) or isinstance(window, bool):
        return DEFAULT_HISTORY_WINDOW
    if window < 1:
        log.warning("memory_history_window is under 1", extra={"given": window, "used": DEFAULT_HISTORY_WINDOW})
        return DEFAULT_HISTORY_WINDOW
    if window > _LONG_HISTORY_WINDOW:
        log.warning("memory_history_window is over 10, so every prompt is long", extra={"given": window})
    return window
