"""What actions led to: one row per action, with queries by place, action and state.

Places and states are compared but not interpreted. The rows are a fold over turns. Resuming an episode adds those of
its turns again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Place = int | str | tuple[int | str, ...] | None


class ActionResult(IntEnum):
    """The flags of a row's outcome, as powers of two.

    Without a game, the memory sets only FAILED, REFUSED, SHOWN and CHANGED.
    """

    WORKED = 1
    """It led elsewhere or had an effect that its verb intends."""
    EFFECTIVE = 2
    """It had such an effect other than a change of location."""
    AFFECTED = 4
    """It moved or changed an object."""
    UNCHANGED = 8
    """It changed nothing."""
    FAILED = 16
    """It was meant to change something but did not, or the interpreter failed on it."""
    REFUSED = 32
    """The parser rejected it, so it took no time."""
    UNPLAYED = 64
    """It did not reach the game."""
    LOST = 128
    """The player died, or the game ended without victory."""
    WON = 256
    """It won the game."""
    ANSWERED = 512
    """It answered a question instead of giving a command."""
    ALTERED = 1024
    """It changed an attribute of an object."""
    DARK = 2048
    """It ended in the dark."""
    SHOWN = 4096
    """The turn shows its outcome: it was a command that was played and did not only lead to a question."""
    CHANGED = 8192
    """Anything but the player's location changed, by any cause that the player may have noticed."""


@dataclass(frozen=True, slots=True)
class ExperienceRow:
    """An action and what it led to."""

    episode: int | str
    turn: int
    place: Place
    """The place of the action. None if unknown."""
    action: str
    """The action in the form in which actions are compared."""
    state: str = ""
    """A digest of the state before it, as far as it affects the outcome."""
    outcome: int = 0
    """A set of `ActionResult`."""
    points: int = 0
    result: str = ""
    """What it led to, as the memory describes it. "" if unknown."""
    response: str = ""
    """The response to an action without effect."""
    command: str = ""
    """The action as it was given."""
    reached: Place = None
    """The place after it."""
    score: int | None = None
    """The score after it. None if unknown."""
    seen: tuple[tuple[int, str], ...] = ()
    """The numbers and names of the things in sight after it, without those carried."""
    tried: tuple[int, ...] = ()
    """The numbers of the things at hand that it named, moved or changed."""
    overruled: tuple[str, ...] = ()
    """The judges that had rejected it."""

    def shows(self, outcome: int) -> bool:
        """Return whether the outcome has one of these flags."""
        return bool(self.outcome & outcome)

    @property
    def stayed(self) -> bool:
        """Whether it ended at the same place."""
        return self.reached == self.place


_try = attrgetter("place", "action", "state", "response")
"""What repeated tries have in common."""


class Experience:
    """The rows of one or more episodes, in order.

    Args:
        earlier: The experience of earlier episodes, complete.
    """

    def __init__(self, earlier: "Experience | None" = None) -> None:
        self.earlier = earlier
        self.clear()

    def clear(self) -> None:
        """Drop the rows, but not the earlier experience."""
        self.rows: list[ExperienceRow] = []
        self._at: dict[Place, list[ExperienceRow]] = {}
        self._tries: dict[Place, dict[str, list[ExperienceRow]]] = {}
        self.outcomes: dict[str, Counter[int]] = {}
        """Action → how often each outcome occurred, in all episodes."""
        self.latest: dict[Place, ExperienceRow] = {}
        """Place → the last row that ended there, in all episodes, the latest row last."""
        self.tried: set[int] = set()
        """The numbers of the things that an action has named, moved or changed, in all episodes."""
        self._overruling: dict[str, list[ExperienceRow]] = {}
        if self.earlier is not None:
            self.outcomes = {action: counts.copy() for action, counts in self.earlier.outcomes.items()}
            self.latest, self.tried = dict(self.earlier.latest), set(self.earlier.tried)

    def add(self, row: ExperienceRow) -> None:
        """Append a row."""
        self.rows.append(row)
        self._at.setdefault(row.place, []).append(row)
        self._tries.setdefault(row.place, {}).setdefault(row.action, []).append(row)
        self.outcomes.setdefault(row.action, Counter())[row.outcome] += 1
        self.latest.pop(row.reached, None)
        self.latest[row.reached] = row
        self.tried.update(row.tried)
        for judge in row.overruled:
            self._overruling.setdefault(judge, []).append(row)

    def tries(self, place: Place) -> Mapping[str, Sequence[ExperienceRow]]:
        """Return action → its rows at a place, without earlier episodes, in the order of the first tries."""
        return self._tries.get(place, {})

    def at(self, place: Place) -> Iterator[ExperienceRow]:
        """Yield the rows of a place, earlier episodes first."""
        yield from self.earlier.at(place) if self.earlier else ()
        yield from self._at.get(place, ())

    def count(self, action: str, outcome: int | None = None) -> int:
        """Return how often an action was taken at any place, in all episodes.

        Args:
            outcome: Counts only the rows with one of these flags.
        """
        outcomes = self.outcomes.get(action, Counter())
        if outcome is None:
            return sum(outcomes.values())
        return sum(times for shown, times in outcomes.items() if shown & outcome)

    def overruling(self, judge: str) -> Iterator[ExperienceRow]:
        """Yield the rows of the actions that this judge had rejected, earlier episodes first."""
        yield from self.earlier.overruling(judge) if self.earlier else ()
        yield from self._overruling.get(judge, ())

    @property
    def overruled(self) -> list[str]:
        """The judges that were overruled in this episode."""
        return list(self._overruling)

    def saved(self) -> list[Any]:
        """Return the rows, without earlier episodes, as plain values for JSON."""
        plain: list[Any] = _format().dump_python(self.rows, mode="json")
        return plain

    def restore(self, saved: object) -> None:
        """Replace the rows by those that `saved` returned.

        Raises:
            ValueError: If they are invalid.
        """
        rows = _format().validate_python(saved)
        self.clear()
        for row in rows:
            self.add(row)

    @property
    def repeats_itself(self) -> bool:
        """Whether the last action failed in the same way in the same state before, and nothing has changed since."""
        last, *others = reversed(self.rows)
        if not last.shows(ActionResult.FAILED) or last.shows(ActionResult.CHANGED):
            return False
        since_change = takewhile(lambda row: not row.shows(ActionResult.CHANGED) or _try(row) == _try(last), others)
        return any(_try(row) == _try(last) for row in since_change)

    def times(self, place: Place, action: str) -> int:
        """Return how often an action was taken at a place, without earlier episodes."""
        return len(self.tries(place).get(action, ()))

    def latest_in(self, place: Place, state: str) -> Iterator[ExperienceRow]:
        """Yield the latest row of each action at a place in a state, without earlier episodes."""
        for rows in self.tries(place).values():
            yield from [row for row in rows if row.state == state][-1:]


@lru_cache
def _format() -> "TypeAdapter[list[ExperienceRow]]":
    # pydantic is slow to load, and is needed only here.
    from pydantic import TypeAdapter

    return TypeAdapter(list[ExperienceRow])
