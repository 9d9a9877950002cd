"""The table of all memories of a run, in their current state."""

from typing import Any

from zorkgpt.memory.models import PlaceKey
from zorkgpt.viewer.json_lines import cut, turn_key
from zorkgpt.viewer.memory_threads import Thread, disproved_at
from zorkgpt.viewer.run_files import RunFiles

_SHOWN_TURNS = 40
"""The most turns that are named on which a memory was shown."""
_FIELDS = ("title", "category", "persistence", "status", "observation_count", "tried", "worked", "pinned", "vetoed")


def memory_list(files: RunFiles) -> list[dict[str, Any]]:
    """Return a row for each memory of each place, in the order of the places."""
    return [
        _row(files, place, number, thread)
        for place in files.threads.places()
        for number, thread in enumerate(files.threads.of_place(place))
    ]


def _row(files: RunFiles, place: PlaceKey, number: int, thread: Thread) -> dict[str, Any]:
    memory: dict[str, Any] = {}
    for version in thread:
        memory |= version["set"]
    shown = _shown(files, place, thread)
    return {name: memory.get(name) for name in _FIELDS} | {
        "place": place,
        "thread": number,
        "title": cut(memory.get("title"), 300),
        "contested": sum(version["kind"] == "contested" for version in thread),
        "disproved": disproved_at(thread) is not None,
        "gone": bool(thread[-1].get("gone")),
        "first": thread[0]["at"],
        "last": thread[-1]["at"],
        "shown": len(shown),
        "shown_turns": shown[:_SHOWN_TURNS],
    }


def _shown(files: RunFiles, place: PlaceKey, thread: Thread) -> list[tuple[int, int]]:
    """Return (episode, turn) of each turn whose prompt named the memory, from the one on that it is from."""
    titles = {version["set"]["title"] for version in thread if "title" in version["set"]}
    found = {
        (number, turn)
        for number, episode in files.episodes.items()
        for title in titles
        if isinstance(title, str)
        for turn in episode.shown.get((place, title), ())
        if thread[0]["at"] <= turn_key(number, turn)
        and (not thread[-1].get("gone") or turn_key(number, turn) <= thread[-1]["at"])
    }
    return sorted(found)
