"""The configuration of a run: typed sections, one for each table of `[tool.zorkgpt.*]`."""

import difflib
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from session.sections import (
    ContextSection,
    DeduplicationSection,
    FilesSection,
    GameplaySection,
    LLMSection,
    MemorySamplingSection,
    MemorySection,
    MemoryTriggersSection,
    OrchestratorSection,
    SamplingSection,
    SimpleMemorySection,
)
from zorkgpt.errors import ConfigurationError
from zorkgpt.runlog.story_folder import MARKER

log = logging.getLogger("zorkgpt.configuration")

ENV_PREFIX = "ZORKGPT_"
LOG_FILE = "zorkgpt.log"
"""In the working directory: what went on."""

# Names that stand in a table under a shorter one, because alone they would say too little.
_RENAMED = {
    "enable_semantic_deduplication": ("memory_deduplication", "enable"),
    "deduplication_similarity_threshold": ("memory_deduplication", "similarity_threshold"),
    "embedding_provider": ("memory_deduplication", "provider"),
    "embedding_batch_size": ("memory_deduplication", "batch_size"),
    "simple_memory_enabled": ("simple_memory", "enabled"),
}
# Tables whose keys repeat in other tables: no flat names, but for these.
_SAMPLING_TABLES = ("agent_sampling", "critic_sampling", "extractor_sampling", "memory_sampling", "analysis_sampling")
_DEFAULT_HISTORY_WINDOW = 3


