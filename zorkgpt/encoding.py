"""Encode plain values and dataclasses as JSON, fast."""

import json
from dataclasses import asdict
from typing import Any

import orjson


def as_json(value: Any, *, indented: bool = False) -> bytes:
    """Return a value as JSON in UTF-8; a dataclass becomes an object of its fields.

    Args:
        indented: Write it on many lines for people, else on one line without spaces.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indented else None)
    except TypeError:
        # orjson refuses lone surrogates, which models write at times, and numbers beyond 64 bits.
        indent, separators = (2, None) if indented else (None, (",", ":"))
        text = json.dumps(value, indent=indent, separators=separators, default=asdict, ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace")
