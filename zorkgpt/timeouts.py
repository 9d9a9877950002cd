"""Calls with a time limit."""

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def with_timeout(seconds: float, call: Callable[[], Result]) -> Result:
    """Return the result of a call, or raise its error.

    A socket's own timeout restarts with every byte, so a slow server could block the caller forever.

    Raises:
        TimeoutError: If the call takes longer. It continues in a daemon thread.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=copy_context().run, args=(run,), daemon=True, name="call with a time limit").start()
    return outcome.result(timeout=seconds)
