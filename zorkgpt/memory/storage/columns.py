"""The columns of a memory's row in a database."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, overload

from zorkgpt.memory.claims import Claim, claims_in
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import UNSEARCHED
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.storage.words import database_text, indexed_words
from zorkgpt.text import key_of

_TEXTS = ("category", "title", "text", "superseded_by", "invalidation_reason", "action", "outcome", "turns")
"""Columns with a text of the memory that may hold any character."""
_NAMES = ("persistence", "status", "kind", "expires_at", "valid_from", "source")
_TIMES = ("created_at", "updated_at")
"""Columns with a time in microseconds since 1970."""
_NUMBERS = ("score_change", "superseded_at_turn", "observation_count", "tried", "worked", "died")
_FLAGS = ("pinned", "vetoed", "edited_by_person")
_EPISODES = ("episode", "first_episode", "superseded_in_episode")
"""Columns with an episode as JSON."""
_JSON = ("claims", "conditions", "metadata")
"""Columns with a JSON value. NULL if it is empty."""
_OWN = (*_TEXTS, *_NAMES, *_TIMES, *_NUMBERS, *_FLAGS, *_EPISODES, *_JSON)
READ = ("place", "number", "id", *_OWN)
"""The columns that `memory_in` needs."""
FOUND_BY = ("folded_title", "is_current", "text_key", "said", "words")
"""Columns that are derived from the others, for queries."""
WRITTEN = ("id", *_OWN, *FOUND_BY)
"""The columns that `values_of` returns."""
_texts_of, _names_of, _times_of = attrgetter(*_TEXTS), attrgetter(*_NAMES), attrgetter(*_TIMES)
_numbers_of, _flags_of, _episodes_of = attrgetter(*_NUMBERS), attrgetter(*_FLAGS), attrgetter(*_EPISODES)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_ESCAPED = "\x01"
"""The first character of a text that is stored as JSON, because a database can't store all of its characters."""


def values_of(place: SubjectKey, name: str, memory: Memory) -> list[object]:
    """Return the values of the columns `WRITTEN`.

    Args:
        name: The name of the place, for the index of words.
    """
    said = indexed_words(name, memory) if place not in UNSEARCHED else []
    return [
        memory.id,
        *_text_columns(_texts_of(memory)),
        *[None if value is None else str(value) for value in _names_of(memory)],
        *map(time_column, _times_of(memory)),
        *_numbers_of(memory),
        *map(int, _flags_of(memory)),
        *[episode if episode is None else episode_column(episode) for episode in _episodes_of(memory)],
        _claims(memory.claims) if memory.claims else None,
        _claims(memory.when) if memory.when else None,
        json.dumps(memory.metadata) if memory.metadata else None,
        database_text(folded(memory.title)),
        int(is_current(memory)),
        key_of(memory.text),
        database_text(" ".join(dict.fromkeys(said))),
        len(said),
    ]


def memory_in(row: Sequence[Any]) -> Memory:
    """Return the memory in the columns `READ` of a row."""
    values = dict(zip(_OWN, row[3:], strict=True))
    if _ESCAPED in "".join(filter(None, row[3 : 3 + len(_TEXTS)])):
        values |= {name: text_in(values[name]) for name in _TEXTS}
    for name in _TIMES:
        values[name] = time_in(values[name])
    for name in _FLAGS:
        values[name] = bool(values[name])
    for name in _EPISODES:
        if (episode := values[name]) is not None:
            values[name] = int(episode) if episode.isdecimal() else json.loads(episode)
    values["claims"] = _claims_in(values["claims"]) if values["claims"] else ()
    conditions = values.pop("conditions")
    values["when"] = _claims_in(conditions) if conditions else ()
    values["metadata"] = json.loads(values["metadata"]) if values["metadata"] else {}
    return Memory(id=row[2], **values)


# Cached, because the memories of a transaction have the same time.
@lru_cache(maxsize=64)
def time_column(time: str | None) -> int | None:
    """Return a time in the format of `Memory.created_at` as it is written in a column. None if it is not a time."""
    try:
        return None if time is None else (datetime.fromisoformat(time).astimezone(UTC) - _EPOCH) // _MICROSECOND
    except ValueError:
        return None


@lru_cache(maxsize=64)
def time_in(column: int | None) -> str | None:
    """Return the time in a column that `time_column` has written."""
    return None if column is None else (_EPOCH + column * _MICROSECOND).isoformat(timespec="microseconds")


def episode_column(episode: int | str | None) -> str | None:
    """Return an episode as it is written in a column."""
    return json.dumps(episode) if isinstance(episode, str) else None if episode is None else str(episode)


def _text_columns(texts: Sequence[str | None]) -> Iterable[str | None]:
    """Return the columns of several texts. Most are written unchanged, which is checked for all at once."""
    together = "".join(filter(None, texts))
    is_plain = together.isascii() and "\x00" not in together and _ESCAPED not in together
    return texts if is_plain else map(text_column, texts)


@overload
def text_column(text: str) -> str: ...
@overload
def text_column(text: None) -> None: ...
def text_column(text: str | None) -> str | None:
    """Return a text that may hold any character as it is written in a column."""
    if text is None or (text.isascii() and "\x00" not in text and not text.startswith(_ESCAPED)):
        return text
    is_plain = database_text(text) == text and not text.startswith(_ESCAPED)
    return text if is_plain else _ESCAPED + json.dumps(text)


@overload
def text_in(column: str) -> str: ...
@overload
def text_in(column: None) -> None: ...
def text_in(column: str | None) -> str | None:
    """Return the text in a column that `text_column` has written."""
    return json.loads(column[1:]) if column is not None and column.startswith(_ESCAPED) else column


def _claims(claims: Sequence[Claim]) -> str:
    return json.dumps(list(map(str, claims)))


def _claims_in(text: str) -> tuple[Claim, ...]:
    return claims_in(json.loads(text))
