"""The configuration of a run: every setting of `[tool.zorkgpt.*]`, in sections and by flat names."""

import difflib
import logging
import os
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ValidationError, model_validator

from session.sections import SECTIONS, LLMSection, SamplingSection, Tables
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings, RoleSettings
from zorkgpt.memory.settings import checked_window
from zorkgpt.run_folder import FIXED_NAMES, KNOWLEDGE_FILE

log = logging.getLogger("zorkgpt.configuration")

LOG_FILE = "zorkgpt.log"
"""Name of the program's log in the working directory."""
_PREFIX = "ZORKGPT_"
_DELIMITER = "__"
_FALLBACKS = {"client_api_key": "OPENAI_API_KEY", "client_base_url": "OPENAI_BASE_URL"}

# Settings whose key alone would be unclear as a flat name.
_RENAMED = {
    "enable_semantic_deduplication": ("memory_deduplication", "enable"),
    "deduplication_similarity_threshold": ("memory_deduplication", "similarity_threshold"),
    "embedding_provider": ("memory_deduplication", "provider"),
    "embedding_batch_size": ("memory_deduplication", "batch_size"),
    "simple_memory_enabled": ("simple_memory", "enabled"),
    "telemetry_enabled": ("telemetry", "enabled"),
    "telemetry_content": ("telemetry", "content"),
}


def _flat_names() -> dict[str, tuple[str, str]]:
    # The sampling tables all have the same keys, so those have no flat names.
    flat = _RENAMED | {"memory_history_window": ("memory_sampling", "memory_history_window")}
    for table, section in SECTIONS.items():
        if not issubclass(section, SamplingSection):
            names = ((table, key) for key in section.model_fields)
            flat |= {name[1]: name for name in names if name not in _RENAMED.values()}
    return flat


FLAT_NAMES = _flat_names()
"""The table and the key of each flat name."""


