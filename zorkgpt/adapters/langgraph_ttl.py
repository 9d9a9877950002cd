"""The thread that deletes expired items of a LangGraph store at regular intervals."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

_log = logging.getLogger(__name__)


class TtlSweeper:
    """A daemon thread that deletes expired items.

    Args:
        sweep: Deletes expired items and returns their number. Errors are logged, and it is called again later.
    """

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._futures: list[Future[None]] = []

    def start(self, interval_minutes: float) -> Future[None]:
        """Start the thread unless it is running. Return a future that ends with it. Canceling it stops the thread.

        Raises:
            ValueError: If the interval is not positive.
        """
        if not 0 < interval_minutes * 60 <= threading.TIMEOUT_MAX:
            raise ValueError(f"The interval is {interval_minutes} minutes, but it must be positive.")
        future: Future[None] = Future()
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stopping, self._futures = threading.Event(), []
                arguments = (interval_minutes * 60, self._stopping, self._futures)
                self._thread = threading.Thread(target=self._run, args=arguments, daemon=True, name="ttl-sweeper")
                self._thread.start()
            self._futures.append(future)
            stopping = self._stopping
        future.add_done_callback(lambda done: stopping.set() if done.cancelled() else None)
        return future

    def stop(self, timeout_s: float | None = None) -> bool:
        """Stop the thread. Return False if it is still running after the timeout. By default, wait without limit."""
        with self._lock:
            thread = self._thread
            self._stopping.set()
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    def _run(self, interval_s: float, stopping: threading.Event, futures: list[Future[None]]) -> None:
        while not stopping.wait(interval_s):
            try:
                if deleted := self._sweep():
                    _log.info("expired items deleted", extra={"count": deleted})
            except Exception as error:
                _log.warning("expired items not deleted", extra={"error": str(error)})
        with self._lock:
            for future in futures:
                if future.set_running_or_notify_cancel():
                    future.set_result(None)
