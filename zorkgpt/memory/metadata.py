"""What a caller may note with a memory: values of its own, and when it expires."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from zorkgpt.text import quoted

_LONGEST = 10_000


def checked_metadata(value: object) -> dict[str, Any]:
    """Return a copy of metadata.

    Raises:
        TypeError: It is no mapping with texts as keys.
        ValueError: A value is none of JSON, or the whole is longer than 10,000 characters as JSON.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"The metadata is {quoted(value)}; it must be a dict with texts as keys.")
    try:
        written = json.dumps(dict(value), allow_nan=False)
        copied: dict[str, Any] = json.loads(written)
    except RecursionError:
        raise ValueError("The metadata is nested too deeply for JSON. Make it flatter.") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"The metadata is {quoted(value)}; its values must be those of JSON: {error}.") from None
    if len(written) > _LONGEST:
        raise ValueError(f"The metadata has {len(written)} characters as JSON; the most are {_LONGEST}.")
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
    except (ValueError, OverflowError):
        raise ValueError(f"The time is {quoted(value)}; it must be such as 2027-01-31T12:00:00+00:00.") from None
    if not isinstance(moment, datetime):
        raise TypeError(f"The time is {quoted(value)}; it must be a datetime or a timedelta.")
    if moment.tzinfo is None:
        raise ValueError(f"The time is {moment.isoformat()}; say which time zone, such as +00:00.")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def utc_now() -> str:
    """Return this moment as `checked_time` does."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
