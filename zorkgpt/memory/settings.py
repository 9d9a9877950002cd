"""The settings of the memory, read from any configuration object."""

from dataclasses import asdict, dataclass
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
class MemorySettings:
    """The values of `[tool.zorkgpt.memory]`, `simple_memory` and `memory_deduplication`, by their flat names."""

    memory_address: str = ""
    """The address of a PostgreSQL database that is used instead of the file."""
    zork_game_workdir: str = "game_files"
    memory_file: str = MEMORY_FILE
    max_tokens_per_location: int = 300
    max_successful_actions_shown: int = 5
    max_failed_actions_shown: int = 5
    show_persistence_markers: bool = True
    debug_ephemeral: bool = False
    history_window: int = DEFAULT_HISTORY_WINDOW
    """From `get_memory_history_window()`."""
    memory_model: str = ""
    info_ext_model: str = ""
    agent_model: str = ""
    enable_semantic_deduplication: bool = True
    embedding_provider: str = ""
    """"none" compares words only. "" also compares no words: only identical texts are duplicates."""
    deduplication_similarity_threshold: float = 0.85
    candidate_threshold: float = 0.55
    sentence_transformer_model: str = "all-MiniLM-L6-v2"
    llm_embedding_model: str = "text-embedding-3-small"
    cache_embeddings: bool = True
    embedding_batch_size: int = 32
    wait_for_embeddings: bool = True
    """Whether the first comparison waits until the model is loaded. If not, words are compared until then."""

    @property
    def path(self) -> Path | str:
        """The memory file, or the address of a PostgreSQL database."""
        return self.memory_address or Path(self.zork_game_workdir) / self.memory_file

    @property
    def runs(self) -> Path:
        """The folder with a folder for each episode."""
        return Path(self.zork_game_workdir) / RUNS

    @property
    def budget(self) -> Budget:
        return Budget(
            tokens=self.max_tokens_per_location,
            successes=self.max_successful_actions_shown,
            failures=self.max_failed_actions_shown,
            markers=self.show_persistence_markers,
        )

    @property
    def model(self) -> str:
        return self.memory_model or self.info_ext_model or self.agent_model or DEFAULT_MODEL


def settings_of(config: object, *, provider: str = "", wait_for_embeddings: bool = True) -> MemorySettings:
    """Read the settings from attributes with the flat names. Missing or mistyped ones take their defaults.

    Args:
        config: Any object. `MemorySettings` are returned unchanged.
        provider: The embedding provider if `config` names none.
    """
    if isinstance(config, MemorySettings):
        return config
    values = {name: setting(config, name, default) for name, default in asdict(MemorySettings()).items()}
    window = getattr(config, "get_memory_history_window", None)
    values["history_window"] = checked_window(window() if callable(window) else None)
    values["embedding_provider"] = values["embedding_provider"] or provider
    return MemorySettings(**values | {"wait_for_embeddings": wait_for_embeddings})


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
