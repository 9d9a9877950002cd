"""Read the configuration from arguments, the environment and a TOML file, in this order of precedence."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from session.game_configuration import GameConfiguration, similar_names, warn_of_unknown, without_unknown
from session.sections import SECTIONS
from zorkgpt.errors import ConfigurationError
from zorkgpt.extras import importing

with importing("cli"):
    from pydantic_settings import (
        BaseSettings,
        EnvSettingsSource,
        InitSettingsSource,
        PydanticBaseSettingsSource,
        SettingsConfigDict,
    )

ENV_PREFIX = "ZORKGPT_"
_DELIMITER = "__"
_FALLBACKS = {"client_api_key": "OPENAI_API_KEY", "client_base_url": "OPENAI_BASE_URL"}


def read_configuration(
    pyproject: Path | None, environment: Mapping[str, str], arguments: Mapping[str, Any]
) -> GameConfiguration:
    """Merge all sources, key by key.

    Args:
        pyproject: None for the file in the current directory, if it exists.
        arguments: Flat names, tables, or both.

    Raises:
        ConfigurationError: If a value is invalid, an argument is unknown, or the file is missing or not TOML.
    """
    tables = _tables(pyproject)
    variables = _setting_variables(environment)
    fallbacks = {key: environment[name] for key, name in _FALLBACKS.items() if environment.get(name)}

    class MergedConfiguration(BaseSettings, GameConfiguration):
        # The only JSON setting is decoded by its section, which has a better error message.
        model_config = SettingsConfigDict(
            enable_decoding=False,
            env_prefix=ENV_PREFIX,
            env_nested_delimiter=_DELIMITER,
        )

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (
                init_settings,
                _Environment(settings_cls, variables),
                InitSettingsSource(settings_cls, tables),
                InitSettingsSource(settings_cls, {"llm": fallbacks} if fallbacks else {}),
            )

    merged = MergedConfiguration(**arguments)
    return GameConfiguration(**{table: getattr(merged, table) for table in merged.model_fields_set})


def _tables(pyproject: Path | None) -> dict[str, Any]:
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
    return without_unknown(table, f"[tool.zorkgpt] of {path}")


class _Environment(EnvSettingsSource):
    """Reads variables from a mapping instead of the environment of the process."""

    def __init__(self, settings_cls: type[BaseSettings], variables: Mapping[str, str]) -> None:
        self._variables = variables
        super().__init__(settings_cls)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._variables.items()}


def _setting_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of known settings, and warn about similar names that are unknown."""
    names = {
        f"{ENV_PREFIX}{table}{_DELIMITER}{key}".upper(): f"{ENV_PREFIX}{table}_{key}".upper()
        for table, section in SECTIONS.items()
        for key in section.model_fields
    }
    misspelled = {wrong: right for right, wrong in names.items()}
    settings = {}
    unknown = {}
    for variable, value in environment.items():
        name = variable.upper()
        if name in names:
            settings[variable] = value
        elif name.startswith(ENV_PREFIX) and _DELIMITER in name:
            unknown[variable] = similar_names(name.removeprefix(ENV_PREFIX).lower().replace(_DELIMITER, ".", 1))
        elif name in misspelled:
            unknown[variable] = f" Did you mean {misspelled[name]}, with two underscores?"
    warn_of_unknown("the environment", unknown)
    return settings
