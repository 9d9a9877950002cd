"""The `Game` protocol: the interface between the agent and a game engine.

`JerichoInterface` implements it for Z-machine stories. Other packages use only the protocol, except
`orchestration/assembly.py`, which creates the default implementation.
"""

from pathlib import Path
from typing import Any, Protocol

from game_interface.models import Language, Observation, Scene, Transition
from zorkgpt.memory.objects import PlacedObject, ThingState


class StoryIdentity(Protocol):
    """The identity of a story. Memories, maps and checkpoints belong to one story."""

    @property
    def sha256(self) -> str:
        """64 lowercase hexadecimal digits, the same for every copy of the story."""

    @property
    def title(self) -> str | None:
        """The title, for display. None if unknown."""

    @property
    def path(self) -> Path:
        """The file that the story was loaded from."""

    def summary(self) -> dict[str, Any]:
        """Return a description for the run's files, as JSON values that include `sha256`."""


class Game(Protocol):
    """A game played from one story.

    Objects and locations have integer ids that are the same in every game of the story. Unknown values are None or
    empty, never guessed. The first call of any method except `close` may start the game.
    """

    @property
    def story(self) -> StoryIdentity: ...

    @property
    def language(self) -> Language | None:
        """The vocabulary and grammar of the parser. None if unknown."""

    def get_max_score(self) -> int | None:
        """Return the maximum score. None if unknown."""

    def reset(self) -> str:
        """Start a new game and return the opening text."""

    def observe(self) -> Observation:
        """Return the current state. This takes no turn."""

    def act(self, action: str) -> Transition:
        """Play a command and return its effects.

        A command that is not allowed is not played, and `Transition.refused` has the reason. If the engine fails, the
        command is undone, and `Transition.fault` has the reason. Neither raises an error.
        """

    def scene(self) -> Scene | None:
        """Return the objects that a command can refer to now. None if unknown."""

    def things(self) -> tuple[ThingState, ...]:
        """Return the visible, carried and otherwise reachable things, with their holders and states.

        Things that the text has not named since `reset` are left out.
        """

    def all_objects(self) -> tuple[PlacedObject, ...]:
        """Return every named object of the world, except the player and carried things.

        Used to check memories in a new game. Never shown to a player.
        """

    def get_object_attributes(self, obj: int, /) -> dict[str, bool]:
        """Return the object's attributes of known meaning, by name ("open", "takeable")."""

    def save_state(self) -> bytes:
        """Return the current state, including the random generator. Any process can restore it with `restore_state`."""

    def restore_state(self, saved: bytes) -> None:
        """Restore a saved state.

        Raises:
            StateError: If the state is damaged or belongs to another story. The game is unchanged.
        """

    def close(self) -> None:
        """Release the engine. Can be called several times. Any other call afterwards raises `GameClosed`."""
