"""When a failed request is sent again."""

from zorkgpt.llm.failures import Failure, FailureKind
from zorkgpt.llm.settings import LLMSettings

_MAX_DELAY_S = 8.0
_REPEATED = (FailureKind.TRANSIENT, FailureKind.ABSENT)


class Retries:
    """The repetitions of one request.

    Args:
        max_retries: Maximum repetitions after time-outs, lost connections and errors of the server.
    """

    def __init__(self, settings: LLMSettings, max_retries: int) -> None:
        self._settings = settings
        self._max_retries = max_retries
        self._waits: dict[FailureKind, list[float]] = {}
        self.repeats = 0
        """How often the request was sent again after a failure other than a wait that the server asked for."""

    def delay_s(self, failure: Failure) -> float | None:
        """Return the time until the request is sent again. None if it isn't."""
        kind = failure.kind
        waits = self._waits.setdefault(kind, [])
        grown = min(self._settings.retry_delay_s * 2 ** len(waits), _MAX_DELAY_S)
        if kind is FailureKind.LOADING or (kind is FailureKind.RATE_LIMIT and failure.wait_s is not None):
            # A server that is wrong about the time is not asked ever more often.
            delay = grown if failure.wait_s is None else max(failure.wait_s, grown if waits else 0)
            is_loading = kind is FailureKind.LOADING
            patience = self._settings.loading_wait_s if is_loading else self._settings.rate_limit_wait_s
            if sum(waits) + delay > patience:
                return None
        elif kind in (*_REPEATED, FailureKind.RATE_LIMIT) and self.repeats < self._max_retries:
            self.repeats += 1
            delay = grown if failure.wait_s is None else min(failure.wait_s, self._settings.loading_wait_s)
        else:
            return None
        waits.append(delay)
        return delay
