"""The exceptions of this project."""

_MAX_REASON = 200


def reason_of(error: Exception) -> str:
    """Return the type and message of a foreign error in one line. Shortened, because some contain a whole file."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:_MAX_REASON]


class ZorkGPTError(Exception):
    """The base class. The message names the problem, the value and the fix."""


class OutOfBounds(ZorkGPTError, ValueError):
    """Untrusted input is not JSON, too large or nested too deeply.

    Args:
        subject: The input, such as `The saved file`. See `zorkgpt.bounded`.
        reason: The problem, as the predicate of a sentence about `subject`.
    """

    # With defaults, so that it can be unpickled.
    def __init__(self, message: str, subject: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.subject, self.reason = subject, reason


class ConfigurationError(ZorkGPTError):
    """A setting is unknown, of the wrong type or out of range."""


class WorkdirError(ZorkGPTError):
    """The working directory can't be used."""


class StoryError(ZorkGPTError):
    """A story file is missing, damaged or not playable."""


class StoryFileNotFound(StoryError):
    """The requested story file does not exist."""


class CommandRefused(ZorkGPTError):
    """A command must not be sent to the interpreter. The message is for the player."""


class GameClosed(ZorkGPTError):
    """The interface was used after `close()`."""


class InterpreterError(ZorkGPTError):
    """The interpreter process died or hung and could not be restarted."""


class StateError(ZorkGPTError):
    """A saved state is damaged or belongs to another story."""


class LLMError(ZorkGPTError):
    """The model gave no usable answer."""


class LLMUnreachable(LLMError):
    """The model's server can't be reached, or rejects the key or the model name."""


class MalformedResponse(LLMError):
    """The model's server sent something other than a chat completion, such as a web page."""


class InvalidAnswer(LLMError):
    """Two consecutive answers of the model did not have the requested form."""


class BudgetExceeded(LLMError):
    """The limit of tokens or cost is reached."""


class FileError(ZorkGPTError):
    """A file can't be read, locked or written."""


class MemoryStoreError(FileError):
    """The memory file can't be read, locked or written."""


class MemoryEditError(ZorkGPTError):
    """A user's change of a memory is invalid, or there is no such memory."""


class MemoryConflict(MemoryEditError):
    """The memory has changed since the user saw it. The edit was not applied.

    Args:
        now: The current `Memory`.
    """

    # With a default, so that it can be unpickled.
    def __init__(self, message: str, now: object = None) -> None:
        super().__init__(message)
        self.now = now


class MemoryRefused(MemoryEditError):
    """A guard refused a memory or a change of one. Nothing was changed.

    Args:
        reason: The reason as a phrase, without the memory.
        count: The metric that counts it; "" for none.
    """

    # With defaults, so that it can be unpickled.
    def __init__(self, message: str, reason: str = "", count: str = "") -> None:
        super().__init__(message)
        self.reason, self.count = reason, count


class MapFileError(FileError):
    """The map file is missing or was written by a newer version."""


class EmbeddingError(ZorkGPTError):
    """A text could not be embedded."""


class RunLogError(ZorkGPTError):
    """A run directory is missing, empty, damaged or from a newer version."""


class ViewerError(ZorkGPTError):
    """The viewer can't be served or exported."""


class CheckpointError(RunLogError):
    """An episode can't be resumed. It does not exist, has ended or is being played, or its files are damaged."""


class EpisodeInUse(CheckpointError):
    """Another process is playing the episode."""


class EvaluationFailed(ZorkGPTError):
    """An episode of an evaluation ended with an error or can't be resumed. Its progress is kept."""


def first_format(name: str) -> MemoryStoreError:
    """Return the error for a database of the first format, in which memories were stored as Markdown."""
    return MemoryStoreError(
        f"{name} was written by an earlier version. Copy it once: `zorkgpt memories convert NEW --file OLD`, where NEW "
        "is a new file or address."
    )
