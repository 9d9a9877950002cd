"""The lines in which the player itself sets an objective, gives one up or says that one is done."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"^[ \t>*_`-]*(NEW OBJECTIVE|DROP OBJECTIVE|DONE)[ \t*_`]*:(.*)$", re.MULTILINE)
_MOST = 3
"""The most lines of each kind that count in one turn."""
_QUOTING = " \t\"'*_`."


@dataclass(frozen=True, slots=True)
class OwnLines:
    """What the player's reasons say of its objectives."""

    new: tuple[str, ...] = ()
    """The texts of new objectives."""
    done: tuple[str, ...] = ()
    """Numbers or texts of objectives that are done."""
    dropped: tuple[str, ...] = ()
    """Numbers or texts of objectives that the player gives up."""


def own_lines(reasons: str) -> OwnLines:
    """Return the lines `NEW OBJECTIVE: ...`, `DONE: ...` and `DROP OBJECTIVE: ...` in a player's reasons."""
    found: dict[str, dict[str, None]] = {"NEW OBJECTIVE": {}, "DONE": {}, "DROP OBJECTIVE": {}}
    for kind, text in _LINE.findall(reasons):
        if words := " ".join(text.split()).strip(_QUOTING):
            found[kind][words] = None
    new, done, dropped = (tuple(texts)[:_MOST] for texts in found.values())
    return OwnLines(new, done, dropped)