class GameConfiguration(Tables):
    """Every setting of a run.

    Accepts sections (`memory={"debug_ephemeral": True}`), flat names (`debug_ephemeral=True`), or both. Every setting
    can be read by its flat name.

    Raises:
        ConfigurationError: If a keyword is unknown or a value is invalid. The message names the setting. `from_config`
            and `load` read files that other programs may have written, so they ignore unknown names with a warning.
    """

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise ConfigurationError(_explain(error)) from None

    @model_validator(mode="before")
    @classmethod
    def _flat_names_into_tables(cls, given: dict[str, Any]) -> dict[str, Any]:
        return _in_tables(given)

    @model_validator(mode="after")
    def _one_use_of_a_file(self) -> Self:
        files = self.files.model_dump()
        names = [self.simple_memory.memory_file, *files.values()]
        counts = Counter(name.casefold() for name in (*names, LOG_FILE, *FIXED_NAMES))
        if shared := [name for name in names if counts[name.casefold()] > 1]:
            raise ConfigurationError(
                f"Two files of the working directory are named {min(shared)!r}. Give memory_file, {', '.join(files)} "
                "different names."
            )
        return self

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "GameConfiguration":
        """Make a configuration from a dict of sections, flat names, or both. Unknown names are ignored with a warning.

        Raises:
            ConfigurationError: If a value is invalid.
        """
        return cls(**_without_unknown(config, "the configuration"))

    @classmethod
    def load(
        cls,
        *,
        pyproject: Path | None = None,
        environment: Mapping[str, str] | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> "GameConfiguration":
        """Read the tables of pyproject.toml, overridden by the environment, overridden by `arguments`.

        Unknown names in the file or the environment are ignored with a warning.

        Args:
            pyproject: The file. Defaults to the one in the current directory, if it exists.
            environment: `ZORKGPT_<TABLE>__<KEY>` and the OPENAI_* fallbacks. Defaults to the process's environment.
            arguments: Flat names or sections. None values are ignored.

        Raises:
            ConfigurationError: If a value is invalid, an argument is unknown, or the file is missing or not TOML.
        """
        environment = os.environ if environment is None else environment
        given = {name: value for name, value in (arguments or {}).items() if value is not None}
        fallbacks = {key: environment[name] for key, name in _FALLBACKS.items() if environment.get(name)}
        merged: dict[str, Any] = {}
        for source in ({"llm": fallbacks}, _tables_in_file(pyproject), _tables_in_variables(environment), given):
            for name, value in _in_tables(source).items():
                merged[name] = merged.get(name, {}) | value if name in SECTIONS else value
        return cls(**merged)

    def __getattr__(self, name: str) -> Any:
        if name not in FLAT_NAMES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        table, key = FLAT_NAMES[name]
        return getattr(getattr(self, table), key)

    def memory_of_run(self, *, remember: bool = True) -> str:
        """Return the address of the memory, or the name of its file. The record of a run is there.

        A run without memory uses the file beside which a memory would be.
        """
        is_shared = remember and self.simple_memory.enabled
        return (self.simple_memory.memory_address if is_shared else None) or self.simple_memory.memory_file

    @property
    def kept_files(self) -> tuple[str, ...]:
        """The names of the files in a story's folder, in addition to its episodes."""
        files = self.files
        lasting = (files.map_state_file, files.state_export_file, KNOWLEDGE_FILE)
        return (self.simple_memory.memory_file, *lasting, LOG_FILE)

    @property
    def names_workdir(self) -> bool:
        """Whether the working directory was configured or is an argument, and is not the default."""
        return "zork_game_workdir" in self.gameplay.model_fields_set

    def with_workdir(self, workdir: Path) -> "GameConfiguration":
        """Return the same configuration with another working directory."""
        gameplay = self.gameplay.model_copy(update={"zork_game_workdir": str(workdir)})
        return self.model_copy(update={"gameplay": gameplay})

    def sampling(self, role: Role) -> SamplingSection:
        """Return the sampling parameters of a role."""
        section: SamplingSection = getattr(self, role.sampling)
        return section

    def get_memory_history_window(self) -> int:
        """Return how many turns synthesis sees: under 1 becomes 3, over 10 is allowed, both with a warning."""
        return checked_window(self.memory_sampling.memory_history_window)


def _in_tables(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by table, with the flat names in their tables. Unknown names are kept."""
    tables = {name: _as_dict(name, value) if name in SECTIONS else value for name, value in given.items()}
    for name in given.keys() & FLAT_NAMES.keys():
        table, key = FLAT_NAMES[name]
        tables[table] = tables.get(table, {}) | {key: tables.pop(name)}
    return tables


def _tables_in_file(pyproject: Path | None) -> dict[str, Any]:
    """Return the known settings of the table `tool.zorkgpt`. Empty if there is no file or table."""
    path = pyproject or Path("pyproject.toml")
    if not path.is_file():
        if pyproject is not None:
            raise ConfigurationError(f"No configuration file at {pyproject}.")
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("zorkgpt", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path} can't be read as TOML: {error}") from None
    return _without_unknown(table, f"[tool.zorkgpt] of {path}")


def _tables_in_variables(environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the settings in environment variables, and warn about unknown names that are similar to one."""
    names = {
        f"{_PREFIX}{table}{_DELIMITER}{key}".upper(): (table, key)
        for table, section in SECTIONS.items()
        for key in section.model_fields
    }
    misspelled = {name.replace(_DELIMITER, "_"): name for name in names}
    tables: dict[str, dict[str, str]] = {}
    unknown = {}
    for variable, value in environment.items():
        name = variable.upper()
        if name in names:
            table, key = names[name]
            tables.setdefault(table, {})[key] = value
        elif name.startswith(_PREFIX) and _DELIMITER in name:
            unknown[variable] = _similar_names(name.removeprefix(_PREFIX).lower().replace(_DELIMITER, ".", 1))
        elif name in misspelled:
            unknown[variable] = f" Did you mean {misspelled[name]}, with two underscores?"
    _warn_of_unknown("the environment", unknown)
    return tables


def _without_unknown(given: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the settings without unknown names, and warn about those once per process.

    Args:
        given: Sections, flat names, or both.
        source: Where the settings come from, for the warning.
    """
    known: dict[str, Any] = {}
    unknown: list[str] = []
    for name, value in given.items():
        if name in SECTIONS and isinstance(value, Mapping):
            keys = SECTIONS[name].model_fields
            known[name] = {key: setting for key, setting in value.items() if key in keys}
            unknown += [f"{name}.{key}" for key in value if key not in keys]
        elif name in SECTIONS or name in FLAT_NAMES:
            known[name] = value
        else:
            unknown.append(name)
    _warn_of_unknown(source, {name: _similar_names(name) for name in unknown})
    return known


def _warn_of_unknown(source: str, suggestions: Mapping[str, str]) -> None:
    """Warn once per process about each of these unknown names.

    Args:
        suggestions: Unknown name → a sentence that suggests another one.
    """
    new = [name for name in suggestions if (source, name) not in _WARNED]
    _WARNED.update((source, name) for name in new)
    if new:
        log.warning("Ignored in %s: %s", source, " ".join(f"{name!r} is unknown.{suggestions[name]}" for name in new))


_WARNED: set[tuple[str, str]] = set()
"""Sources and unknown names that were already reported, because a command reads its configuration several times."""


def _as_dict(table: str, value: Any) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return dict(value)
    raise ConfigurationError(f"[{table}] is {value!r}: it must be a table of settings.")


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        name = ".".join(str(part) for part in problem["loc"]) or "configuration"
        if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            lines.append(f"Unknown setting {name!r}.{_similar_names(name)}")
        else:
            value = "" if "key" in name.lower() or "memory_address" in name else f" is {problem['input']!r}"
            lines.append(f"Setting {name!r}{value}: {problem['msg'].removeprefix('Value error, ')}.")
    return "\n".join(lines)


def _similar_names(name: str) -> str:
    """Return a sentence that suggests the setting that was probably meant."""
    known = [f"{table}.{key}" for table, section in SECTIONS.items() for key in section.model_fields]
    known += [*SECTIONS, *FLAT_NAMES]
    longer = [setting for setting in known if setting.startswith(name)]
    close = longer or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else " See docs/configuration.md for all settings."


def model_settings(config: GameConfiguration) -> LLMSettings | None:
    """Return the models of all roles. None if no model is configured.

    The default for a role is the first configured model, beginning with the agent's.
    """
    llm = config.llm
    named = {role: _model_of(role, llm) for role in Role}
    default = next((model for model in named.values() if model[0]), None)
    if default is None:
        return None
    return LLMSettings(
        roles={role: _role_settings(config, role, named[role], default) for role in Role},
        base_url=llm.client_base_url,
        api_key=llm.client_api_key,
        timeout_s=llm.timeout_s,
        deadline_s=llm.deadline_s,
        max_failures=llm.max_failures,
        max_tokens=llm.max_tokens,
        max_cost=llm.max_cost,
        prices=llm.prices,
    )


def _model_of(role: Role, llm: LLMSection) -> tuple[str | None, str | None]:
    """Return the model and the base URL that are configured for a role."""
    base_url = None
    for prefix in role.settings:
        base_url = base_url or getattr(llm, f"{prefix}_base_url")
        if model := getattr(llm, f"{prefix}_model"):
            return model, base_url
    return None, base_url


def _role_settings(
    config: GameConfiguration, role: Role, named: tuple[str | None, str | None], default: tuple[str | None, str | None]
) -> RoleSettings:
    model, base_url = named
    sampling = config.sampling(role)
    return RoleSettings(
        model=model or default[0] or "",
        base_url=base_url or (None if model else default[1]),
        **{name: getattr(sampling, name) for name in SamplingSection.model_fields},
    )
