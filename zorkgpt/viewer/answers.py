"""Answers to the requests of the page, as JSON values. An exported file contains the same answers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from session.history import TurnRecord
from session.outcome import failed
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import place_to_json
from zorkgpt.viewer.episode_index import EpisodeIndex
from zorkgpt.viewer.json_lines import (
    cut,
    json_safe,
    json_safe_object,
    number,
    place_address,
    whole_number,
)
from zorkgpt.viewer.map import map_picture
from zorkgpt.viewer.overview import memory_list, overview
from zorkgpt.viewer.run_files import RunFiles
from zorkgpt.viewer.search import search, searched


def turn_row(turn: TurnRecord, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a turn with its model calls."""
    step = turn.transition
    texts = {
        "action": step.action,
        "reasoning": turn.reasoning,
        "response": step.response,
        "memory_shown": turn.memory_shown,
        "refused": step.refused or "",
        "fault": step.fault or "",
    }
    return {name: cut(text, _TEXT_CHARACTERS) for name, text in texts.items() if text} | {
        "turn": turn.turn,
        "player": cut(turn.player, 200),
        "location_id": step.before.location_id,
        "location": cut(step.before.location_name, 200),
        "location_after_id": step.after.location_id,
        "location_after": cut(step.after.location_name, 200),
        "score_before": step.before.score,
        "score": step.after.score,
        "moves": step.after.moves,
        "died": step.died,
        "finished": step.finished,
        "victory": step.victory,
        "failed": failed(step),
        "seconds": number(turn.duration_s),
        "inventory": [cut(item.name, 200) for item in (step.after.inventory or ())[:500]],
        "memory_events": [json_safe_object(asdict(event), 2000) for event in turn.memory_events[:50]],
        "rejections": [json_safe_object(asdict(rejection)) for rejection in turn.rejections[:50]],
        "critic_score": number(turn.critic_score),
        "extraction": json_safe_object(asdict(turn.extraction), 200) if turn.extraction else None,
        "calls": calls,
    }


PAGE_TURNS = 20
_TEXT_CHARACTERS = 200_000
"""Maximum length of a text of a turn."""
_NOTE_CHARACTERS = 60_000
_QUIET_S = 60


class NotInRun(LookupError):
    """The run doesn't contain the requested part."""


