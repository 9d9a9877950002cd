"""Lines in a player's reasons that add an objective, drop one or report one as done."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"^[ \t>*_`-]*(NEW OBJECTIVE|DROP OBJECTIVE|DONE)[ \t*_`]*:(.*)$", re.MULTILINE)
_MOST = 3
"""Maximum lines of each kind per turn."""
_QUOTING = " \t\"'*_`."


@dataclass(frozen=True, slots=True)
class OwnLines:
    """The player's own changes to its objectives."""

    new: tuple[str, ...] = ()
    """The texts of new objectives."""
    done: tuple[str, ...] = ()
    """Numbers or texts of objectives that are done."""
    dropped: tuple[str, ...] = ()
    """Numbers or texts of objectives to drop."""


def own_lines(reasons: str) -> OwnLines:
    """Return the lines `NEW OBJECTIVE: ...`, `DONE: ...` and `DROP OBJECTIVE: ...` in a player's reasons."""
    by_kind: dict[str, dict[str, None]] = {"NEW OBJECTIVE": {}, "DONE": {}, "DROP OBJECTIVE": {}}
    for kind, text in _LINE.findall(reasons):
        if words := " ".join(text.split()).strip(_QUOTING):
            by_kind[kind][words] = None
    new, done, dropped = (tuple(texts)[:_MOST] for texts in by_kind.values())
    return OwnLines(new, done, dropped)
