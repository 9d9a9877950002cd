"""The tables of the page: the results of the episodes, and all memories."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from zorkgpt.directions import exit_name
from zorkgpt.llm.usage import is_useless
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import is_place, place_to_json
from zorkgpt.runlog.episodes import repeated_failures
from zorkgpt.viewer.episode_index import DIED, FAILED, CallIndex, EpisodeIndex, IndexedTurn
from zorkgpt.viewer.json_lines import cut, turn_key
from zorkgpt.viewer.memory_threads import Thread
from zorkgpt.viewer.run_files import RunFiles

_ACTION_CHARACTERS = 120


def overview(
    episodes: Iterable[tuple[EpisodeIndex, CallIndex]], memories: tuple[Counter[int], Counter[int]] | None
) -> list[dict[str, Any]]:
    """Return a row for each episode.

    Args:
        episodes: All episodes of the run, in order.
        memories: The number of lasting memories learned and disproved in each episode. None if unknown.
    """
    failed_before: set[tuple[int | None, str]] = set()
    seen_before: set[SubjectKey] = set()
    rows = []
    for index, calls in episodes:
        learned, disproved = (counts[index.episode] for counts in memories) if memories else (None, None)
        row = _row(index, calls, failed_before, seen_before)
        rows.append(row | {"learned": learned, "disproved": disproved})
    return rows


def _row(
    index: EpisodeIndex, calls: CallIndex, failed_before: set[tuple[int | None, str]], seen_before: set[SubjectKey]
) -> dict[str, Any]:
    failed = [turn for turn in index.turns if turn.marks & FAILED]
    failures = ((turn.place, exit_name(turn.action)) for turn in failed)
    places = {place for turn in index.turns for place in (turn.place, turn.place_after) if place is not None}
    seconds = [turn.seconds for turn in index.turns if turn.seconds is not None]
    row = {
        "episode": index.episode,
        "turns": len(index),
        "rooms": len(places),
        "new_rooms": len(places - seen_before),
        "deaths": sum(bool(turn.marks & DIED) for turn in index.turns),
        "failed": len(failed),
        "repeated": repeated_failures(failures, failed_before),
        "seconds": sum(seconds) if seconds else None,
        "scored": [_scored(turn) for turn in index.turns if turn.gain],
    }
    seen_before |= places
    return row | _used(calls)


def _scored(turn: IndexedTurn) -> dict[str, Any]:
    action = cut(turn.action, _ACTION_CHARACTERS)
    return {"turn": turn.turn, "gain": turn.gain, "score": turn.score, "place": turn.place, "action": action}


def _used(calls: CallIndex) -> dict[str, Any]:
    """Return the tokens and cost of the model calls. None if not reported by any call."""
    reported = {name: [call[name] for call in calls.calls if call[name] is not None] for name in _USED}
    row: dict[str, Any] = {name: sum(values) if values else None for name, values in reported.items()}
    errors = sum(call["error"] is not None for call in calls.calls)
    unpriced = len(calls.calls) - len(reported["cost"])
    return row | {"calls": len(calls.calls), "errors": errors, "unpriced": unpriced, "roles": _roles(calls)}


def _roles(calls: CallIndex) -> list[dict[str, Any]]:
    """Return what became of the answers of each role: the numbers of calls, by result."""
    roles: dict[str, dict[str, Any]] = {}
    for call in calls.calls:
        row = roles.setdefault(
            call["role"], {"role": call["role"], "calls": 0, "not_understood": 0, "failed": 0, "repeated": 0}
        )
        row["calls"] += 1
        row["failed"] += call["error"] is not None
        row["not_understood"] += call["error"] is None and call["problem"] is not None
        row["repeated"] += call["repeats"]
    return [
        row | {"useless": is_useless(row["calls"], row["failed"] + row["not_understood"])} for row in roles.values()
    ]


_USED = ("prompt_tokens", "completion_tokens", "cost")


Showing = tuple[SubjectKey | None, tuple[int, int]]
"""The place of a turn, and its (episode, turn)."""
_SHOWN_TURNS = 40
"""Maximum number of turns listed in which a memory was shown."""
_FIELDS = (
    *("title", "category", "kind", "persistence", "status", "observation_count"),
    *("tried", "worked", "results", "pinned", "vetoed"),
)


def memory_list(files: RunFiles) -> list[dict[str, Any]]:
    """Return a row for each memory of each place, in the order of the places."""
    showings: dict[str, list[Showing]] = {}
    for number, episode in files.episodes.items():
        for turn in episode.turns:
            for title in turn.shown:
                showings.setdefault(title, []).append((turn.place, (number, turn.turn)))
    return [
        _memory_row(place, number, thread, showings)
        for place in files.threads.places()
        for number, thread in enumerate(files.threads.of_place(place))
    ]


def _memory_row(
    place: SubjectKey, number: int, thread: Thread, showings: Mapping[str, list[Showing]]
) -> dict[str, Any]:
    memory = thread[-1]["memory"]
    shown = _shown_turns(place, thread, showings)
    return {name: memory.get(name) for name in _FIELDS} | {
        "place": place_to_json(place),
        "thread": number,
        "title": cut(memory.get("title"), 300),
        "contested": sum(version["kind"] == "contested" for version in thread),
        "disproved": any("disproved" in version for version in thread),
        "gone": bool(thread[-1].get("gone")),
        "first": thread[0]["at"],
        "last": thread[-1]["at"],
        "shown": len(shown),
        "shown_turns": shown[:_SHOWN_TURNS],
    }


def _shown_turns(place: SubjectKey, thread: Thread, showings: Mapping[str, list[Showing]]) -> list[tuple[int, int]]:
    """Return (episode, turn) of each turn whose prompt contained the memory, while the memory existed."""
    first, last = thread[0]["at"], thread[-1]["at"] if thread[-1].get("gone") else None
    shown = {
        turn
        for title in {version["memory"]["title"] for version in thread}
        for where, turn in showings.get(title, ())
        # What is known of a thing or of the game is shown at any place.
        if where == place or not is_place(place)
        if first <= turn_key(*turn) and (last is None or turn_key(*turn) <= last)
    }
    return sorted(shown)
