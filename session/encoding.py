"""Plain values and dataclasses as JSON, as fast as it can be had."""

import json
from dataclasses import asdict
from typing import Any

import orjson


def as_json(value: Any) -> bytes:
    """In UTF-8 and without spaces; a dataclass is an object of its fields."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # Half a surrogate pair, which models write at times: as its escape it comes back. So do numbers beyond 64 bits.
        return json.dumps(value, separators=(",", ":"), default=asdict).encode()