class _Tables(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: MemorySection = MemorySection()
    simple_memory: SimpleMemorySection = SimpleMemorySection()
    memory_triggers: MemoryTriggersSection = MemoryTriggersSection()
    memory_sampling: MemorySamplingSection = MemorySamplingSection()
    agent_sampling: SamplingSection = SamplingSection()
    critic_sampling: SamplingSection = SamplingSection()
    extractor_sampling: SamplingSection = SamplingSection()
    analysis_sampling: SamplingSection = SamplingSection()
    llm: LLMSection = LLMSection()
    gameplay: GameplaySection = GameplaySection()
    context: ContextSection = ContextSection()
    orchestrator: OrchestratorSection = OrchestratorSection()
    files: FilesSection = FilesSection()
    memory_deduplication: DeduplicationSection = DeduplicationSection()


def _flat_names() -> dict[str, tuple[str, str]]:
    flat = dict(_RENAMED) | {"memory_history_window": ("memory_sampling", "memory_history_window")}
    taken = set(_RENAMED.values())
    for table, field in _Tables.model_fields.items():
        if table not in _SAMPLING_TABLES:
            keys = field.annotation.model_fields
            flat |= {key: (table, key) for key in keys if (table, key) not in taken}
    return flat


FLAT_NAMES = _flat_names()
"""A flat name of a setting → its table and key."""


class GameConfiguration(_Tables):
    """Every setting of a run.

    Built from sections (`memory={"debug_ephemeral": True}`), from flat names (`debug_ephemeral=True`), or both; every
    setting can be read by its flat name too.

    Raises:
        ConfigurationError: a key is unknown or a value is wrong; the message names the key.
    """

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise ConfigurationError(_explain(error)) from None

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, given: dict[str, Any]) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for name, value in given.items():
            if name in _Tables.model_fields:
                tables[name] = _as_dict(name, value) | tables.get(name, {})
        for name, value in given.items():
            if name in FLAT_NAMES:
                table, key = FLAT_NAMES[name]
                tables.setdefault(table, {})[key] = value
            elif name not in _Tables.model_fields:
                tables[name] = value
        return tables

    @model_validator(mode="after")
    def _one_use_of_a_file(self) -> "GameConfiguration":
        names = [self.simple_memory.memory_file, *(getattr(self.files, field) for field in FilesSection.model_fields)]
        if MARKER in (name.casefold() for name in names):
            raise ConfigurationError(f"No file can be named {MARKER!r}, which says whose the folder is.")
        twice = {name for name in names if sum(name.casefold() == other.casefold() for other in names) > 1}
        if twice:
            raise ConfigurationError(
                f"Two files of the working directory are named {min(twice)!r}. Give each of memory_file, "
                f"{', '.join(FilesSection.model_fields)} a name of its own."
            )
        return self

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "GameConfiguration":
        """From a dict of sections, of flat names, or of both."""
        return cls(**config)

    @classmethod
    def load(
        cls,
        *,
        pyproject: Path | None = None,
        environment: Mapping[str, str] | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> "GameConfiguration":
        """The tables of pyproject.toml, overridden by the environment, overridden by `arguments`.

        Args:
            pyproject: which file; by default the one in the current directory, if there is one.
            environment: `ZORKGPT_<TABLE>__<KEY>` and the OPENAI_* fallbacks; by default that of the process.
            arguments: flat names or sections; those that are None are left out.
        """
        environment = os.environ if environment is None else environment
        tables = _tables_of(pyproject or Path("pyproject.toml"), required=pyproject is not None)
        _overlay(tables, _settings_in(environment))
        flat = {name: value for name, value in (arguments or {}).items() if value is not None}
        for name, value in flat.items():
            table, key = FLAT_NAMES.get(name, (None, None))
            _overlay(tables, {table: {key: value}} if table else {name: value})
        llm = tables.setdefault("llm", {})
        for key, fallback in (("client_api_key", "OPENAI_API_KEY"), ("client_base_url", "OPENAI_BASE_URL")):
            if isinstance(llm, dict) and not llm.get(key) and environment.get(fallback):
                llm[key] = environment[fallback]
        return cls(**tables)

    def __getattr__(self, name: str) -> Any:
        if name in FLAT_NAMES:
            table, key = FLAT_NAMES[name]
            return getattr(getattr(self, table), key)
        return super().__getattr__(name)  # type: ignore[misc]

    @property
    def kept_files(self) -> tuple[str, ...]:
        """Names of what a story's folder holds beside its episodes."""
        files = self.files
        kept = (files.map_state_file, files.objectives_file, files.state_export_file, files.knowledge_file)
        return (self.simple_memory.memory_file, *kept, LOG_FILE)

    @property
    def names_workdir(self) -> bool:
        """Whether the working directory was configured or asked for, and is not the default."""
        return "zork_game_workdir" in self.gameplay.model_fields_set

    def with_workdir(self, workdir: Path) -> "GameConfiguration":
        """The same in another working directory."""
        gameplay = self.gameplay.model_copy(update={"zork_game_workdir": str(workdir)})
        return self.model_copy(update={"gameplay": gameplay})

    def get_memory_history_window(self) -> int:
        """Turns of history that synthesis sees: under 1 becomes 3, over 10 is allowed, both with a warning."""
        window = self.memory_sampling.memory_history_window
        if window < 1:
            log.warning("memory_history_window is under 1, using %d", _DEFAULT_HISTORY_WINDOW, extra={"value": window})
            return _DEFAULT_HISTORY_WINDOW
        if window > 10:
            log.warning("memory_history_window is over 10, prompts will be long", extra={"value": window})
        return window


def _as_dict(table: str, value: Any) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return dict(value)
    raise ConfigurationError(f"[{table}] is {value!r}: it must be a table of settings.")


def _tables_of(path: Path, *, required: bool) -> dict[str, Any]:
    import tomllib

    if not path.is_file():
        if required:
            raise ConfigurationError(f"No configuration file at {path}.")
        return {}
    try:
        with path.open("rb") as file:
            return tomllib.load(file).get("tool", {}).get("zorkgpt", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path} can't be read as TOML: {error}") from None


def _settings_in(environment: Mapping[str, str]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for variable, value in environment.items():
        name = variable.upper()
        if name.startswith(ENV_PREFIX) and "__" in name:
            table, key = name.removeprefix(ENV_PREFIX).lower().split("__", 1)
            if table not in _Tables.model_fields or key not in _Tables.model_fields[table].annotation.model_fields:
                raise ConfigurationError(f"{variable} names no setting.{_hint(f'{table}.{key}')}")
            tables.setdefault(table, {})[key] = value
        elif meant := _meant_by(name):
            raise ConfigurationError(f"{variable} names no setting. Did you mean {meant}, with two underscores?")
    return tables


def _meant_by(name: str) -> str | None:
    """The variable of a setting that this one would be, if table and key stood apart."""
    for table, field in _Tables.model_fields.items():
        for key in field.annotation.model_fields:
            if name == f"{ENV_PREFIX}{table}_{key}".upper():
                return f"{ENV_PREFIX}{table}__{key}".upper()
    return None


def _overlay(tables: dict[str, Any], upper: Mapping[str, Any]) -> None:
    for table, keys in upper.items():
        if isinstance(keys, Mapping) and isinstance(tables.get(table), dict):
            tables[table] = tables[table] | dict(keys)
        else:
            tables[table] = dict(keys) if isinstance(keys, Mapping) else keys


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        name = ".".join(str(part) for part in problem["loc"]) or "configuration"
        if problem["type"] == "extra_forbidden":
            lines.append(f"Unknown setting {name!r}.{_hint(name)}")
        else:
            value = "" if "key" in name.lower() else f" is {problem['input']!r}"
            lines.append(f"Setting {name!r}{value}: {problem['msg'].removeprefix('Value error, ')}.")
    return "\n".join(lines)


def _hint(name: str) -> str:
    known = [f"{table}.{key}" for table, field in _Tables.model_fields.items() for key in field.annotation.model_fields]
    known += [*_Tables.model_fields, *FLAT_NAMES]
    begun = [longer for longer in known if longer.startswith(name)]
    close = begun or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else " See docs/configuration.md for the settings there are."
