"""Search the transcripts, memories and prompts of all episodes, with filters for the events of a turn."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import place_to_json
from zorkgpt.viewer.episode_index import (
    CONTESTED,
    DIED,
    REFUSED,
    REJECTED,
    SCORED,
    EpisodeIndex,
    searched_texts,
)
from zorkgpt.viewer.json_lines import cut, text, turn_key, whole_number
from zorkgpt.viewer.run_files import RunFiles

SHOWN = 100
"""Maximum number of hits with text in one answer."""
MAX_QUERY_CHARS = 200
_CONTEXT_CHARS = 60
"""Characters shown before and after a match."""
_OPENING = -1
_MODEL_ERROR = 1 << 30
EVENTS = {
    "score": SCORED,
    "death": DIED,
    "refusal": REFUSED | REJECTED,
    "contradiction": CONTESTED,
    "error": _MODEL_ERROR,
}
"""Filters for turns → bits of the column `marks`."""
FATES = {"learned", "disproved"}
"""Filters for lasting memories, by the marks of their versions."""
_SEARCHED = ("text", "title")


class _Hit(NamedTuple):
    episode: int
    turn: int
    kind: str
    """ "turn", "memory" or "prompt"."""
    number: int
    """The index of the turn, of the model call, or of the version of a memory in `Search._memories`."""


@dataclass(frozen=True, slots=True)
class _MemoryText:
    place: SubjectKey
    title: str
    texts: list[str]


class Search:
    """A search in all episodes of a run."""

    def __init__(self, files: RunFiles, query: str, events: list[str]) -> None:
        self._files = files
        self._query = query[:MAX_QUERY_CHARS].strip().lower()
        self._wanted = 0
        for name in events:
            self._wanted |= EVENTS.get(name, 0)
        self._fates = FATES & {*events}
        self._memories: list[_MemoryText] = []

    def answer(self, start: int) -> dict[str, Any]:
        """Return the turns of all hits, in order, and the text of `SHOWN` hits beginning at `start`."""
        hits = sorted(self._hits())
        return {
            "from": start,
            "hits": [turn_key(hit.episode, hit.turn) for hit in hits],
            "rows": [self._row(hit) for hit in hits[start : start + SHOWN]],
        }

    def _hits(self) -> Iterator[_Hit]:
        if not self._query and not self._wanted and not self._fates:
            return
        marks = {number: self._marks(number, index) for number, index in self._files.episodes.items()}
        if self._wanted or not self._fates:
            yield from self._turn_hits(marks)
        if self._query or self._fates:
            yield from self._memory_hits(marks)

    def _turn_hits(self, marks_of: dict[int, dict[int, int]]) -> Iterator[_Hit]:
        """Yield the turns and prompts that contain the query, from turns with one of the wanted events."""
        for number, index in self._files.episodes.items():
            marks, turns = marks_of[number], index.columns["turns"]
            if self._query and not self._wanted and self._query in text(index.started.get("opening")).lower():
                yield _Hit(number, 0, "turn", _OPENING)
            for at, words in enumerate(index.searched):
                if self._query in words and self._has_wanted_event(marks.get(turns[at], 0)):
                    yield _Hit(number, turns[at], "turn", at)
            if self._query:
                calls = self._files.calls_of(number)
                for call in calls.containing(self._query):
                    turn = calls.calls[call]["turn"]
                    if self._has_wanted_event(marks.get(turn, 0)):
                        yield _Hit(number, turn, "prompt", call)

    def _marks(self, number: int, index: EpisodeIndex) -> dict[int, int]:
        """Return turn → marks, or nothing if there are no filters for turns."""
        if not self._wanted:
            return {}
        marks = dict(zip(index.columns["turns"], index.columns["marks"], strict=True))
        if self._wanted & _MODEL_ERROR:
            for call in self._files.calls_of(number).calls:
                if call["error"] is not None and call["turn"] in marks:
                    marks[call["turn"]] |= _MODEL_ERROR
        return marks

    def _has_wanted_event(self, marks: int) -> bool:
        return not self._wanted or bool(marks & self._wanted)

    def _memory_hits(self, marks: dict[int, dict[int, int]]) -> Iterator[_Hit]:
        """Yield the versions of memories whose title, text or reason contains the query."""
        for place in self._files.threads.places():
            for thread in self._files.threads.of_place(place):
                for before, version in zip([{}, *(version["memory"] for version in thread)], thread, strict=False):
                    memory, has_fate = version["memory"], any(name in version for name in self._fates)
                    if not has_fate and (not self._query or (self._fates and not self._wanted)):
                        continue
                    # For a learned or disproved memory, search all fields. Otherwise, search only the changed ones.
                    fields = [name for name in _SEARCHED if has_fate or memory[name] != before.get(name)]
                    texts = [text(version.get("reason")), *(text(memory[name]) for name in fields)]
                    episode, turn = divmod(version["at"], turn_key(1, 0))
                    contains = any(self._query in words.lower() for words in texts)
                    if contains and (has_fate or self._has_wanted_event(marks.get(episode, {}).get(turn, 0))):
                        self._memories.append(_MemoryText(place, text(memory.get("title")), texts))
                        yield _Hit(episode, turn, "memory", len(self._memories) - 1)

    def _row(self, hit: _Hit) -> dict[str, Any]:
        row: dict[str, Any] = {"episode": hit.episode, "turn": hit.turn, "kind": hit.kind}
        if hit.kind == "memory":
            memory = self._memories[hit.number]
            reason_or_text = memory.texts[0] or memory.texts[1]
            texts = memory.texts if self._query else [reason_or_text]
            return row | {"place": place_to_json(memory.place), "title": cut(memory.title, 200)} | self._snippet(texts)
        index = self._files.episodes[hit.episode]
        if hit.kind == "prompt":
            call = self._files.calls_of(hit.episode).whole(hit.number) or {"messages": []}
            texts = [message["content"] for message in call["messages"]]
            texts += [text(call.get("answer")), text(call.get("reasoning")), text(call.get("error"))]
            return row | {"title": text(call.get("role"))} | self._snippet(texts)
        if hit.number == _OPENING:
            place = whole_number(index.started.get("location_id"))
            return row | {"place": place, "title": ""} | self._snippet([text(index.started.get("opening"))])
        turn = index.turn(hit.number)
        row |= {"place": index.columns["places"][hit.number], "title": index.actions[hit.number]}
        return row | self._snippet(searched_texts(turn) if turn else [])

    def _snippet(self, texts: list[str]) -> dict[str, str]:
        """Return the first match of the query with its context. Without a query, return the start of the last text."""
        pattern = re.compile(re.escape(self._query), re.IGNORECASE)
        for words in texts if self._query else ():
            if match := pattern.search(words):
                start, end = match.span()
                before, after = words[max(0, start - _CONTEXT_CHARS) : start], words[end : end + _CONTEXT_CHARS]
                return {"before": before, "match": match[0], "after": after}
        return {
            "before": "",
            "match": "",
            "after": "" if self._query else cut(texts[-1] if texts else "", 2 * _CONTEXT_CHARS),
        }
