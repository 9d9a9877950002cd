"""A queue of background work that waits for answers of models."""

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from time import monotonic

from zorkgpt.llm.background_work import OpenQuestion, Work


class WorkQueue:
    """Resumes work when its question is answered.

    Work of the same kind is resumed in the order in which it was started, whichever answer comes first.
    """

    def __init__(self) -> None:
        self._open: list[Work] = []

    def begin(self, work: Work) -> None:
        """Run work until its first question, or to its end if it asks none."""
        self._open.append(work)
        self._run(work)

    def is_open(self, kind: str) -> bool:
        """Return whether work of this kind waits for an answer."""
        return any(work.kind == kind for work in self._open)

    def answered(self) -> Iterator[Work]:
        """Resume all work whose answer has arrived, once each, and yield it."""
        waiting: set[str] = set()
        for work in list(self._open):
            if work.kind not in waiting and work.is_answered:
                yield self._resume(work)
            if work in self._open:
                waiting.add(work.kind)

    def named(self, names: Sequence[str]) -> Iterator[Work]:
        """Wait for the answer of each named work, resume it, and yield it. The order is that of the names."""
        for name in names:
            work = next((work for work in self._open if work.name == name), None)
            if work is not None:
                yield self._resume(work)

    def finish(self, timeout_s: float) -> Iterator[Work]:
        """Resume all work to its end, as far as answers arrive before the timeout. Yield it after each answer."""
        ends = monotonic() + timeout_s
        while self._open:
            wait([work.answer for work in self._open], timeout=max(0, ends - monotonic()), return_when=FIRST_COMPLETED)
            is_over = monotonic() >= ends
            was_resumed = False
            for work in self.answered():
                was_resumed = True
                yield work
            if is_over and not was_resumed:
                return

    def questions(self) -> list[OpenQuestion]:
        """Return the open questions."""
        return [
            OpenQuestion(work.kind, work.name, work.turn, work.about, work.messages, tuple(work.answers))
            for work in self._open
        ]

    def abandon(self) -> list[OpenQuestion]:
        """End all work that waits for an answer. Return its questions."""
        questions = self.questions()
        for work in self._open:
            work.abandon()
        self._open = []
        return questions

    def _resume(self, work: Work) -> Work:
        work.await_answer()
        self._run(work)
        return work

    def _run(self, work: Work) -> None:
        try:
            work.resume()
        finally:
            if work.is_over:
                self._open.remove(work)
