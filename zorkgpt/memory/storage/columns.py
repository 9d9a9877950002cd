"""The columns of a memory's row in a database."""

import json
from collections.abc import Sequence
from typing import Any, overload

from zorkgpt.memory.claims import Claim, claims_in
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import UNSEARCHED
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.storage.words import database_text, indexed_words
from zorkgpt.text import key_of

_TEXTS = ("category", "title", "text", "superseded_by", "invalidation_reason", "action", "outcome", "turns")
"""Columns with a text of the memory that may hold any character."""
_NAMES = ("persistence", "status", "kind", "expires_at", "valid_from", "created_at", "updated_at", "source")
_NUMBERS = ("score_change", "superseded_at_turn", "observation_count", "tried", "worked", "died")
_FLAGS = ("pinned", "vetoed", "edited_by_person")
_EPISODES = ("episode", "first_episode", "superseded_in_episode")
"""Columns with an episode as JSON."""
_JSON = ("claims", "conditions", "metadata")
"""Columns with a JSON value. NULL if it is empty."""
_OWN = (*_TEXTS, *_NAMES, *_NUMBERS, *_FLAGS, *_EPISODES, *_JSON)
READ = ("place", "number", "id", "has_own_id", *_OWN)
"""The columns that `memory_in` needs."""
FOUND_BY = ("folded_title", "is_current", "text_key", "said", "words")
"""Columns that are derived from the others, for queries."""
WRITTEN = ("id", "has_own_id", *_OWN, *FOUND_BY)
"""The columns that `values_of` returns."""
_ESCAPED = "\x01"
"""The first character of a text that is stored as JSON, because a database can't store all of its characters."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS zorkgpt_places (
    number {key},
    place text {bytewise} NOT NULL UNIQUE,
    name text NOT NULL,
    visits bigint NOT NULL,
    episodes text NOT NULL
);
CREATE TABLE IF NOT EXISTS zorkgpt_memories (
    number {key},
    place text {bytewise} NOT NULL,
    id text {bytewise} NOT NULL UNIQUE,
    has_own_id integer NOT NULL,
    category text NOT NULL,
    title text NOT NULL,
    text text NOT NULL,
    superseded_by text,
    invalidation_reason text,
    action text NOT NULL,
    outcome text NOT NULL,
    turns text NOT NULL,
    persistence text NOT NULL,
    status text NOT NULL,
    kind text,
    expires_at text {bytewise},
    valid_from text,
    created_at text,
    updated_at text {bytewise},
    source text,
    score_change bigint,
    superseded_at_turn bigint,
    observation_count bigint NOT NULL,
    tried bigint NOT NULL,
    worked bigint NOT NULL,
    died bigint NOT NULL,
    pinned integer NOT NULL,
    vetoed integer NOT NULL,
    edited_by_person integer NOT NULL,
    episode text {bytewise} NOT NULL,
    first_episode text {bytewise},
    superseded_in_episode text,
    claims text,
    conditions text,
    metadata text,
    folded_title text {bytewise} NOT NULL,
    is_current integer NOT NULL,
    text_key {blob} NOT NULL,
    said text NOT NULL,
    words bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS zorkgpt_memories_order ON zorkgpt_memories
    (place, number, is_current, vetoed, status, persistence, category, kind, episode, first_episode);
CREATE INDEX IF NOT EXISTS zorkgpt_memories_title ON zorkgpt_memories (folded_title, place);
CREATE INDEX IF NOT EXISTS zorkgpt_memories_expires ON zorkgpt_memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS zorkgpt_memories_updated ON zorkgpt_memories (updated_at);
CREATE INDEX IF NOT EXISTS zorkgpt_memories_revision ON zorkgpt_memories (revision);
CREATE INDEX IF NOT EXISTS zorkgpt_memories_text ON zorkgpt_memories (text_key);
CREATE TABLE IF NOT EXISTS zorkgpt_metadata (
    mark text {bytewise} NOT NULL,
    place text {bytewise} NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (mark, place, number)
){clustered};
"""
"""`place` has the format of `column_of`. `zorkgpt_metadata` has a mark for each value of a memory's metadata."""


def values_of(place: SubjectKey, name: str, memory: Memory) -> list[object]:
    """Return the values of the columns `WRITTEN`.

    Args:
        name: The name of the place, for the index of words.
    """
    said = indexed_words(name, memory) if place not in UNSEARCHED else []
    return [
        memory_id(place, memory),
        int(bool(memory.id)),
        *(text_column(getattr(memory, name)) for name in _TEXTS),
        *(None if (value := getattr(memory, name)) is None else str(value) for name in _NAMES),
        *(getattr(memory, name) for name in _NUMBERS),
        int(memory.pinned),
        int(memory.vetoed),
        int(memory.edited_by_person),
        *(episode_column(getattr(memory, name)) for name in _EPISODES),
        _claims(memory.claims),
        _claims(memory.when),
        json.dumps(memory.metadata) if memory.metadata else None,
        database_text(folded(memory.title)),
        int(is_current(memory)),
        key_of(memory.text),
        database_text(" ".join(dict.fromkeys(said))),
        len(said),
    ]


def memory_in(row: Sequence[Any]) -> Memory:
    """Return the memory in the columns `READ` of a row."""
    values = dict(zip(_OWN, row[4:], strict=True))
    for name in _TEXTS:
        values[name] = text_in(values[name])
    for name in _FLAGS:
        values[name] = bool(values[name])
    for name in _EPISODES:
        values[name] = None if values[name] is None else json.loads(values[name])
    values["claims"] = _claims_in(values["claims"])
    values["when"] = _claims_in(values.pop("conditions"))
    values["metadata"] = json.loads(values["metadata"]) if values["metadata"] else {}
    return Memory(id=row[2] if row[3] else "", **values)


def episode_column(episode: int | str | None) -> str | None:
    """Return an episode as it is written in a column."""
    return None if episode is None else json.dumps(episode)


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


def _claims(claims: Sequence[Claim]) -> str | None:
    return json.dumps(list(map(str, claims))) if claims else None


def _claims_in(text: str | None) -> tuple[Claim, ...]:
    return claims_in(json.loads(text)) if text else ()
