"""Read bytes from outside within limits: answers of models, imported files, saved files and rows of databases."""

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
    """The limits of one kind of bytes from outside, and what happens to bytes beyond them."""

    name: str
    """The subject of error messages, with "The"."""
    consequence: str
    """The sentence after that: what happens to the bytes."""
    max_bytes: int
    """The most bytes, or characters of a text that is decoded already."""
    max_depth: int = 100
    """The most arrays and objects inside each other."""

    def refuse(self, reason: str) -> NoReturn:
        """Raise `OutOfBounds`.

        Args:
            reason: The end of a sentence about the bytes, such as `has more than 100 bytes`.
        """
        raise OutOfBounds(f"{self.name} {reason}. {self.consequence}", subject=self.name, reason=reason)

    def check_size(self, size: int) -> None:
        """Raise `OutOfBounds` if there are more bytes than allowed."""
        if size > self.max_bytes:
            self.refuse(f"has more than {self.max_bytes:,} bytes")


MODEL_ANSWER = ReadLimits("The model's answer", "It is not used.", _MEGABYTE)
MODEL_RESPONSE = ReadLimits("The response of the model's server", "The call counts as failed.", 32 * _MEGABYTE)
"""The whole body: each token of a streamed answer takes some 250 bytes."""
ADDRESS = ReadLimits("The key", "Nothing was changed.", 100_000)
"""The key of a place, or a scope, as a person or another program writes it."""
SETTING = ReadLimits("The setting", "It is refused.", _MEGABYTE)
IMPORTED_FILE = ReadLimits("The file", "Nothing was imported.", 512 * _MEGABYTE)
SAVED_FILE = ReadLimits("The saved file", "It is not used.", 256 * _MEGABYTE)
"""A file that this program wrote and reads as a whole."""
RECORD = ReadLimits("The record", "It is skipped.", 16 * _MEGABYTE)
"""A line of a log, or a row of a database."""


# The grammars of some servers let a line break into a string.
_LENIENT = json.JSONDecoder(strict=False)
_STRICT = json.JSONDecoder()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a value of JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse_constant(number)


_FINITE = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def parse_json(text: str | bytes, limits: ReadLimits, *, lenient: bool = False, finite: bool = False) -> Any:
    """Return the value of a JSON text, in time linear in its length.

    Args:
        lenient: Accept control characters in strings.
        finite: Refuse NaN, infinity and numbers too large for a float, which Python's parser accepts.

    Raises:
        OutOfBounds: If it is not JSON, or larger or nested deeper than allowed. It is a `ValueError`.
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
    """Return the object of a JSON text; None if it is not one, or beyond the limits."""
    try:
        value = parse_json(text, limits)
    except OutOfBounds:
        return None
    return value if isinstance(value, dict) else None


def parse_json_at(text: str, start: int, limits: ReadLimits) -> tuple[Any, int]:
    """Return the JSON value that begins at this index of a model's answer, and the index behind it.

    Raises:
        OutOfBounds: As `parse_json`.
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
    # Almost every text has fewer brackets than that, which is quickly counted.
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
    """Return whether more than `max_depth` brackets are open at some index of a text, JSON or not."""
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > max_depth:
            return True
    return False


def read_file(path: Path, limits: ReadLimits) -> bytes:
    """Return the content of a file, which is never read further than the limit.

    Raises:
        OutOfBounds: If it is larger.
        OSError: If it can't be read.
    """
    with path.open("rb") as file:
        data = file.read(limits.max_bytes + 1)
    limits.check_size(len(data))
    return data


def saved_json(path: Path) -> Any:
    """Return the value in a JSON file that this program wrote.

    Raises:
        OutOfBounds: If it is damaged.
        OSError: If it can't be read.
    """
    return parse_json(read_file(path, SAVED_FILE), SAVED_FILE)


def lines_of(file: BinaryIO, limits: ReadLimits) -> Iterator[bytes]:
    """Yield the lines of a file, each with its line break; a line beyond the limit is cut."""
    while line := file.readline(limits.max_bytes):
        yield line
        while not line.endswith(b"\n") and len(line) == limits.max_bytes:
            line = file.readline(limits.max_bytes)
