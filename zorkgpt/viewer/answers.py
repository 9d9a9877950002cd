"""Answers to the requests of the page, as plain values for JSON. The exported file contains the same answers."""

from collections.abc import Mapping
from typing import Any

from zorkgpt.memory.models import PlaceKey
from zorkgpt.text import normalized_action
from zorkgpt.viewer.episode_index import EpisodeIndex
from zorkgpt.viewer.heat import heat
from zorkgpt.viewer.json_lines import (
    SHOWN_CHARACTERS,
    cut,
    json_safe,
    json_safe_object,
    number,
    objects,
    place_address,
    place_key,
    text,
    texts,
    whole_number,
)
from zorkgpt.viewer.map import map_picture
from zorkgpt.viewer.memory_list import memory_list
from zorkgpt.viewer.overview import overview
from zorkgpt.viewer.run_files import RunFiles
from zorkgpt.viewer.search import Search

_LONG = ("opening", "action", "reasoning", "response", "memory_shown", "refused", "fault")
_PLAIN = ("died", "finished", "victory", "failed")
_NUMBERS = ("turn", "location_id", "location_after_id", "score_before", "score", "moves")


def turn_row(record: dict[str, Any], calls: list[dict[str, Any]], *, limit: int = SHOWN_CHARACTERS) -> dict[str, Any]:
    """Return a turn with its model calls; the field `cut` names the texts that are longer than `limit`."""
    row: dict[str, Any] = {name: whole_number(record.get(name)) for name in _NUMBERS}
    row |= {name: bool(record.get(name)) for name in _PLAIN}
    row |= {name: cut(record[name], limit) for name in _LONG if record.get(name)}
    row |= {name: cut(record.get(name), 200) for name in ("player", "location", "location_after")}
    row["seconds"] = number(record.get("duration_s"))
    row["inventory"] = texts(record.get("inventory"), 200)
    row["memory_events"] = [_event(one) for one in objects(record.get("memory_events"), 50)]
    row["rejections"] = [_rejection(one, limit) for one in objects(record.get("rejections"), 50)]
    row["critic_score"] = number(record.get("critic_score"))
    row["extraction"] = _extraction(record.get("extraction"))
    row["calls"] = calls
    row["cut"] = [name for name in _LONG if len(text(record.get(name))) > limit]
    return row


def _event(event: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"location_id": place_key(event.get("location_id"))}
    return row | {name: cut(event.get(name), 2000) for name in event if name != "location_id"}


def _extraction(given: Any) -> dict[str, Any] | None:
    """Return what was extracted from the response; None if nothing was."""
    return json_safe_object(given, 200, depth=2) if isinstance(given, dict) else None


def _rejection(one: dict[str, Any], limit: int) -> dict[str, Any]:
    row: dict[str, Any] = {name: cut(one.get(name), limit) for name in ("action", "reason", "judge")}
    return row | {"score": number(one.get("score")), "obeyed": one.get("obeyed", True) is not False}


PAGE_TURNS = 20
WHOLE_CHARACTERS = 2_000_000
_NOTE_CHARACTERS = 60_000
_QUIET_S = 60


class NotInRun(LookupError):
    """The requested part is not in the run."""


