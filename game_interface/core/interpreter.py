"""The interpreter of a story, which is restarted if its process has died."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from game_interface.core.worker import InterpreterState, Worker, WorkerFailure
from zorkgpt.errors import InterpreterError
from zorkgpt.extras import require


class Interpreter:
    """Starts a story or restores one of its states, in a new process if necessary.

    Args:
        story: The path of the story file.
    """

    def __init__(self, story: Path, worker: Worker) -> None:
        self._story, self._worker = story, worker

    def restart(self) -> InterpreterState:
        """Restart the story and return its first state.

        Raises:
            InterpreterError: If the story can't be started.
        """
        try:
            return _with_retry(self._worker.reset)
        except WorkerFailure as failure:
            require("game")
            raise InterpreterError(
                f"The story {self._story} can't be started: {failure}. It may be damaged. Get a new copy."
            ) from failure

    def load(self, state: bytes) -> InterpreterState:
        """Restore a state.

        Raises:
            InterpreterError: If the interpreter can't be restarted.
        """
        try:
            return _with_retry(partial(self._worker.load, state))
        except WorkerFailure as failure:
            raise InterpreterError(
                f"The interpreter for {self._story} can't be restarted: {failure}. Start the episode again."
            ) from failure


def _with_retry(request: Callable[[], InterpreterState]) -> InterpreterState:
    """Send a request to the worker. If the process fails, try once more in a new one."""
    try:
        return request()
    except WorkerFailure:
        return request()
