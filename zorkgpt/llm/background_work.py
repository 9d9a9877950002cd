"""Background work that yields control while it waits for a model's answer.

Each `Work` is a greenlet: it has its own stack, but runs in the thread that calls `resume`. Between these calls, only
the model request is in progress, in a thread of its own.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from dataclasses import asdict, is_dataclass
from functools import partial
from threading import Thread
from typing import Any

from zorkgpt.extras import importing
from zorkgpt.llm.messages import Answer, Completion, Message
from zorkgpt.llm.model import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.llm.structured import ask_for
from zorkgpt.llm.tools import Toolbox


class BackgroundLLM:
    """An `LLM` that pauses background work while its question is open."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def complete(
        self,
        messages: list[Message],
        *,
        role: Role,
        response_model: type[Answer] | None = None,
        tools: Toolbox | None = None,
    ) -> Completion:
        """Ask the model. In background work, return when the work is resumed."""
        work = _WORK.get()
        if work is None:
            return self._llm.complete(messages, role=role, response_model=response_model, tools=tools)
        given = work.given_answer()
        if given is None:
            return work.ask(
                messages, partial(self._llm.complete, role=role, response_model=response_model, tools=tools)
            )
        return ask_for(lambda _: Completion(given), messages, response_model)


def asked_for() -> tuple[int, int] | None:
    """Return (episode, turn) of the current background work. None outside of background work."""
    work = _WORK.get()
    return None if work is None else (work.episode, work.turn)


class Work:
    """Work that runs only during `resume`, in the thread that calls it, and pauses at each question.

    Args:
        kind: Selects the function that does it.
        name: Identifies it among the open work.
        about: The input: JSON values, or a dataclass of them.
        do: Does the work.
        messages: The first question, if it is already known.
        answers: Answers that are already known, to the first questions.
        asks_at_once: Whether to ask each question as soon as it is known. Otherwise it is asked in `resume`.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        episode: int,
        turn: int,
        about: Any,
        do: Callable[[], None],
        messages: Sequence[Message] = (),
        answers: Sequence[str | None] = (),
        *,
        asks_at_once: bool,
    ) -> None:
        self.kind, self.name, self.episode, self.turn, self.about = kind, name, episode, turn, about
        self.messages = tuple(messages)
        """The first question. Empty until it is asked."""
        self.answers = list(answers)
        """The answers so far."""
        self._asked = 0
        self.answer: Future[Completion] = Future()
        self._asks_at_once = asks_at_once
        with importing("game"):
            from greenlet import greenlet
        self._greenlet = greenlet(do)
        self._greenlet.gr_context = copy_context()
        self._greenlet.gr_context.run(_WORK.set, self)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return bool(self._greenlet.dead)

    def saved(self) -> dict[str, Any]:
        """Return what is needed to start it again, as JSON values. `None` is the answer to a question that failed."""
        about = asdict(self.about) if is_dataclass(self.about) and not isinstance(self.about, type) else self.about
        messages = [asdict(message) for message in self.messages]
        values = {"kind": self.kind, "name": self.name, "turn": self.turn, "about": about}
        return {**values, "messages": messages, "answers": list(self.answers)}

    def resume(self) -> None:
        """Run until the next question or the end. Raise any error of the work."""
        self._enter()
        self._greenlet.switch()

    def abandon(self) -> None:
        """End the work at its open question."""
        self._enter()
        self._greenlet.throw()

    def _enter(self) -> None:
        """Let the work return to the caller at its next pause or its end."""
        from greenlet import getcurrent

        self._greenlet.parent = getcurrent()

    def given_answer(self) -> str | None:
        """Return the answer to the next question, if it was given before an interruption."""
        given = self.answers[self._asked] if self._asked < len(self.answers) else None
        self._asked += given is not None
        return given

    def ask(self, messages: list[Message], ask: Callable[[list[Message]], Completion]) -> Completion:
        """Ask in another thread, pause, and return the answer when this work is resumed."""
        number, self._asked = self._asked, self._asked + 1
        if number == 0:
            # After an interruption, repeat exactly the same question.
            messages = list(self.messages or messages)
            self.messages = tuple(messages)
        self.answer = Future()
        if self._asks_at_once:
            question = copy_context()
            Thread(target=question.run, args=(_settle, self.answer, ask, messages), daemon=True, name=self.name).start()
        self._greenlet.parent.switch()
        self.answers[number:] = [None]
        completion = self.answer.result() if self._asks_at_once else ask(messages)
        self.answers[number] = completion.content
        return completion


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


def _settle(answer: "Future[Completion]", ask: Callable[[list[Message]], Completion], messages: list[Message]) -> None:
    try:
        answer.set_result(ask(messages))
    except BaseException as error:
        answer.set_exception(error)


def messages_from(saved: Any) -> tuple[Message, ...]:
    """Return messages from their JSON values.

    Raises:
        TypeError: If the values are invalid.
    """
    return tuple(Message(**message) for message in saved)
