"""Search the transcripts, memories and prompts of all episodes, with filters for the events of a turn."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from itertools import count
from operator import or_
from typing import Any, NamedTuple

from zorkgpt.memory.places import place_to_json
from zorkgpt.viewer.episode_index import (
    CONTESTED,
    DIED,
    REFUSED,
    REJECTED,
    SCORED,
    call_texts,
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
_MODEL_ERROR, _LEARNED, _DISPROVED = (1 << bit for bit in (28, 29, 30))
EVENTS = {
    "score": SCORED,
    "death": DIED,
    "refusal": REFUSED | REJECTED,
    "learned": _LEARNED,
    "contradiction": CONTESTED,
    "disproved": _DISPROVED,
    "error": _MODEL_ERROR,
}
"""Filters → bits of the marks of a turn, or of a version of a lasting memory."""
_FATES = {"learned": _LEARNED, "disproved": _DISPROVED}


class SearchItem(NamedTuple):
    """A turn, a prompt, or a change of a memory."""

    episode: int
    turn: int
    kind: str
    """ "turn", "memory" or "prompt"."""
    number: int
    """The index of the turn or of the model call, or the position among the changes of memories."""
    title: str
    words: str
    """The searched texts in lowercase. "" for a prompt."""
    events: int
    """What happened, as bits of `EVENTS`."""
    events_of_turn: int = 0
    """What else happened in the turn. It counts only for items that contain a query."""
    place: Any = None
    """As JSON. None if unknown."""
    texts: Sequence[str] = ()
    """The texts of a change of a memory. The others are in the logs."""

    def row(self) -> dict[str, Any]:
        """Return what the page shows, without the text."""
        row = {"episode": self.episode, "turn": self.turn, "kind": self.kind, "title": self.title}
        return row if self.kind == "prompt" else row | {"place": self.place}


def search(files: RunFiles, query: str, only: Sequence[str], start: int = 0) -> dict[str, Any]:
    """Return the turns of all hits, in order, and the text of `SHOWN` hits beginning at `start`.

    Args:
        only: The events to which hits are limited. Empty for all hits that contain the query.
    """
    query = query[:MAX_QUERY_CHARS].strip().lower()
    wanted = reduce(or_, (EVENTS.get(name, 0) for name in only), 0)
    hits = []
    for item in search_items(files, query) if query or wanted else ():
        events = item.events | (item.events_of_turn if query else 0)
        if (not wanted or events & wanted) and (item.kind == "prompt" or query in item.words):
            hits.append(item)
    return {
        "from": start,
        "hits": [turn_key(hit.episode, hit.turn) for hit in hits],
        "rows": [hit.row() | _snippet(_texts(files, hit), query) for hit in hits[start : start + SHOWN]],
    }


def searched(files: RunFiles, episodes: Collection[int]) -> dict[str, Any]:
    """Return everything that searches look at in these episodes. A prompt has the number of its model call."""
    rows = []
    for item in search_items(files, None):
        if item.episode in episodes:
            is_prompt = item.kind == "prompt"
            texts = {"call": item.number} if is_prompt else {"texts": _texts(files, item)}
            events = {"events": item.events, "events_of_turn": item.events_of_turn}
            rows.append(item.row() | events | texts)
    return {"events": EVENTS, "items": rows}


def search_items(files: RunFiles, query: str | None) -> list[SearchItem]:
    """Return every turn, every change of a memory, and the prompts that contain the query, in order.

    Args:
        query: None for all prompts, "" for none.
    """
    found: list[SearchItem] = []
    marks: dict[tuple[int, int], int] = {}
    for number, index in files.episodes.items():
        calls = files.calls_of(number)
        failed = {call["turn"] for call in calls.calls if call["error"] is not None}
        opening, place = text(index.started.get("opening")).lower(), whole_number(index.started.get("location_id"))
        found.append(SearchItem(number, 0, "turn", _OPENING, "", opening, 0, 0, place))
        for at, turn in enumerate(index.turns):
            events = turn.marks | (_MODEL_ERROR if turn.turn in failed else 0)
            marks[number, turn.turn] = events
            found.append(SearchItem(number, turn.turn, "turn", at, turn.action, turn.searched, events, 0, turn.place))
        for at in () if query == "" else calls.containing(query or ""):
            call = calls.calls[at]
            during = marks.get((number, call["turn"]), 0)
            found.append(SearchItem(number, call["turn"], "prompt", at, call["role"], "", 0, during))
    return sorted([*found, *_changes(files, marks)], key=lambda item: item[:4])


def _changes(files: RunFiles, marks: dict[tuple[int, int], int]) -> Iterator[SearchItem]:
    """Yield the changes of memories, with their changed texts and reasons, and all texts of a disproved memory."""
    numbers = count()
    for place in files.threads.places():
        for thread in files.threads.of_place(place):
            before: dict[str, Any] = {}
            for version in thread:
                memory = version["memory"]
                fate = sum(bit for name, bit in _FATES.items() if name in version)
                changed = [name for name in ("title", "text") if fate or memory[name] != before.get(name)]
                texts = [*(text(memory[name]) for name in changed), text(version.get("reason"))]
                episode, turn = divmod(version["at"], turn_key(1, 0))
                title, words = cut(memory.get("title"), 200), "\n".join(texts).lower()
                during, where = marks.get((episode, turn), 0), place_to_json(place)
                yield SearchItem(episode, turn, "memory", next(numbers), title, words, fate, during, where, texts)
                before = memory


def _texts(files: RunFiles, item: SearchItem) -> Sequence[str]:
    if item.kind == "memory":
        return item.texts
    if item.kind == "prompt":
        return call_texts(files.calls_of(item.episode).whole(item.number) or {})
    index = files.episodes[item.episode]
    if item.number == _OPENING:
        return [text(index.started.get("opening"))]
    turn = index.turn(item.number)
    return searched_texts(turn) if turn else ()


def _snippet(texts: Sequence[str], query: str) -> dict[str, str]:
    """Return the match in the last text that contains the query, with its context. Without a query, the last text."""
    pattern = re.compile(re.escape(query), re.IGNORECASE)
    for words in filter(None, reversed(texts)):
        if not query:
            return {"before": "", "match": "", "after": cut(words, 2 * _CONTEXT_CHARS)}
        if match := pattern.search(words):
            start, end = match.span()
            before, after = words[max(0, start - _CONTEXT_CHARS) : start], words[end : end + _CONTEXT_CHARS]
            return {"before": before, "match": match[0], "after": after}
    return {"before": "", "match": "", "after": ""}
