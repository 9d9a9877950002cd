"""The `Game` protocol: what the agent needs of a game engine, and all that it knows of one.

`JerichoInterface` implements it for Z-machine stories. Everything above `game_interface` speaks to the protocol;
`orchestration/assembly.py` alone chooses an implementation where none is handed in.
"""

from pathlib import Path
from typing import Any, Protocol

from game_interface.models import Language, Observation, Scene, Transition
from zorkgpt.memory.objects import PlacedObject, ThingState


class StoryIdentity(Protocol):
    """What tells one story from another. Memories, maps and checkpoints of two stories never meet."""

    @property
    def sha256(self) -> str:
        """64 lower-case hexadecimal digits that are the same for every copy of the story."""

    @property
    def title(self) -> str | None:
        """The title for people; None if unknown."""

    @property
    def path(self) -> Path:
        """The file that the story was loaded from."""

    def summary(self) -> dict[str, Any]:
        """Return what a run's record says of the story, as JSON values; `sha256` is among them."""


class Game(Protocol):
    """One game of one story.

    Objects and locations are known by integer ids that stay the same in every game of the story. Whatever the engine
    cannot tell is None or empty, never a guess. The first call of any method but `close` may begin the game.
    """

    @property
    def story(self) -> StoryIdentity: ...

    @property
    def language(self) -> Language | None:
        """The words and grammar that the parser knows; None if they are not known."""

    def get_max_score(self) -> int | None:
        """Return the highest score that can be reached, None if unknown."""

    def reset(self) -> str:
        """Begin a new game from the story's initial state, and return the opening text."""

    def observe(self) -> Observation:
        """Return the current state. Asking takes no game time."""

    def act(self, action: str) -> Transition:
        """Play one command and return everything that it did.

        Never raises because of what the command says: a command that may not be played leaves the game as it is, with
        the reason in `Transition.refused`, and one that the engine failed on is undone, with `Transition.fault` set.
        """

    def scene(self) -> Scene | None:
        """Return which objects a command can refer to now; None if the story does not tell."""

    def things(self) -> tuple[ThingState, ...]:
        """Return the visible, carried and otherwise reachable things, with what holds them and their states.

        Left out is what the text has not named since `reset`.
        """

    def all_objects(self) -> tuple[PlacedObject, ...]:
        """Return every named object of the whole world but the player and what it carries.

        This is for checking memories against a fresh world; it is never shown to a player.
        """

    def get_object_attributes(self, obj: int, /) -> dict[str, bool]:
        """Return the attributes of an object by name ("open", "takeable"); those of unknown meaning are left out."""

    def save_state(self) -> bytes:
        """Return the current state, random generator included, for `restore_state` in this or any other process."""

    def restore_state(self, saved: bytes) -> None:
        """Go to a saved state.

        Raises:
            StateError: If it is damaged or of another story; the game is where it was.
        """

    def close(self) -> None:
        """Release the engine. Closing twice does no harm; any other call afterwards raises `GameClosed`."""
