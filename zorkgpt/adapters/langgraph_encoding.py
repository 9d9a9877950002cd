"""Encode namespaces, keys, values and times to live of LangGraph's stores in memories. Does not need LangGraph."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from zorkgpt.bounded import RECORD, json_object, parse_json
from zorkgpt.errors import OutOfBounds
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.places import checked_place, is_text_of_place, path_of
from zorkgpt.memory.storage.escaping import json_in_a_line, single_spaced
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.text import quoted

Namespace = tuple[str, ...]

TTL_FIELD = "ttl_minutes"
"""In the metadata of an item: its time to live in minutes, which reads may restart."""
_MAX_TTL_MINUTES = 1e9

_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_UNWRITABLE_IN_LABEL = re.compile("[.\x7f-\x9f\ud800-\udfff]")
"""Characters that `json_in_a_line` doesn't escape: periods, control characters beyond ASCII, lone surrogates."""


def items_of(memories: Iterable[Memory]) -> Iterable[Memory]:
    """Return the memories of a place that are items, which is the first current memory with each title."""
    by_title: dict[str, Memory] = {}
    for memory in memories:
        if is_current(memory):
            by_title.setdefault(single_spaced(memory.title), memory)
    return by_title.values()


def place_of(namespace: Namespace) -> PlaceKey:
    """Return the place of a non-empty namespace, a path with an element for each label."""
    return checked_place(tuple(map(_element, namespace)))


def namespace_of(place: PlaceKey) -> Namespace:
    """Return the namespace of any place."""
    return tuple(map(_label, path_of(place)))


def _element(label: str) -> int | str:
    if _NUMBER.fullmatch(label):
        return int(label)
    text, depth = _unquoted(label)
    return _quoted(text, depth - _depth_of_label(text))


def _label(element: int | str) -> str:
    if isinstance(element, int):
        return str(element)
    text, depth = _unquoted(element)
    return _quoted(text, depth + _depth_of_label(text))


def _depth_of_label(text: str) -> int:
    """Return how many times a text is quoted in a label, minus how many times in an element of a place.

    Labels can't contain periods, and labels of digits are numbers. Elements can't be blank or contain control
    characters.
    """
    is_label = text and "." not in text and not _NUMBER.fullmatch(text)
    return is_text_of_place(text) - bool(is_label)


def checked_ttl(ttl: object) -> float:
    """Return a time to live in minutes.

    Raises:
        ValueError: If it is not a number from 0 to 1,000,000,000.
    """
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not 0 <= ttl <= _MAX_TTL_MINUTES:
        raise ValueError(f"The time to live is {quoted(ttl)} minutes; it must be from 0 to {_MAX_TTL_MINUTES:.0f}.")
    return ttl


def ttl_of(memory: Memory) -> float | None:
    """Return the time to live in minutes. None if there is none or it is invalid."""
    try:
        return checked_ttl(memory.metadata.get(TTL_FIELD))
    except ValueError:
        return None


def title_of_key(key: str) -> str:
    """Return the title for a key. Keys that the file would change are quoted."""
    text, depth = _unquoted(key)
    return _quoted(text, depth + (not _is_title(text)))


def key_of_title(title: str) -> str:
    """Return the key for the title of any memory."""
    text, depth = _unquoted(title)
    return _quoted(text, depth - (not _is_title(text)))


def _is_title(text: str) -> bool:
    return bool(text) and text == single_spaced(text)


def _quoted(text: str, depth: int) -> str:
    for _ in range(depth):
        text = _UNWRITABLE_IN_LABEL.sub(lambda match: f"\\u{ord(match[0]):04x}", json_in_a_line(text))
    return text


def _unquoted(text: str) -> tuple[str, int]:
    """Reverse `_quoted`. Return the original text and the depth."""
    depth = 0
    while text.startswith('"'):
        try:
            inner = parse_json(text, RECORD)
        except OutOfBounds:
            break
        if not isinstance(inner, str) or _quoted(inner, 1) != text:
            break
        text, depth = inner, depth + 1
    return text, depth


def text_of_value(value: Mapping[str, Any]) -> str:
    """Return the text for a value: the text of `{"text": "..."}` if it is a single line, otherwise JSON."""
    plain = value.get("text")
    if isinstance(plain, str) and plain and plain == single_spaced(plain) and value_of_text(plain) == value:
        return plain
    return json_in_a_line(dict(value))


def value_of_text(text: str) -> dict[str, Any]:
    """Return the value for the text of any memory: `{"text": text}`, unless the text is a JSON object."""
    value = json_object(text, RECORD) if text.startswith("{") else None
    return {"text": text} if value is None else value
