"""Parse untrusted bytes within limits: model answers, imported files, saved files and database rows."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from zorkgpt.errors import OutOfBounds

_BRACKETS = re.compile(r"[\[{}\]]")
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The limits of one kind of input, and the parts of its error messages."""

    name: str
    """The subject of error messages, with "The"."""
    consequence: str
    """A sentence that says what happens to input beyond the limits."""
    max_bytes: int
    """Maximum number of bytes, or of characters in decoded text."""
    max_depth: int = 100
    """Maximum nesting depth of arrays and objects."""

    def refuse(self, reason: str) -> NoReturn:
        """Raise `OutOfBounds`.

        Args:
            reason: The predicate of the error message, such as `has more than 100 bytes`.
        """
        raise OutOfBounds(f"{self.name} {reason}. {self.consequence}", subject=self.name, reason=reason)

    def check_size(self, size: int) -> None:
        """Raise `OutOfBounds` if there are more bytes than allowed."""
        if size > self.max_bytes:
            self.refuse(f"has more than {self.max_bytes:,} bytes")


MODEL_ANSWER = ReadLimits("The model's answer", "It is not used.", _MEGABYTE)
MODEL_RESPONSE = ReadLimits("The response of the model's server", "The call counts as failed.", 32 * _MEGABYTE)
"""The whole body. In a streamed answer, each token takes about 250 bytes."""
ADDRESS = ReadLimits("The key", "Nothing was changed.", 100_000)
"""The key of a place, or a scope, from a user or another program."""
SETTING = ReadLimits("The setting", "It is refused.", _MEGABYTE)
IMPORTED_FILE = ReadLimits("The file", "Nothing was imported.", 512 * _MEGABYTE)
SAVED_FILE = ReadLimits("The saved file", "It is not used.", 256 * _MEGABYTE)
"""A file written by this program."""
RECORD = ReadLimits("The record", "It is skipped.", 16 * _MEGABYTE)
"""A line of a log, or a row of a database."""


# The grammars of some servers allow line breaks in strings.
_LENIENT = json.JSONDecoder(strict=False)
_STRICT = json.JSONDecoder()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse_constant(number)


_FINITE = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def parse_json(text: str | bytes, limits: ReadLimits, *, lenient: bool = False, finite: bool = False) -> Any:
    """Parse a JSON text in linear time.

    Args:
        lenient: Accept control characters in strings.
        finite: Reject NaN, infinity and numbers too large for a float, which Python's parser accepts.

    Raises:
        OutOfBounds: If it is not JSON, or is larger or nested deeper than allowed. It is a `ValueError`.
    """
    limits.check_size(len(text))
    decoder = _LENIENT if lenient else _FINITE if finite else _STRICT
    try:
        decoded = text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")
        value = decoder.decode(decoded)
    except RecursionError:
        limits.refuse(_too_deep(limits))
    except ValueError as error:
        limits.refuse(f"is not JSON: {error}")
    _check_depth(value, decoded, limits)
    return value


def json_object(text: str | bytes, limits: ReadLimits) -> dict[str, Any] | None:
    """Parse a JSON object. None if it is not one, or exceeds the limits."""
    try:
        value = parse_json(text, limits)
    except OutOfBounds:
        return None
    return value if isinstance(value, dict) else None


def parse_json_at(text: str, start: int, limits: ReadLimits) -> tuple[Any, int]:
    """Parse the JSON value at an index of a model's answer. Return it with the index after it.

    Raises:
        OutOfBounds: See `parse_json`.
    """
    limits.check_size(len(text))
    try:
        value, end = _LENIENT.raw_decode(text, start)
    except RecursionError:
        limits.refuse(_too_deep(limits))
    except ValueError as error:
        limits.refuse(f"is not JSON: {error}")
    _check_depth(value, text[start:end], limits)
    return value, end


def _too_deep(limits: ReadLimits) -> str:
    return f"is nested more than {limits.max_depth} deep"


def _check_depth(value: Any, text: str, limits: ReadLimits) -> None:
    # A fast path, because almost every text has fewer brackets than the limit.
    if text.count("[") + text.count("{") <= limits.max_depth:
        return
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limits.max_depth):
        inner = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
        level = [part for part in inner if isinstance(part, dict | list)]
        if not level:
            return
    limits.refuse(_too_deep(limits))


def nests_deeply(text: str, max_depth: int) -> bool:
    """Return whether more than `max_depth` brackets are open at some index of any text."""
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > max_depth:
            return True
    return False


def read_file(path: Path, limits: ReadLimits) -> bytes:
    """Return the content of a file. At most the limit is read.

    Raises:
        OutOfBounds: If the file is larger.
        OSError: If the file can't be read.
    """
    with path.open("rb") as file:
        data = file.read(limits.max_bytes + 1)
    limits.check_size(len(data))
    return data


def saved_json(path: Path) -> Any:
    """Return the value in a JSON file written by this program.

    Raises:
        OutOfBounds: If the file is damaged.
        OSError: If the file can't be read.
    """
    return parse_json(read_file(path, SAVED_FILE), SAVED_FILE)


def lines_of(file: BinaryIO, limits: ReadLimits) -> Iterator[bytes]:
    """Yield the lines of a file with their line breaks. Lines beyond the limit are truncated."""
    while line := file.readline(limits.max_bytes):
        yield line
        while not line.endswith(b"\n") and len(line) == limits.max_bytes:
            line = file.readline(limits.max_bytes)
