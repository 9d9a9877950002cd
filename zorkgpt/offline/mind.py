"""What an explorer keeps in mind from turn to turn, beside its notes of the places."""

from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class LastTurn:
    """What was done on the turn before."""

    place: int
    action: str
    """In its normal form."""
    score: int | None
    aboard: bool
    """It was played in a vehicle."""


@dataclass
class Mind:
    """Of one episode. Things are known by the names that the parser takes for them."""

    turn: int = 0
    walking: tuple[int, str] | None = None
    """The room and the way that was taken out of it on the last turn, to get somewhere else."""
    last: LastTurn | None = None
    held: tuple[str, ...] = ()
    lamp: str | None = None
    """What was switched on last, as long as it gave light."""
    in_the_dark: int | None = None
    """The place, while it is the one where nothing could be seen."""
    wanted: str | None = None
    """What could not be taken on the last turn, since too much is carried already."""
    take_back: str | None = None
    """What was put somewhere in vain on the last turn."""
    way_back: str | None = None
    """The direction against the one that led here."""
    valued: set[str] = field(default_factory=set)
    """What scored when it was taken."""
    useful: set[str] = field(default_factory=set)
    """What gives light."""
    given_up: set[str] = field(default_factory=set)
    """What was put down for good."""
    blows: dict[str, int] = field(default_factory=dict)
    """How often each was struck."""
    draws: dict[int, int] = field(default_factory=dict)
    """Place → how many turns were waited there before the first blow."""
    fled_from: dict[int, int] = field(default_factory=dict)
    """Place → the turn on which it was left since somebody there meant harm."""
    holders: dict[int, list[str]] = field(default_factory=dict)
    """Place → into what, or onto what, things can be put there: "in case", "on table"."""

    @property
    def lit(self) -> bool:
        return self.lamp is not None and self.lamp in self.held

    def to_dict(self) -> dict[str, Any]:
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        state |= {name: sorted(value) for name, value in state.items() if isinstance(value, set)}
        last = self.last
        state["last"] = [last.place, last.action, last.score, last.aboard] if last else None
        state["blows"] = dict(self.blows)
        state["draws"] = {str(room): turns for room, turns in self.draws.items()}
        state["fled_from"] = {str(room): turn for room, turn in self.fled_from.items()}
        state["holders"] = {str(room): list(names) for room, names in self.holders.items()}
        return state

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Mind":
        told = dict(state)
        told |= {name: set(told[name]) for name in ("valued", "useful", "given_up")}
        told["walking"] = tuple(told["walking"]) if told["walking"] else None
        told["held"] = tuple(told["held"])
        told["last"] = LastTurn(*told["last"]) if told["last"] else None
        told["draws"] = {int(room): turns for room, turns in told["draws"].items()}
        told["fled_from"] = {int(room): turn for room, turn in told["fled_from"].items()}
        told["holders"] = {int(room): list(names) for room, names in told["holders"].items()}
        return cls(**told)
