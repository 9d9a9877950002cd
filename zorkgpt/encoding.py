"""Encode values and dataclasses as JSON."""

import json
from dataclasses import asdict
from typing import Any

import orjson


def as_json(value: Any, *, indented: bool = False) -> bytes:
    """Return a value as JSON in UTF-8. A dataclass becomes an object with its fields.

    Args:
        indented: Whether to write several indented lines instead of one line without spaces.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indented else None)
    except TypeError:
        # orjson rejects lone surrogates, which some models write, and integers beyond 64 bits.
        indent, separators = (2, None) if indented else (None, (",", ":"))
        text = json.dumps(value, indent=indent, separators=separators, default=asdict, ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace")
