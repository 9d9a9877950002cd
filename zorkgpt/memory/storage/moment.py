"""When a change of the memory was made, and what the game had just said: for telling later where it came from."""

from dataclasses import dataclass
from typing import Any

from zorkgpt.memory.claims import Claim, claims_in
from zorkgpt.memory.storage.escaping import one_line

_LONGEST_RESPONSE = 400
_LONGEST_ACTION = 120


@dataclass(frozen=True, slots=True)
class Moment:
    """A turn of an episode."""

    episode: int | str
    turn: int
    action: str = ""
    """"" for an arrival without one, and where nobody told."""
    response: str = ""
    """What the game answered, in one line, cut where it is long."""
    state: tuple[Claim, ...] = ()
    """In which state the action was taken, as far as the ground truth tells."""

    @classmethod
    def of(
        cls, episode: int | str, turn: int, action: str = "", response: str = "", state: tuple[Claim, ...] = ()
    ) -> "Moment":
        """With texts of any length."""
        return cls(episode, turn, _cut(action, _LONGEST_ACTION), _cut(response, _LONGEST_RESPONSE), state)

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "Moment | None":
        """None where the row does not say when."""
        episode, turn = row.get("episode"), row.get("turn")
        if not isinstance(episode, (int, str)) or not isinstance(turn, int):
            return None
        state = row.get("state")
        told = claims_in(state) if isinstance(state, list) else ()
        return cls(episode, turn, str(row.get("action") or ""), str(row.get("response") or ""), told)


def _cut(text: str, limit: int) -> str:
    # Much longer texts are cut first: splitting a megabyte into words for a line of it is no use.
    line = one_line(text[: 4 * limit])
    return line if len(line) <= limit else line[: limit - 1] + "…"
