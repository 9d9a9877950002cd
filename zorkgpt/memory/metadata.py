"""What a caller may note with a memory: values of its own, and when it expires."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from zorkgpt.bounded import ReadLimits, parse_json
from zorkgpt.errors import OutOfBounds
from zorkgpt.text import quoted

_METADATA = ReadLimits("The metadata", "Make it smaller, or flatter.", 10_000, max_depth=50)
"""Flatter than the records that contain it, which are refused below 100."""


def checked_metadata(value: object) -> dict[str, Any]:
    """Return a copy of metadata.

    Raises:
        TypeError: It is no mapping with texts as keys.
        ValueError: A value is none of JSON, or the whole is longer than 10,000 characters as JSON or nested more than
            50 deep.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"The metadata is {quoted(value)}; it must be a dict with texts as keys.")
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
    """Return a moment in UTC as ISO 8601 with microseconds; None for None.

    Args:
        value: a moment with its time zone, as a `datetime` or as ISO 8601, or a `timedelta` from now.

    Raises:
        TypeError, ValueError: It is something else, or has no time zone.
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
    """Return this moment as `checked_time` does."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
