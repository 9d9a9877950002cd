"""The named values of a memory: how long it stays true, its category, its kind and its status."""

from enum import StrEnum
from typing import Literal

MemoryStatusType = Literal["ACTIVE", "TENTATIVE", "SUPERSEDED"]
"""The values of `MemoryStatus` as strings."""


class _NamedString(StrEnum):
    """An enumeration of strings whose members have the repr of a string."""

    def __repr__(self) -> str:
        return repr(self.value)


class Persistence(_NamedString):
    """How long a memory stays true."""

    CORE = "core", True, " [spawn]"
    """True at the start of every episode: seen on a first visit."""
    PERMANENT = "permanent"
    """True in every episode: how the game works."""
    EPHEMERAL = "ephemeral", False, " [session]"
    """True until the restart: the player's own changes to the world."""

    outlives_episode: bool
    """Whether such memories are stored, and not only kept for the running episode."""
    prompt_marker: str
    """The suffix of a memory's line in a prompt."""

    def __new__(cls, value: str, outlives_episode: bool = True, prompt_marker: str = "") -> "Persistence":
        member = str.__new__(cls, value)
        member._value_ = value
        member.outlives_episode = outlives_episode
        member.prompt_marker = prompt_marker
        return member


class Category(_NamedString):
    """The category of a memory, chosen by its author."""

    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    DISCOVERY = "DISCOVERY"
    DANGER = "DANGER"
    NOTE = "NOTE"


class MemoryKind(_NamedString):
    """The kind of fact."""

    RULE = "rule"
    """How the world works."""
    PROCEDURE = "procedure"
    """Steps toward a result."""
    DANGER = "danger"
    INSIGHT = "insight"
    TEXT = "text"
    """A text in the world: a book, a sign, an answer."""
    LOCATION = "location"
    """Where something is, or what state it is in."""


class Effect(_NamedString):
    """What an action did to the world."""

    REFUSED = "refused"
    """The parser refused the command, so it was not played as a turn."""
    ANSWERED = "answered"
    """The game replied to an action that it understood, and nothing changed."""
    NONE = "none"
    """Nothing changed, and the same action had the same response in the same state before."""
    CHANGED = "changed"


class MemoryStatus(_NamedString):
    """Whether a memory is believed."""

    ACTIVE = "ACTIVE"
    TENTATIVE = "TENTATIVE"
    SUPERSEDED = "SUPERSEDED"
