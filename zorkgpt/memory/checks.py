"""Checks of arguments. Invalid values raise an error that names them, before anything is stored."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, get_origin, get_type_hints

from zorkgpt.bounded import ReadLimits, parse_json
from zorkgpt.errors import ConfigurationError, OutOfBounds
from zorkgpt.memory.models import MEMORY_FIELDS, Category, Memory, MemoryStatus
from zorkgpt.memory.places import LIMIT
from zorkgpt.memory.world import World
from zorkgpt.text import quoted

_KINDS: dict[str, Any] = {
    name: hint if isinstance(hint, UnionType) else get_origin(hint) or hint
    for name, hint in get_type_hints(Memory).items()
    if name in MEMORY_FIELDS
} | {"status": str}
"""The type of each stored field. `check_fields` names the valid statuses."""
_values_of = attrgetter(*_KINDS)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]|[\ud800-\udfff]")
"""Control characters other than white space, and unpaired surrogates."""
_CATEGORY = re.compile(r"[A-Z][A-Z0-9_]*")
_TITLE_WORDS, _TITLE_LETTERS = 8, 60
_METADATA = ReadLimits("The metadata", "Make it smaller, or flatter.", 10_000, max_depth=50)
"""Less nesting than records allow (100), so that every record with valid metadata is valid."""


def normalized(memory: Memory) -> Memory:
    """Return the memory with its metadata and times in their stored form.

    Raises:
        TypeError, ValueError: If a field has a type or a number that a file can't hold, or its value is invalid.
    """
    check_fields(memory)
    return replace(
        memory,
        metadata=checked_metadata(memory.metadata),
        expires_at=checked_time(memory.expires_at),
        valid_from=checked_time(memory.valid_from),
    )


def check_fields(memory: Memory) -> None:
    """Raise TypeError or ValueError unless a file can hold the fields of a memory and its status is valid."""
    for (name, kind), value in zip(_KINDS.items(), _values_of(memory), strict=True):
        if isinstance(value, kind) and (value is None or type(value) is str):
            continue
        # In Python, True is an integer.
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise TypeError(
                f"The {name} of memory {quoted(memory.title)} is {quoted(value)}; it must be {_in_words(kind)}."
            )
        if isinstance(value, int) and abs(value) >= LIMIT:
            raise ValueError(
                f"The {name} of memory {quoted(memory.title)} is {quoted(value)}; it must have at most 18 digits."
            )
    if type(memory.status) is not MemoryStatus:
        valid = ", ".join(MemoryStatus)
        raise ValueError(
            f"The status of memory {quoted(memory.title)} is {memory.status!r}; it must be one of {valid}."
        )


def checked_memory(memory: object) -> Memory:
    """Return a caller's memory with its values checked, as `normalized` returns it.

    Raises:
        TypeError, ValueError: If a field is invalid. The message names its value.
    """
    if not isinstance(memory, Memory):
        raise TypeError(f"{quoted(memory)} is no Memory. Make one, or call `remember` with a place and a text.")
    memory = normalized(memory)
    check_header(memory)
    return memory


def check_header(memory: Memory) -> None:
    """Raise TypeError or ValueError if the title, the category or the episode of a memory is invalid."""
    if not memory.title.strip():
        raise ValueError(f"The title is {quoted(memory.title)}; it must not be blank.")
    check_category(memory.category)
    check_episode(memory.episode)


def check_category(category: str) -> None:
    """Raise ValueError unless the category is one word in capitals."""
    if not _CATEGORY.fullmatch(category):
        usual = ", ".join(Category)
        raise ValueError(f"The category is {quoted(category)}; it must be a word in capitals, such as {usual}.")


def checked_metadata(value: object) -> dict[str, Any]:
    """Return a copy of metadata.

    Raises:
        TypeError: If it is not a mapping with strings as keys.
        ValueError: If it has a value that JSON can't represent, is longer than 10,000 characters as JSON, or is nested
            more than 50 levels deep.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"The metadata is {quoted(value)}; it must be a dict with texts as keys.")
    if not value:
        return {}
    try:
        written = json.dumps(dict(value), allow_nan=False)
        copied: dict[str, Any] = parse_json(written, _METADATA)
    except OutOfBounds:
        raise
    except RecursionError:
        _METADATA.refuse(f"is nested more than {_METADATA.max_depth} deep")
    except (TypeError, ValueError) as error:
        raise ValueError(f"The metadata is {quoted(value)}; its values must be those of JSON: {error}.") from None
    return copied


def checked_time(value: object) -> str | None:
    """Return a time in UTC as ISO 8601 with microseconds. None for None.

    Args:
        value: A time with a time zone, as a `datetime` or ISO 8601 string, or a `timedelta` from now.

    Raises:
        TypeError, ValueError: If it is something else, or has no time zone.
    """
    if value is None:
        return None
    try:
        moment = datetime.now(UTC) + value if isinstance(value, timedelta) else value
        moment = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        raise ValueError(f"The time is {quoted(value)}; it must be such as 2027-01-31T12:00:00+00:00.") from None
    if not isinstance(moment, datetime):
        raise TypeError(f"The time is {quoted(value)}; it must be a datetime or a timedelta.")
    raise ValueError(f"The time is {moment.isoformat()}; say which time zone, such as +00:00.")


