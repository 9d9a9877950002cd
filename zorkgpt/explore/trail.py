"""A finished episode as the rows of its actions."""

from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from zorkgpt.record.experience import ActionResult, ExperienceRow


@dataclass(frozen=True, eq=False)
class Trail:
    """What the actions of one episode led to."""

    episode: int
    seed: int
    rows: tuple[ExperienceRow, ...]
    player: str = ""
    story_sha256: str = ""

    @cached_property
    def steps(self) -> tuple[ExperienceRow, ...]:
        """The rows before the first death, without commands that did not reach the game."""
        lived = takewhile(lambda row: not row.shows(ActionResult.LOST), self.rows)
        return tuple(row for row in lived if not row.shows(ActionResult.UNPLAYED))

    @property
    def deadly(self) -> bool:
        """Whether the player died, or the game ended without victory."""
        return any(row.shows(ActionResult.LOST) for row in self.rows)
