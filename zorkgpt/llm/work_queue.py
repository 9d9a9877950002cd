"""The work whose questions to models are open, in the order in which it was begun."""

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from time import monotonic

from zorkgpt.llm.background_work import OpenQuestion, Work


class WorkQueue:
    """Lets work go on when its question is answered.

    Work of one kind goes on in the order in which it was begun, whichever answer comes first.
    """

    def __init__(self) -> None:
        self._open: list[Work] = []

    def begin(self, work: Work) -> None:
        """Run work up to its first question; to its end if it asks none."""
        self._open.append(work)
        self._run(work)

    def is_open(self, kind: str) -> bool:
        """Return whether work of this kind waits for an answer."""
        return any(work.kind == kind for work in self._open)

    @property
    def is_midway(self) -> bool:
        """Whether work waits for the answer to a later question than its first.

        It may have changed something already, so it can't be begun again.
        """
        return any(work.asked > 1 for work in self._open)

    def answered(self) -> Iterator[Work]:
        """Let the work go on whose answers are here, each with one answer, and yield it."""
        waiting: set[str] = set()
        for work in list(self._open):
            if work.kind not in waiting and work.is_answered:
                yield self._go_on(work)
            if work in self._open:
                waiting.add(work.kind)

    def named(self, names: Sequence[str]) -> Iterator[Work]:
        """Let work go on in this order, each with one answer that is waited for, and yield it."""
        for name in names:
            work = next((work for work in self._open if work.name == name), None)
            if work is not None:
                yield self._go_on(work)

    def finish(self, timeout_s: float) -> Iterator[Work]:
        """Let all work go on to its end, as far as the answers come in time, and yield it after each answer."""
        ends = monotonic() + timeout_s
        while self._open:
            wait([work.answer for work in self._open], timeout=max(0, ends - monotonic()), return_when=FIRST_COMPLETED)
            is_over = monotonic() >= ends
            went_on = False
            for work in self.answered():
                went_on = True
                yield work
            if is_over and not went_on:
                return

    def questions(self) -> list[OpenQuestion]:
        """Return what waits for an answer."""
        return [OpenQuestion(work.kind, work.name, work.turn, work.about, work.messages) for work in self._open]

    def abandon(self) -> list[OpenQuestion]:
        """End all work that waits for an answer, and return it."""
        left = self.questions()
        for work in self._open:
            work.abandon()
        self._open = []
        return left

    def _go_on(self, work: Work) -> Work:
        work.await_answer()
        self._run(work)
        return work

    def _run(self, work: Work) -> None:
        try:
            work.go_on()
        finally:
            if work.is_over:
                self._open.remove(work)