def utc_now() -> str:
    """Return the current time in the format of `checked_time`."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def check_name(name: object) -> None:
    """Raise TypeError unless the name of a place is a string."""
    _check_type("place's name", name)


def check_text(name: str, text: object) -> None:
    """Raise TypeError or ValueError unless a text is a string, not blank, and without control characters."""
    check_wanted(name, text)
    if match := _CONTROL.search(str(text)):
        raise ValueError(f"The {name} has the control character {match[0]!r}: {quoted(text)}. Remove it.")


def check_wanted(name: str, text: object) -> None:
    """Raise TypeError or ValueError unless a text to search for is a string and not blank."""
    _check_type(name, text)
    if not str(text).strip():
        raise ValueError(f"The {name} is {text!r}; it must not be blank.")


def check_query(query: object, most: object) -> None:
    """Raise TypeError unless a query is a string and its number of results an integer."""
    _check_type("query", query)
    if isinstance(most, bool) or not isinstance(most, int):
        raise TypeError(f"The number of results is {quoted(most)}; it must be an integer.")


def checked_count(name: str, count: object) -> int:
    """Return a number, or the largest one that a database accepts.

    Raises:
        ValueError: If it is not an integer of 0 or more.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"The {name} is {quoted(count)}; it must be an integer of 0 or more.")
    return min(count, LIMIT)


def check_threshold(threshold: object) -> None:
    """Raise TypeError or ValueError unless the minimum score of a search is a number from 0 to 1."""
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)):
        raise TypeError(f"The threshold is {quoted(threshold)}; it must be a number from 0 to 1.")
    if not 0 <= threshold <= 1:
        raise ValueError(f"The threshold is {threshold}; it must be from 0 to 1.")


def check_turn(turn: object) -> None:
    """Raise TypeError or ValueError unless a turn is None or an integer of 0 or more."""
    if turn is None:
        return
    if isinstance(turn, bool) or not isinstance(turn, int):
        raise TypeError(f"The turn is {quoted(turn)}, of the type {type(turn).__name__}; it must be an integer.")
    if turn < 0:
        raise ValueError(f"The turn is {turn}; it must not be below zero.")


def check_episode(episode: object) -> None:
    """Raise TypeError or ValueError unless an episode is None, a string, or an integer of 0 or more."""
    if episode is None:
        return
    if isinstance(episode, bool) or not isinstance(episode, (int, str)):
        raise TypeError(f"The episode is {quoted(episode)}; it must be an integer or a string.")
    if isinstance(episode, int) and episode < 0:
        raise ValueError(f"The episode is {episode}; it must not be below zero.")


def checked_facts(facts: object) -> dict[str, object]:
    """Return the facts of an outcome. {} for None.

    Raises:
        TypeError, ValueError: If they are not a mapping from strings, or their turn is invalid.
    """
    if facts is None:
        return {}
    if not isinstance(facts, Mapping):
        raise TypeError(f"The facts are {quoted(facts)}; they must be a mapping, such as {{'reward': 1}}.")
    for name in facts:
        _check_type("name of a fact", name)
    check_turn(facts.get("turn"))
    return dict(facts)


def checked_path(path: object) -> Path | str:
    """Return the path or address of a memory.

    Raises:
        TypeError, ValueError: If it is neither.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"The path is {quoted(path)}, of the type {type(path).__name__}; it must be a file, a folder, or an "
            "address such as postgresql://host/database."
        )
    if not str(path).strip() or "\0" in str(path):
        raise ValueError(f"The path is {quoted(path)}; it must name a file or a folder, such as 'Memories.md' or '.'.")
    return path if isinstance(path, str) else Path(path)


_PARTS = {
    "embeddings": ("model", "embed", "embed_batch", "get_dimension"),
    "judge": ("judge",),
    "synthesizer": ("synthesize",),
}
"""The attributes that each part of a memory needs."""


def check_world(world: object) -> None:
    """Raise ConfigurationError unless it is a `World`."""
    if not isinstance(world, World):
        raise ConfigurationError(
            f"The world is {quoted(world)}; it must be a World, such as NEUTRAL, of zorkgpt.memory.world."
        )


def check_parts(**parts: object) -> None:
    """Raise ConfigurationError if a part lacks an attribute that it needs. None is accepted for each."""
    for name, part in parts.items():
        missing = [attribute for attribute in _PARTS[name] if part is not None and not hasattr(part, attribute)]
        if missing:
            raise ConfigurationError(
                f"{type(part).__name__} can't be used as {name}: it has no {' and no '.join(missing)}."
            )


def _check_type(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"The {name} is {quoted(text)}, of the type {type(text).__name__}; it must be a string.")


def title_of(text: str) -> str:
    """Return the first words of a text as a title."""
    words = text.split()[:_TITLE_WORDS]
    while len(words) > 1 and len(" ".join(words)) > _TITLE_LETTERS:
        words.pop()
    return " ".join(words)[:_TITLE_LETTERS].rstrip(" .,;:!?") or text.strip()[:_TITLE_LETTERS]


def _in_words(kind: Any) -> str:
    names = {int: "an integer", str: "a string", bool: "True or False", tuple: "a tuple", type(None): "None"}
    kinds = kind.__args__ if isinstance(kind, UnionType) else (kind,)
    return " or ".join(names[each] for each in kinds)
