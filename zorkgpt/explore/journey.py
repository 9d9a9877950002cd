"""A way that is being walked again, held at each step against where it led before."""

from collections import Counter
from dataclasses import dataclass

from zorkgpt.explore.trail import Standing, Step, checksum
from zorkgpt.explore.ways import Way


@dataclass
class Journey:
    """The commands of a way, one after the other, for as long as they lead where they should."""

    way: Way
    done: int = 0
    """How many of its commands were played."""
    difference: str = ""
    """Why it broke off; "" if it did not."""

    @property
    def next(self) -> Step | None:
        """The step that is to be played now; None if the journey is over."""
        if self.difference or self.done >= len(self.way.steps):
            return None
        return self.way.steps[self.done]

    @property
    def arrived(self) -> bool:
        return not self.difference and self.done == len(self.way.steps)

    @property
    def turn_of_difference(self) -> int:
        """Which turn of the earlier episode led elsewhere this time; 0: none did."""
        return self.way.turns[self.done - 1] if self.difference else 0

    def follow(self, action: str, now: Standing, response: str) -> None:
        """A turn was played: go on with the next step, or break off if this one did not lead where it did before."""
        expected = self.next
        if expected is None:
            return
        self.done += 1
        if action != expected.action:
            self.difference = f"{action!r} was played instead of {expected.action!r}"
        else:
            self.difference = self._difference(expected, now, response)

    def _difference(self, expected: Step, now: Standing, response: str) -> str:
        then = expected.standing
        if now.place != then.place:
            return f"after {expected.action!r} the player was not at {expected.place_name}"
        if then.score is not None and now.score != then.score:
            return f"after {expected.action!r} the score was {now.score} instead of {then.score}"
        # Whoever has more than was carried then has lost nothing.
        if missing := Counter(then.inventory) - Counter(now.inventory):
            return f"after {expected.action!r} there was no {', '.join(sorted(missing))} in hand"
        # On a shortened way the clocks have advanced less, and so the game may say something else.
        if not self.way.shortened and checksum(response) != expected.said:
            return f"after {expected.action!r} the game said something else"
        return ""
