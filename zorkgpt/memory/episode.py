"""The running episode, its current turn, and its session file."""

import json
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from zorkgpt.bounded import saved_json
from zorkgpt.errors import StateError, reason_of
from zorkgpt.files import write_file
from zorkgpt.memory.models import same_episode
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.synthesis import RecentTurn, SynthesisRequest
from zorkgpt.record.experience import Experience

SESSION = "ephemeral_session.json"
"""The name of the session file in a folder."""


class EpisodeState:
    """The running episode and its current turn.

    Args:
        game_state: Any object with some of `episode_id`, `turn_count`, `action_history`, `action_reasoning_history` and
            `experience`. None if turns are not counted.
    """

    def __init__(self, game_state: object) -> None:
        self._game_state = game_state
        self._experience = Experience()

    @property
    def experience(self) -> Experience:
        """What the actions of the episode led to."""
        experience = getattr(self._game_state, "experience", None)
        return experience if isinstance(experience, Experience) else self._experience

    @property
    def episode(self) -> int | str:
        episode = getattr(self._game_state, "episode_id", None)
        return episode if isinstance(episode, (int, str)) else 1

    @property
    def turn(self) -> int:
        """The current turn. 0 if turns are not counted."""
        turn = getattr(self._game_state, "turn_count", None)
        return turn if isinstance(turn, int) else 0

    def stamp(self) -> TurnStamp | None:
        """Return the current turn, with what is being recorded in it. None if turns are not counted."""
        state, recorded = _RECORDED.get()
        if state is self and recorded is not None:
            is_earlier = recorded.turn < self.turn
            return replace(recorded, turn=self.turn, taught_in=recorded.turn) if is_earlier else recorded
        return None if self._game_state is None else TurnStamp(self.episode, self.turn)

    def begin_recording(self, turn: SynthesisRequest) -> None:
        """Let `stamp` return this turn in this thread or background work until `end_recording`."""
        context = turn.context
        _RECORDED.set((self, TurnStamp.of(self.episode, context.turn, turn.action, turn.response, context.state)))

    def end_recording(self) -> None:
        _RECORDED.set((None, None))

    def history(self, window_turns: int) -> tuple[RecentTurn, ...]:
        """Return the last turns, oldest first."""
        names = ("action_history", "action_reasoning_history")
        actions, reasoning = (getattr(self._game_state, name, ()) for name in names)
        return recent_turns(actions, reasoning, window_turns)


_RECORDED: ContextVar[tuple[EpisodeState | None, TurnStamp | None]] = ContextVar("recorded", default=(None, None))
"""The turn that is being recorded, and its episode."""


def recent_turns(actions: Any, reasoning: Any, window: int) -> tuple[RecentTurn, ...]:
    """Return the last turns, oldest first.

    Args:
        actions: Objects or dicts with some of `turn, location_name, action, response`, or pairs of action and response.
        reasoning: Objects or dicts with `turn` and `reasoning`. They are matched by turn. For pairs, they are matched
            by `action`, last one first, and can have the name of the place in `location`.
    """
    notes = _last(reasoning, 2 * window)
    reasoning_by_turn = {_field(entry, "turn"): str(_field(entry, "reasoning") or "") for entry in notes}
    turns = []
    for entry in reversed(_last(actions, window)):
        is_pair = isinstance(entry, (tuple, list)) and len(entry) >= 2
        note = notes.pop() if is_pair and notes and _field(notes[-1], "action") == entry[0] else None
        turns.append(_from_pair(entry, note) if note is not None else _from_entry(entry, reasoning_by_turn))
    return tuple(reversed(turns))


def _from_pair(pair: Any, note: Any) -> RecentTurn:
    turn = _field(note, "turn")
    return RecentTurn(
        turn if isinstance(turn, int) else 0,
        str(_field(note, "location") or ""),
        str(pair[0]),
        str(pair[1]),
        str(_field(note, "reasoning") or ""),
    )


def _from_entry(entry: Any, reasoning_by_turn: Mapping[Any, str]) -> RecentTurn:
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
        str(_field(entry, "reasoning") or reasoning_by_turn.get(turn, "")),
    )


def _last(entries: Any, count: int) -> list[Any]:
    is_sequence = isinstance(entries, Iterable) and not isinstance(entries, (str, Mapping))
    return list(entries)[-count:] if is_sequence else []


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)


def write_session(path: Path, session: dict[str, Any]) -> None:
    """Write the state of an episode to a file, or into a folder.

    Raises:
        OSError, FileError: If the file can't be written.
    """
    path = path / SESSION if path.is_dir() else path
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(session, indent=1).encode())


def read_session(path: Path, episode: int | str) -> dict[str, Any]:
    """Return the state of this episode.

    Raises:
        OSError: If the file can't be read.
        StateError: If it is damaged or of another episode.
    """
    path = path / SESSION if path.is_dir() else path
    try:
        session = saved_json(path)
        is_ours = same_episode(session["episode"], episode) and session["learner"] and session["writer"]
        if not isinstance(session["experience"], list):
            raise TypeError("its experience is not a list")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError(f"{path} is not a saved session: {reason_of(error)}.") from error
    if not is_ours:
        raise StateError(f"{path} is of episode {session['episode']}, not of episode {episode}.")
    return dict(session)
