"""What became of each memory of one episode only, from the turns of its log: in the form of the lasting ones."""

from typing import Any

from zorkgpt.memory.models import INVALIDATION_MARKER, Persistence
from zorkgpt.viewer.values import cut, moment

_END = 999_999
"""After every turn: the episode is over, and its memories with it."""
Happened = tuple[int, dict[str, Any]]
"""A turn, and what it did to a memory."""


def passing_threads(episode: int, events: list[Happened]) -> list[list[dict[str, Any]]]:
    """Of one place."""
    threads: list[list[dict[str, Any]]] = []
    for turn, event in events:
        title, kind = cut(event.get("title")), cut(event.get("kind"), 40)
        version = {"at": moment(episode, turn), "kind": kind}
        if kind == "added":
            threads.append([version | {"set": _new(event, title, episode, turn)}])
        elif thread := _open(threads, title):
            change = _changed(event, kind, turn, thread)
            if change:
                thread.append(version | {"set": change})
    for thread in threads:
        thread.append({"at": moment(episode, _END), "kind": "the episode ended", "set": {}, "gone": True})
    return threads


def _new(event: dict[str, Any], title: str, episode: int, turn: int) -> dict[str, Any]:
    return {
        "category": cut(event.get("category"), 40),
        "title": title,
        "text": cut(event.get("text")),
        "persistence": Persistence.EPHEMERAL.value,
        "status": cut(event.get("status"), 40) or "ACTIVE",
        "episode": episode,
        "turns": str(turn),
        "observation_count": 1,
    }


def _open(threads: list[list[dict[str, Any]]], title: str) -> list[dict[str, Any]] | None:
    """The latest of this title that is believed."""
    for thread in reversed(threads):
        states: dict[str, Any] = {}
        for version in thread:
            states |= version["set"]
        if states["title"] == title and states["status"] != "SUPERSEDED":
            return thread
    return None


def _changed(event: dict[str, Any], kind: str, turn: int, thread: list[dict[str, Any]]) -> dict[str, Any]:
    if kind == "seen again":
        return {"turns": f"{thread[0]['set']['turns']}→{turn}", "observation_count": len(thread) + 1}
    detail = cut(event.get("detail")) or None
    if kind == "superseded":
        return {"status": "SUPERSEDED", "superseded_by": detail, "superseded_at_turn": turn}
    if kind == "invalidated":
        by = {"superseded_by": INVALIDATION_MARKER, "invalidation_reason": detail}
        return {"status": "SUPERSEDED", "superseded_at_turn": turn} | by
    return {}
