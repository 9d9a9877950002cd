"""Work that asks models and gives way while its question is open.

All of our own code still runs one piece at a time: work has a thread of its own, but runs only while the caller of
`Work.go_on` waits for it. Between such calls, nothing but its question is in flight.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Any

from zorkgpt.llm.messages import LLM, Answer, Completion, Message
from zorkgpt.llm.roles import Role


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Work that waits for an answer, as a checkpoint holds it."""

    kind: str
    name: str
    turn: int
    """The turn that it is about."""
    about: Any
    """What the work is done on, as plain values for JSON."""
    messages: tuple[Message, ...]
    """Its first question."""


class BackgroundLLM:
    """An `LLM` whose questions let the asking work give way, if it runs in the background."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def complete(
        self, messages: list[Message], *, role: Role, response_model: type[Answer] | None = None
    ) -> Completion:
        """Ask the model. In the background, return only when the work goes on."""
        work = _WORK.get()
        if work is None:
            return self._llm.complete(messages, role=role, response_model=response_model)
        return work.ask(messages, partial(self._llm.complete, role=role, response_model=response_model))


def asked_for() -> tuple[int, int] | None:
    """Return the episode and the turn that a question in the background is about; None for any other question."""
    work = _WORK.get()
    return None if work is None else (work.episode, work.turn)


class _Abandoned(BaseException):
    """Ends work whose answer nobody waits for."""


class Work:
    """Work in a thread that runs only while another one waits in `go_on`."""

    def __init__(
        self,
        kind: str,
        name: str,
        episode: int,
        turn: int,
        about: Any,
        do: Callable[[], None],
        messages: Sequence[Message],
        *,
        asks_at_once: bool,
    ) -> None:
        self.kind, self.name, self.episode, self.turn, self.about = kind, name, episode, turn, about
        self.messages = tuple(messages)
        """The first question; empty until it is asked."""
        self.asked = 0
        self.answer: Future[Completion] = Future()
        self.is_over = False
        self._do = do
        self._asks_at_once = asks_at_once
        self._is_abandoned = False
        self._error: BaseException | None = None
        self._may_run, self._gave_way = Event(), Event()
        Thread(target=copy_context().run, args=(self._run,), daemon=True, name=name).start()

    @property
    def is_answered(self) -> bool:
        """Whether its question has an answer, or an error."""
        return self.answer.done()

    def await_answer(self) -> None:
        if self._asks_at_once:
            wait([self.answer])

    def go_on(self) -> None:
        """Run until the next question or the end, and raise what it raises."""
        interrupt: BaseException | None = None
        self._gave_way.clear()
        self._may_run.set()
        while not self._gave_way.is_set():
            try:
                self._gave_way.wait()
            except BaseException as error:
                # After Ctrl-C too, only one piece of our code may run at a time.
                interrupt = error
        if self._error is not None:
            raise self._error
        if interrupt is not None:
            raise interrupt

    def abandon(self) -> None:
        """End it where it waits."""
        self._is_abandoned = True
        self.go_on()

    def ask(self, messages: list[Message], ask: Callable[[list[Message]], Completion]) -> Completion:
        """Ask in a further thread, give way, and return the answer when this work may go on."""
        self.asked += 1
        if self.asked == 1:
            # Asked again after an interruption, it is word for word the same question.
            messages = list(self.messages or messages)
            self.messages = tuple(messages)
        self.answer = Future()
        if self._asks_at_once:
            question = copy_context()
            Thread(target=question.run, args=(_settle, self.answer, ask, messages), daemon=True, name=self.name).start()
        self._give_way()
        return self.answer.result() if self._asks_at_once else ask(messages)

    def _give_way(self) -> None:
        self._may_run.clear()
        self._gave_way.set()
        self._may_run.wait()
        if self._is_abandoned:
            raise _Abandoned

    def _run(self) -> None:
        _WORK.set(self)
        self._may_run.wait()
        try:
            self._do()
        except _Abandoned:
            pass
        except BaseException as error:
            self._error = error
        self.is_over = True
        self._gave_way.set()


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


def _settle(answer: "Future[Completion]", ask: Callable[[list[Message]], Completion], messages: list[Message]) -> None:
    try:
        answer.set_result(ask(messages))
    except BaseException as error:
        answer.set_exception(error)


def question_from(saved: Any) -> OpenQuestion:
    """Return an open question from its plain values.

    Raises:
        KeyError, TypeError, ValueError: If they are not those of one.
    """
    messages = tuple(Message(**message) for message in saved["messages"])
    return OpenQuestion(str(saved["kind"]), str(saved["name"]), int(saved["turn"]), saved["about"], messages)
