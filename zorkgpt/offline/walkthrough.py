"""A player that takes its commands from a walkthrough."""

from collections.abc import Sequence
from pathlib import Path

from zorkgpt.bounded import ReadLimits, read_file
from zorkgpt.errors import ZorkGPTError
from zorkgpt.player import AgentDecision, Player, PlayerContext, PlayerStopped

_LIMITS = ReadLimits("The walkthrough", "It is not played.", 1 << 20)


class WalkthroughPlayer(Player):
    """Plays the given commands in order, one per turn. Every episode starts with the first one."""

    def __init__(self, commands: Sequence[str]) -> None:
        self.commands = tuple(commands)

    @classmethod
    def from_file(cls, path: Path) -> "WalkthroughPlayer":
        """Read a file with one command per line. Empty lines and lines that begin with `#` are skipped.

        Raises:
            ZorkGPTError: If the file is missing, too large or has no command.
        """
        try:
            lines = read_file(path, _LIMITS).decode("utf-8").splitlines()
        except OSError as error:
            raise ZorkGPTError(f"The walkthrough {path} can't be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise ZorkGPTError(
                f"The walkthrough {path} is not a text file. It needs one command per line, in UTF-8."
            ) from None
        commands = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        if not commands:
            raise ZorkGPTError(f"The walkthrough {path} has no commands. Write one per line.")
        return cls(commands)

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        number = context.turn
        if number > len(self.commands):
            raise PlayerStopped(f"The walkthrough ends after {len(self.commands)} commands.")
        return AgentDecision(self.commands[number - 1], f"Command {number} of {len(self.commands)} of the walkthrough.")