class Answers:
    """Answers from the files of a run, as they are at the time of the question."""

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
                "episodes": [episode_row(one) for _, one in sorted(files.episodes.items())],
                "names": place_names(files.room_names()),
                "map": files.map.changes,
                "memory": files.threads.changes,
                "damage": files.damage(),
                "differing": files.threads.differing,
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
        """Return the turns, prompts and memories with these words that match one of the filters, if any."""
        with self._files.lock:
            return Search(self._files, query, events).answer(start)

    def columns(self, episode: int, start: int = 0) -> dict[str, Any]:
        """Return the columns of all turns, from a position on."""
        with self._files.lock:
            index = self._episode(episode)
            return {"generation": index.generation, "from": start, "columns": index.slice(start)}

    def page(self, episode: int, page: int) -> dict[str, Any]:
        """Return the turns of a page, `PAGE_TURNS` of them."""
        with self._files.lock:
            index = self._episode(episode)
            rows = self.rows(index, page * PAGE_TURNS, (page + 1) * PAGE_TURNS)
            return {"generation": index.generation, "from": page * PAGE_TURNS, "rows": rows}

    def rows(self, index: EpisodeIndex, start: int, stop: int) -> list[dict[str, Any]]:
        calls = self._files.calls_of(index.episode)
        turns = index.columns["turns"]
        return [
            turn_row(index.record(position), calls.of_turn(turns[position]))
            | {"trials": self._files.trials.of_turn(index.episode, turns[position])}
            for position in range(start, min(stop, len(index)))
        ]

    def turn(self, episode: int, turn: int) -> dict[str, Any]:
        """Return one turn with its whole texts."""
        with self._files.lock:
            index = self._episode(episode)
            position = index.position(turn)
            if position is None:
                raise NotInRun(f"Episode {episode} has no turn {turn}.")
            calls = self._files.calls_of(episode).of_turn(turn)
            trials = self._files.trials.of_turn(episode, turn)
            return turn_row(index.record(position), calls, limit=WHOLE_CHARACTERS) | {"trials": trials}

    def call(self, episode: int, call: int) -> dict[str, Any]:
        """Return a model call with its exact prompt and answer."""
        with self._files.lock:
            self._episode(episode)
            found = self._files.calls_of(episode).whole(call)
        if found is None:
            raise NotInRun(f"Episode {episode} has no model call {call}.")
        return found

    def map(self) -> dict[str, Any]:
        files = self._files
        with files.lock:
            names = files.room_names()
            if self._map is None or self._map[0] != (files.map.changes, names):
                self._map = ((files.map.changes, names), map_picture(files.map, names))
            return self._map[1]

    def heat(self) -> dict[str, Any]:
        """Return what happened at the places of each episode."""
        with self._files.lock:
            return {"episodes": {number: heat(index) for number, index in self._files.episodes.items()}}

    def place(self, place: PlaceKey) -> dict[str, Any]:
        """Return every memory of a place, with all its versions."""
        with self._files.lock:
            return {
                "id": place,
                "name": self._files.room_names().get(place, ""),
                "threads": [list(thread) for thread in self._files.threads.of_place(place)],
            }

    def notes(self, episode: int) -> dict[str, Any]:
        """Return the objectives and the knowledge of an episode, each time that they changed."""
        with self._files.lock:
            index = self._episode(episode)
            return {"notes": [note_row(turn, kind, index.note(where)) for turn, kind, where in index.notes]}

    def actions(self, episode: int) -> dict[str, Any]:
        """Return the action of each turn, in the form in which actions are compared."""
        with self._files.lock:
            return {"actions": [normalized_action(action) for action in self._episode(episode).actions]}

    def _episode(self, number: int) -> EpisodeIndex:
        index = self._files.episodes.get(number)
        if index is None:
            raise NotInRun(f"This run has no episode {number}.")
        return index


def place_names(names: Mapping[PlaceKey, str]) -> dict[str, str]:
    """Return the names of places by their keys as the page writes them."""
    return {place_address(place): name for place, name in names.items()}


def episode_row(index: EpisodeIndex) -> dict[str, Any]:
    """Return an episode in brief: how it began, how far it is, how it ended."""
    started, ended = index.started, index.ended
    story = started.get("story")
    scores = [score for score in index.columns["scores"][-1:] if score is not None]
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
        "score": scores[0] if scores else whole_number(ended.get("score")),
        "max_score": whole_number(ended.get("max_score")),
        "reason": cut(ended.get("reason"), 60) or None,
        "message": cut(ended.get("message"), 2000),
        "quiet": is_quiet(index),
        "cut_short": not ended and index.is_played is False,
        "later_version": index.later_version,
    }


def is_quiet(index: EpisodeIndex) -> bool:
    """Return whether nobody plays the episode; if that is not known, whether nothing was written for a while."""
    played = index.is_played
    return index.age_s > _QUIET_S if played is None else not played


def note_row(turn: int, kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return an event that is not a turn, by the names of its fields."""
    row: dict[str, Any] = {"turn": turn, "kind": kind}
    for name, value in record.items():
        if name in ("v", "event", "turn", "episode", "kind"):
            continue
        row[cut(name, 80)] = json_safe(value, _NOTE_CHARACTERS)
    return row
