"""What is recorded of an episode so that it can be resumed."""

import base64
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from session.history import Rejection


@dataclass(frozen=True, slots=True)
class TurnDecision:
    """The action of a turn and how it was chosen, recorded before it is played."""

    turn: int
    action: str
    reasoning: str
    player: str
    """Who chose the action, as in `TurnRecord`."""
    rejections: tuple[Rejection, ...] = ()
    score: float | None = None
    """The critic's score of the action."""
    follow: int = 0
    """As in `TurnRecord`."""
    noted: tuple[dict[str, str], ...] = ()
    """The facts that the player noted with a tool. See `zorkgpt.context.tools.AgentTools`."""


class Run(BaseModel):
    """The story, player and options of an episode, which must be the same when it is resumed."""

    model_config = ConfigDict(frozen=True)

    story: str = Field(pattern="^[0-9a-f]{64}$")
    """The sha256 of the story file."""
    story_path: str
    title: str
    seed: int = Field(ge=1)
    player: str
    remember: bool
    max_turns: int = Field(ge=1)
    walkthrough: str | None = None


class Checkpoint(BaseModel):
    """The state at the end of a turn, as far as it can't be rebuilt from the turns."""

    model_config = ConfigDict(frozen=True)

    turn: int = Field(ge=0)
    """The last turn before it."""
    run: Run
    game: str
    """The interpreter's saved state, including its random generator, as base64."""
    memory: dict[str, Any] | None
    """The result of `SimpleMemoryManager.snapshot`. None without memory."""
    questions: list[dict[str, Any]]
    """The open background questions."""

    @property
    def game_state(self) -> bytes:
        """The interpreter's saved state."""
        return base64.b64decode(self.game)


def as_text(state: bytes) -> str:
    """Return the interpreter's saved state as base64."""
    return base64.b64encode(state).decode("ascii")
