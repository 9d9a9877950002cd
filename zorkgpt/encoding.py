"""Plain values and dataclasses as JSON, as fast as it can be had."""

import json
from dataclasses import asdict
from typing import Any

import orjson


def as_json(value: Any, *, indented: bool = False) -> bytes:
    """In UTF-8; a dataclass is an object of its fields.

    Args:
        indented: over many lines, for people; else on one, without spaces.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indented else None)
    except TypeError:
        # Half a surrogate pair, which models write at times: as its escape it comes back. So do numbers beyond 64 bits.
        indent, separators = (2, None) if indented else (None, (",", ":"))
        text = json.dumps(value, indent=indent, separators=separators, default=asdict, ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace")
