"""Every error that this project raises on purpose."""

_LONGEST_REASON = 200


def reason_of(error: Exception) -> str:
    """What somebody else's error says, in one line: some of them hold the whole file that they complain of."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:_LONGEST_REASON]


class ZorkGPTError(Exception):
    """The base of all of them: what went wrong, with which value, and the way out."""


class OutOfBounds(ZorkGPTError, ValueError):
    """Bytes from outside are not JSON, or too many, or nested too deeply.

    Args:
        subject: What the bytes are, such as `The saved file`; see `zorkgpt.bounded`.
        reason: What is wrong with them: the end of the sentence that begins with `subject`.
    """

    # With defaults, so that another process can unpickle it.
    def __init__(self, message: str, subject: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.subject, self.reason = subject, reason


class ConfigurationError(ZorkGPTError):
    """A setting is unknown, of the wrong kind or out of its range."""


class WorkdirError(ZorkGPTError):
    """The working directory can't be used."""


class StoryError(ZorkGPTError):
    """A story file is missing, damaged or of a kind that can't be played."""


class StoryFileNotFound(StoryError):
    """There is no story file where one was asked for."""


class CommandRefused(ZorkGPTError):
    """A command may not reach the interpreter; the message is written for the player."""


class GameClosed(ZorkGPTError):
    """The interface was used after `close()`."""


class InterpreterError(ZorkGPTError):
    """The interpreter process died or hung and could not be brought back."""


class StateError(ZorkGPTError):
    """A saved state is damaged or belongs to another story."""


class LLMError(ZorkGPTError):
    """The model gave no usable answer."""


class LLMUnreachable(LLMError):
    """The model's server can't be reached, or refuses the key or the model's name."""


class MalformedResponse(LLMError):
    """The model's server sent something other than a chat completion, such as a web page."""


class InvalidAnswer(LLMError):
    """Two answers of the model in a row did not have the requested form."""


class BudgetExceeded(LLMError):
    """The ceiling on tokens or cost is reached."""


class FileError(ZorkGPTError):
    """A file can't be read, locked or written."""


class MemoryStoreError(FileError):
    """The memory file can't be read, locked or written."""


class MemoryEditError(ZorkGPTError):
    """A person's change of a memory makes no sense, or there is no such memory."""


class MemoryConflict(MemoryEditError):
    """The memory changed after the user looked at it; the edit was not applied.

    Args:
        now: The `Memory` as it stands.
    """

    # With a default, so that another process can unpickle it.
    def __init__(self, message: str, now: object = None) -> None:
        super().__init__(message)
        self.now = now


class MapFileError(FileError):
    """The map file can't be used: there is none, or a later version wrote it."""


class ObjectivesFileError(FileError):
    """The file of objectives can't be used: a later version wrote it."""


class EmbeddingError(ZorkGPTError):
    """A text could not be embedded."""


class RunLogError(ZorkGPTError):
    """A run directory is missing, empty, damaged or from a later version."""


class ViewerError(ZorkGPTError):
    """The page can't be served or written."""


class CheckpointError(RunLogError):
    """An episode can't be resumed: it does not exist, is over, is being played, or its files are damaged."""


class EpisodeInUse(CheckpointError):
    """Another process plays the episode."""


class EvaluationFailed(ZorkGPTError):
    """An episode of an evaluation ended with an error, or can't go on; what was played until then is kept."""