class Answers:
    """Answers from the current files of a run."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files
        self._map: tuple[Any, dict[str, Any]] | None = None

    def run(self) -> dict[str, Any]:
        """Return a summary of every episode."""
        files = self._files
        with files.lock:
            files.refresh()
            return {
                "name": files.workdir.name,
                "page_turns": PAGE_TURNS,
                "episodes": [episode_row(index) for _, index in sorted(files.episodes.items())],
                "names": place_names(files.room_names()),
                "map": files.map.changes,
                "memory": files.threads.changes,
                "damage": files.damage(),
            }

    def overview(self) -> dict[str, Any]:
        """Return the results of each episode."""
        files = self._files
        with files.lock:
            numbers = sorted(files.episodes)
            episodes = ((files.episodes[number], files.calls_of(number)) for number in numbers)
            rows = overview(episodes, files.threads.counts())
            return {"episodes": rows, "damage": files.damage()}

    def memories(self) -> dict[str, Any]:
        """Return all memories of all places."""
        with self._files.lock:
            return {"memories": memory_list(self._files)}

    def search(self, query: str, events: list[str], start: int = 0) -> dict[str, Any]:
        """Return the turns, prompts and memories that contain the query and match one of the filters, if any."""
        with self._files.lock:
            return search(self._files, query, events, start)

    def searched(self, episodes: Collection[int]) -> dict[str, Any]:
        """Return everything that searches look at in these episodes."""
        with self._files.lock:
            return searched(self._files, episodes)

    def columns(self, episode: int, start: int = 0) -> dict[str, Any]:
        """Return the columns of all turns, beginning at a position."""
        with self._files.lock:
            index = self._episode(episode)
            return {"generation": index.generation, "from": start, "columns": index.columns(start)}

    def page(self, episode: int, page: int) -> dict[str, Any]:
        """Return the turns of a page. A page has `PAGE_TURNS` turns."""
        with self._files.lock:
            index, calls, start = self._episode(episode), self._files.calls_of(episode), page * PAGE_TURNS
            rows = [
                turn_row(turn, calls.of_turn(turn.turn)) | {"trials": self._files.threads.trials(episode, turn.turn)}
                for position in range(start, min(start + PAGE_TURNS, len(index)))
                if (turn := index.turn(position))
            ]
            return {"generation": index.generation, "from": start, "rows": rows}

    def call(self, episode: int, call: int) -> dict[str, Any]:
        """Return a model call with its exact prompt and answer."""
        with self._files.lock:
            self._episode(episode)
            answer = self._files.calls_of(episode).whole(call)
        if answer is None:
            raise NotInRun(f"Episode {episode} has no model call {call}.")
        return answer

    def map(self) -> dict[str, Any]:
        files = self._files
        with files.lock:
            names = files.room_names()
            if self._map is None or self._map[0] != (files.map.changes, names):
                self._map = ((files.map.changes, names), map_picture(files.map, names))
            return self._map[1]

    def place(self, place: SubjectKey) -> dict[str, Any]:
        """Return every memory of a place, with all its versions."""
        with self._files.lock:
            return {
                "id": place_to_json(place),
                "name": self._files.room_names().get(place, ""),
                "threads": [list(thread) for thread in self._files.threads.of_place(place)],
            }

    def notes(self, episode: int) -> dict[str, Any]:
        """Return every change of the objectives and the knowledge in an episode."""
        with self._files.lock:
            index = self._episode(episode)
            return {"notes": [note_row(turn, kind, index.lines.at(*span)) for turn, kind, span in index.notes]}

    def _episode(self, number: int) -> EpisodeIndex:
        index = self._files.episodes.get(number)
        if index is None:
            raise NotInRun(f"This run has no episode {number}.")
        return index


def place_names(names: Mapping[SubjectKey, str]) -> dict[str, str]:
    """Return the names of places by their keys in the page."""
    return {place_address(place): name for place, name in names.items()}


def episode_row(index: EpisodeIndex) -> dict[str, Any]:
    """Return a summary of an episode: its start, its progress and its ending."""
    started, ended = index.started, index.ended
    story = started.get("story")
    score = index.turns[-1].score if index.turns else None
    return {
        "episode": index.episode,
        "generation": index.generation,
        "count": len(index),
        "last_turn": index.last_turn,
        "notes": len(index.notes),
        "player": cut(started.get("player"), 60),
        "title": cut(story.get("title") or story.get("file"), 200) if isinstance(story, dict) else "",
        "seed": whole_number(started.get("seed")),
        "max_turns": whole_number(started.get("max_turns")),
        "started": cut(started.get("time"), 40),
        "opening": cut(started.get("opening")),
        "location_id": whole_number(started.get("location_id")),
        "score": whole_number(ended.get("score")) if score is None else score,
        "max_score": whole_number(ended.get("max_score")),
        "reason": cut(ended.get("reason"), 60) or None,
        "message": cut(ended.get("message"), 2000),
        "quiet": is_quiet(index),
        "cut_short": not ended and index.is_played is False,
        "later_version": index.later_version,
    }


def is_quiet(index: EpisodeIndex) -> bool:
    """Return whether the episode is no longer played. If unknown, whether nothing was written for a while."""
    is_played = index.is_played
    return index.age_s > _QUIET_S if is_played is None else not is_played


def note_row(turn: int, kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event that is not a turn."""
    row: dict[str, Any] = {"turn": turn, "kind": kind}
    for name, value in record.items():
        if name in ("v", "event", "turn", "episode", "kind"):
            continue
        row[cut(name, 80)] = json_safe(value, _NOTE_CHARACTERS)
    return row


def several_runs(runs: Sequence[RunFiles]) -> dict[str, Any]:
    """Return each run with the results of its episodes."""
    names = run_names([files.workdir for files in runs])
    named = zip(names, runs, strict=True)
    return {"runs": [_run(number, name, files) for number, (name, files) in enumerate(named, 1)]}


def _run(number: int, name: str, files: RunFiles) -> dict[str, Any]:
    answers = Answers(files)
    with files.lock:
        summary, results = answers.run(), answers.overview()
    episodes = [row | result for row, result in zip(summary["episodes"], results["episodes"], strict=True)]
    label = name if files.only is None else f"{name}, episode {files.only}"
    return {"number": number, "name": label, "names": summary["names"], "episodes": episodes}


def run_names(folders: Sequence[Path]) -> list[str]:
    """Return the shortest unique suffix of each path."""
    names = []
    for folder in folders:
        parts, others = folder.parts, {other for other in folders if other != folder}
        length = 1
        while length < len(parts) and any(other.parts[-length:] == parts[-length:] for other in others):
            length += 1
        names.append("/".join(parts[-length:]))
    return names
