"""Trials: each time that the player did what a memory it was shown speaks of, and the result."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import place_from_json, place_to_json


@dataclass(frozen=True, slots=True)
class Trial:
    """One time that the player did what a memory speaks of."""

    episode: int | str
    turn: int
    location_id: SubjectKey
    title: str
    """The title of the memory, which had been shown before the turn."""
    action: str
    result: str
    """The outcome, by the Z-machine's facts."""
    worked: bool
    """Whether the outcome is what the memory promises."""
    after: tuple[int, int] = (0, 0)
    """The memory's counts including this one: worked, tried."""

    @property
    def killed(self) -> bool:
        """Whether the player died of it, against what the memory promises."""
        return not self.worked and self.result.split("; ")[0] == "died"


_FIELDS = tuple(field.name for field in fields(Trial))


def trial_of(row: dict[str, Any]) -> Trial:
    """Build a trial from stored values.

    Raises:
        KeyError, TypeError, ValueError: They are not those of a trial.
    """
    worked, tried = row["after"]
    stored = {name: row[name] for name in _FIELDS if name != "after"}
    stored["location_id"] = place_from_json(row["location_id"])
    return Trial(**stored, after=(int(worked), int(tried)))


def trial_row(trial: Trial) -> dict[str, Any]:
    """Return the fields of a trial as plain values, which `trial_of` reads back."""
    return asdict(trial) | {"location_id": place_to_json(trial.location_id)}
