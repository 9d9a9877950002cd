"""Where a run keeps what: as configured, or the usual places where only the library is installed."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


@dataclass(frozen=True)
class Places:
    """The working directory, and the names of files in it."""

    workdir: Path = Path("game_files")
    memory: str = "Memories.md"
    map: str = "map_state.json"
    state: str = "current_state.json"
    log: str = "episode_log.jsonl"

    @classmethod
    def of(cls, config: "GameConfiguration") -> "Places":
        return cls(
            workdir=Path(config.zork_game_workdir),
            memory=config.memory_file,
            map=config.map_state_file,
            state=config.state_export_file,
            log=config.episode_log_file,
        )


def places(workdir: Path | None = None) -> Places:
    """In this working directory; None: in the one that is configured.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    try:
        from session.game_configuration import GameConfiguration
    except ModuleNotFoundError:
        found = Places()
    else:
        found = Places.of(GameConfiguration.load())
    return found if workdir is None else replace(found, workdir=workdir)
