"""How namespaces, keys and values of LangGraph's stores are kept as places, titles and texts. Needs no LangGraph."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.places import checked_place, parse_place, render_place
from zorkgpt.memory.storage.escaping import json_in_a_line, one_line
from zorkgpt.memory.storage.versions import is_current

Namespace = tuple[str, ...]

_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def items_of(memories: Iterable[Memory]) -> Iterable[Memory]:
    """Return the memories of a place that are items: of several with one title, the first that is believed."""
    by_title: dict[str, Memory] = {}
    for memory in memories:
        if is_current(memory):
            by_title.setdefault(one_line(memory.title), memory)
    return by_title.values()


def place_of(namespace: Namespace) -> PlaceKey:
    """Return the place of a namespace of at least one label.

    Raises:
        ValueError: If no memory can have it as a place, for example because of a control character.
    """
    joined = ".".join(namespace)
    if _NUMBER.fullmatch(joined):
        return checked_place(int(joined))
    path = _path_in(joined)
    return path or checked_place(_quoted_in(joined, _is_plain_place, _label) or joined)


def namespace_of(place: PlaceKey) -> Namespace:
    """Return the labels of a place; one label, in quotation marks, where the labels would mean another place."""
    if isinstance(place, tuple):
        return (_path_label(place),)
    if isinstance(place, int) or _is_plain_place(place):
        return tuple(str(place).split("."))
    return (_label(place),)


def _path_label(path: tuple[int | str, ...]) -> str:
    return render_place(path).replace(".", "\\u002e")


def _path_in(label: str) -> tuple[int | str, ...] | None:
    """Return the path that `_path_label` has written; None if this is another text."""
    try:
        path = parse_place(label) if label.startswith("[") else None
    except ValueError:
        return None
    return path if isinstance(path, tuple) and _path_label(path) == label else None


def _is_plain_place(place: str) -> bool:
    if not all(place.split(".")) or _NUMBER.fullmatch(place):
        return False
    return _path_in(place) is None and _quoted_in(place, _is_plain_place, _label) is None


def _label(place: str) -> str:
    return json_in_a_line(place).replace(".", "\\u002e")


def title_of_key(key: str) -> str:
    """Return the title for a key: the key itself, or in quotation marks if the file would not keep it as it is."""
    return key if _is_plain_title(key) else json_in_a_line(key)


def key_of_title(title: str) -> str:
    """Return the key for the title of any memory."""
    return title if (key := _quoted_in(title, _is_plain_title, json_in_a_line)) is None else key


def _is_plain_title(key: str) -> bool:
    return bool(key) and key == one_line(key) and _quoted_in(key, _is_plain_title, json_in_a_line) is None


def _quoted_in(text: str, is_plain: Callable[[str], bool], quoted: Callable[[str], str]) -> str | None:
    """Return the text that was put in quotation marks because it is not plain; None if this is another text."""
    if not text.startswith('"'):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, str) and not is_plain(found) and quoted(found) == text else None


def text_of_value(value: Mapping[str, Any]) -> str:
    """Return the text for a value: the text itself for `{"text": "..."}` in one line, otherwise JSON."""
    plain = value.get("text")
    if isinstance(plain, str) and plain and plain == one_line(plain) and value_of_text(plain) == value:
        return plain
    return json_in_a_line(dict(value))


def value_of_text(text: str) -> dict[str, Any]:
    """Return the value for the text of any memory: `{"text": text}`, unless the text is an object of JSON."""
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return {"text": text}
        return value if isinstance(value, dict) else {"text": text}
    return {"text": text}
