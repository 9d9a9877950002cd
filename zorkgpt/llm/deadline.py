"""A limit on how long a call may take in all."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """What the call returns or raises.

    A socket's own time limit starts anew with every byte, so a server that trickles would hold the caller for ever.

    Raises:
        TimeoutError: it took longer. It is left to itself, in a thread that does not keep the process alive.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=run, daemon=True, name="model call").start()
    return outcome.result(timeout=seconds)
