"""The state of a running episode, for resuming it. Its ephemeral memories are in the journal."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zorkgpt.errors import FileError, reason_of
from zorkgpt.files import write_file
from zorkgpt.log import get_logger
from zorkgpt.memory.models import PlaceKey, same_episode
from zorkgpt.memory.places import parse_place, render_place

log = get_logger(__name__)

FILE_NAME = "ephemeral_session.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class EpisodeSnapshot:
    """What a resumed episode begins with."""

    episode: int | str
    first_turns: dict[PlaceKey, int]
    """At which turn each location visited so far had its first one."""
    under_way: dict[str, Any]
    """Other state of the episode: the learner's under "recorder", the writer's under "keeper"."""


def to_dict(snapshot: EpisodeSnapshot) -> dict[str, Any]:
    """Return plain values for JSON."""
    return {
        "version": _VERSION,
        "episode": snapshot.episode,
        "first_turns": {render_place(place): turn for place, turn in snapshot.first_turns.items()},
        "under_way": snapshot.under_way,
    }


def from_dict(content: dict[str, Any]) -> EpisodeSnapshot:
    """Return the snapshot that `to_dict` gave.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it gave other values.
    """
    return EpisodeSnapshot(
        content["episode"],
        {parse_place(place): int(turn) for place, turn in content["first_turns"].items()},
        content["under_way"],
    )


def save(path: Path, snapshot: EpisodeSnapshot) -> bool:
    """Write the snapshot, whole or not at all. False: it could not be written."""
    path = path / FILE_NAME if path.is_dir() else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(to_dict(snapshot), indent=1).encode())
    except (OSError, FileError) as error:
        log.warning("session not saved", extra={"path": str(path), "error": str(error)})
        return False
    return True


def load(path: Path, episode: int | str) -> EpisodeSnapshot | None:
    """Return the snapshot of this episode; None if there is none, it is damaged, or another's. The file stays."""
    path = path / FILE_NAME if path.is_dir() else path
    try:
        content = json.loads(path.read_bytes())
        if not same_episode(content["episode"], episode):
            extra = {"path": str(path), "its": content["episode"], "ours": episode}
            log.warning("session of another episode not restored", extra=extra)
            return None
        return from_dict(content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        log.warning("session not restored", extra={"path": str(path), "error": reason_of(error)})
        return None
