"""The ephemeral memories of an episode as they stood at the end of each turn, read back from its log."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from zorkgpt.memory.models import INVALIDATION_MARKER, Category, Memory, MemoryStatus, Persistence

_SIGNS = (b'"ephemeral"', b'"episode_ended"')
"""What stands in the lines that matter; no other line is read closer."""


class EpisodeMemories:
    """Of one episode; follows its log while it grows."""

    def __init__(self, log: Path, episode: int | str) -> None:
        self._log = log
        self._episode = episode
        self._read_bytes = 0
        self._states: dict[int, list[tuple[int, tuple[Memory, ...]]]] = {}
        """By location: turn, and the memories from then on."""
        self.ended: str | None = None
        """When, as ISO 8601; None: it has not, or nobody knows."""

    def refresh(self) -> None:
        """Read what was added since; a log that cannot be read holds nothing."""
        try:
            if self._log.stat().st_size < self._read_bytes:
                self._read_bytes, self.ended = 0, None
                self._states.clear()
            with self._log.open("rb") as file:
                file.seek(self._read_bytes)
                data = file.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self._read_bytes += whole
        for line in data[:whole].splitlines():
            if any(sign in line for sign in _SIGNS):
                self._take(line)

    def locations(self) -> Iterable[int]:
        return self._states

    def at(self, location_id: int, turn: int) -> tuple[Memory, ...]:
        """The superseded too."""
        states = self._states.get(location_id, ())
        place = bisect_right(states, turn, key=lambda state: state[0])
        return states[place - 1][1] if place else ()

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            if row.get("event") == "episode_ended":
                self.ended = row.get("time")
                return
            for event in _ephemeral(row):
                self._change(int(row["turn"]), event)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # Half a line, or of another version: what is known stays.
            return

    def _change(self, turn: int, event: dict[str, Any]) -> None:
        states = self._states.setdefault(event["location_id"], [])
        # A turn that is played again after a crash takes the place of what came of it first.
        while states and states[-1][0] > turn:
            states.pop()
        kept = states[-1][1] if states else ()
        states.append((turn, _changed(kept, turn, event, self._episode)))


def _ephemeral(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (event for event in row.get("memory_events") or () if event.get("persistence") == Persistence.EPHEMERAL)


def _changed(kept: tuple[Memory, ...], turn: int, event: dict[str, Any], episode: int | str) -> tuple[Memory, ...]:
    kind, title, detail = event["kind"], event["title"], event.get("detail") or None
    if kind == "added":
        status = event.get("status") or MemoryStatus.ACTIVE
        text = event.get("text") or ""
        new = Memory(
            event.get("category") or Category.NOTE, title, episode, str(turn), None, text, Persistence.EPHEMERAL, status
        )
        return (*kept, new)
    places = [at for at, memory in enumerate(kept) if memory.title == title and _is_open(memory)]
    if not places or kind not in ("seen again", "superseded", "invalidated"):
        return kept
    old = kept[places[-1]]
    if kind == "seen again":
        first = old.turns.partition("→")[0]
        new = replace(old, turns=f"{first}→{turn}", observation_count=old.observation_count + 1)
    elif kind == "superseded":
        new = replace(old, status=MemoryStatus.SUPERSEDED, superseded_by=detail, superseded_at_turn=turn)
    else:
        new = replace(
            old,
            status=MemoryStatus.SUPERSEDED,
            superseded_by=INVALIDATION_MARKER,
            superseded_at_turn=turn,
            invalidation_reason=detail,
        )
    return (*kept[: places[-1]], new, *kept[places[-1] + 1 :])


def _is_open(memory: Memory) -> bool:
    return memory.status != MemoryStatus.SUPERSEDED
