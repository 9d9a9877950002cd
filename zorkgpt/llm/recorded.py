"""Answers of a recorded run, so that it can be repeated without a model."""

from collections import deque
from collections.abc import Iterable

from zorkgpt.errors import LLMUnreachable
from zorkgpt.llm.messages import Answer, Completion, Message
from zorkgpt.llm.roles import Role
from zorkgpt.llm.structured import ask_for
from zorkgpt.llm.usage import CallRecord


class RecordedLLM:
    """Answers each question as it was answered before, and asks no server.

    Args:
        calls: The calls of the recorded run, oldest first. Failed calls are ignored.
    """

    def __init__(self, calls: Iterable[CallRecord]) -> None:
        self._calls: dict[tuple[str, tuple[Message, ...]], deque[CallRecord]] = {}
        for call in calls:
            if call.error is None:
                self._calls.setdefault((call.role, call.messages), deque()).append(call)

    def complete(
        self, messages: list[Message], *, role: Role, response_model: type[Answer] | None = None
    ) -> Completion:
        """Return the recorded answer to this question.

        Raises:
            LLMUnreachable: If the question was not recorded.
            InvalidAnswer: If the recorded answers do not have the form of `response_model`.
        """
        if response_model is None:
            return self._answer(messages, role)
        return ask_for(lambda question: self._answer(question, role), messages, response_model)

    def _answer(self, messages: list[Message], role: Role) -> Completion:
        calls = self._calls.get((role, tuple(messages)))
        if not calls:
            raise LLMUnreachable(
                f"The recording has no answer to this question of the role {str(role)!r}. Repeat a run with the same "
                "version of zorkgpt, story, seed, settings and number of turns."
            )
        call = calls.popleft()
        while calls and (call.truncated or not call.answer):
            # The question was asked once more at once.
            call = calls.popleft()
        return Completion(call.answer, None, call.usage, call.reasoning, call.truncated, call.context_length)
