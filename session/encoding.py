"""Plain values as JSON, as fast as it can be had."""

import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def as_json(value: Any) -> bytes:
    """In UTF-8 and without spaces."""
    try:
        return to_json(value)
    except PydanticSerializationError:
        # Half a surrogate pair, which models write at times: as its escape it comes back.
        return json.dumps(value, separators=(",", ":")).encode()
