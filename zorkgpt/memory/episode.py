"""The running episode: its turn, and its state in a file of its own."""

import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from zorkgpt.bounded import saved_json
from zorkgpt.errors import FileError, reason_of
from zorkgpt.files import write_file
from zorkgpt.log import get_logger
from zorkgpt.memory.models import same_episode
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.synthesis import RecentTurn

log = get_logger(__name__)

SESSION = "ephemeral_session.json"
"""The name of a session in a folder."""


class EpisodeState:
    """The running episode and its present turn.

    Args:
        game_state: anything with some of `episode_id`, `turn_count`, `action_history` and `action_reasoning_history`;
            None: nobody counts turns.
    """

    def __init__(self, game_state: object) -> None:
        self._game_state = game_state
        self._recording = threading.local()
        """Its `turn`: the one that this thread records."""

    @property
    def episode(self) -> int | str:
        found = getattr(self._game_state, "episode_id", 1)
        return found if isinstance(found, (int, str)) else 1

    @property
    def turn(self) -> int:
        """0 where nobody counts."""
        found = getattr(self._game_state, "turn_count", 0)
        return found if isinstance(found, int) else 0

    def stamp(self) -> TurnStamp | None:
        """Return the turn that this thread records; else the present one, if anybody counts."""
        recorded: TurnStamp | None = getattr(self._recording, "turn", None)
        if recorded is not None or self._game_state is None:
            return recorded
        return TurnStamp(self.episode, self.turn)

    def begin_recording(self, turn: TurnStamp) -> None:
        """Let `stamp` return this turn in this thread until `end_recording`."""
        self._recording.turn = turn

    def end_recording(self) -> None:
        self._recording.turn = None

    def history(self, window_turns: int) -> tuple[RecentTurn, ...]:
        """Return the last turns, oldest first."""
        names = ("action_history", "action_reasoning_history")
        actions, reasoning = (getattr(self._game_state, name, ()) for name in names)
        return recent_turns(actions, reasoning, window_turns)


def recent_turns(actions: Any, reasoning: Any, window: int) -> tuple[RecentTurn, ...]:
    """Return the last turns, oldest first.

    Args:
        actions: objects or dicts with `turn, location_name, action, response` or some of these, or pairs of
            action and response.
        reasoning: objects or dicts with `turn` and `reasoning`, matched by their turn; for pairs by `action`, from the
            last one back, and perhaps with `location`, the place's name.
    """
    notes = _last(reasoning, 2 * window)
    thoughts = {_field(entry, "turn"): str(_field(entry, "reasoning") or "") for entry in notes}
    found = []
    for entry in reversed(_last(actions, window)):
        pair = isinstance(entry, (tuple, list)) and len(entry) >= 2
        note = notes.pop() if pair and notes and _field(notes[-1], "action") == entry[0] else None
        found.append(_from_pair(entry, note) if note is not None else _from_entry(entry, thoughts))
    return tuple(reversed(found))


def _from_pair(pair: Any, note: Any) -> RecentTurn:
    turn = _field(note, "turn")
    return RecentTurn(
        turn if isinstance(turn, int) else 0,
        str(_field(note, "location") or ""),
        str(pair[0]),
        str(pair[1]),
        str(_field(note, "reasoning") or ""),
    )


def _from_entry(entry: Any, thoughts: Mapping[Any, str]) -> RecentTurn:
    if isinstance(entry, RecentTurn):
        return entry
    if isinstance(entry, (tuple, list)) and len(entry) >= 2:
        return RecentTurn(0, "", str(entry[0]), str(entry[1]))
    turn = _field(entry, "turn")
    return RecentTurn(
        turn if isinstance(turn, int) else 0,
        str(_field(entry, "location_name") or ""),
        str(_field(entry, "action") or ""),
        str(_field(entry, "response") or ""),
        str(_field(entry, "reasoning") or thoughts.get(turn, "")),
    )


def _last(entries: Any, count: int) -> list[Any]:
    if isinstance(entries, list):
        return entries[-count:]
    return list(entries)[-count:] if isinstance(entries, Iterable) and not isinstance(entries, (str, Mapping)) else []


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)


def write_session(path: Path, session: dict[str, Any]) -> bool:
    """Write the state of an episode to a file, or into a folder. False if that is not possible."""
    path = path / SESSION if path.is_dir() else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(session, indent=1).encode())
    except (OSError, FileError) as error:
        log.warning("session not saved", extra={"path": str(path), "error": str(error)})
        return False
    return True


def read_session(path: Path, episode: int | str) -> dict[str, Any] | None:
    """Return the state of this episode; None if the file is missing, damaged, or of another episode."""
    path = path / SESSION if path.is_dir() else path
    try:
        session = saved_json(path)
        if same_episode(session["episode"], episode) and session["learner"] and session["writer"]:
            return dict(session)
        extra = {"path": str(path), "its": session["episode"], "ours": episode}
        log.warning("session of another episode not restored", extra=extra)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("session not restored", extra={"path": str(path), "error": reason_of(error)})
    return None
