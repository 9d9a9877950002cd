"""The counts of an episode, as another version of this program may have kept them."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def counts_of(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """The counts that were kept: one that this version does not know is passed over, one that is missing is zero."""
    known = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in given.items() if name in known})
