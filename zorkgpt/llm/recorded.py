"""A model that replays the answers of a recorded run."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from zorkgpt.errors import LLMUnreachable
from zorkgpt.llm.messages import Answer, Completion, Message
from zorkgpt.llm.roles import Role
from zorkgpt.llm.structured import ask_for
from zorkgpt.llm.tools import Toolbox
from zorkgpt.llm.usage import CallRecord


class RecordedLLM:
    """An `LLM` that replays recorded answers, without a server.

    Args:
        calls: The calls of the recorded run, oldest first. Failed calls are ignored.
    """

    def __init__(self, calls: Iterable[CallRecord]) -> None:
        self._calls: dict[tuple[str, tuple[Message, ...]], deque[CallRecord]] = {}
        for call in calls:
            if call.error is None:
                self._calls.setdefault(_key(call.role, call.messages), deque()).append(call)

    def complete(
        self,
        messages: list[Message],
        *,
        role: Role,
        response_model: type[Answer] | None = None,
        tools: Toolbox | None = None,
    ) -> Completion:
        """Return the recorded answer to this question, with its tool calls.

        Raises:
            LLMUnreachable: If the question was not recorded.
            InvalidAnswer: If the recorded answers don't match `response_model`.
        """
        return ask_for(lambda question: self._answer(question, role), messages, response_model)

    def _answer(self, messages: list[Message], role: Role) -> Completion:
        calls = self._calls.get(_key(role, messages))
        if not calls:
            raise LLMUnreachable(
                f"The recording has no answer to this question of the role {str(role)!r}. Replay a run with the same "
                "version of zorkgpt, story, seed, settings and number of turns."
            )
        call = calls.popleft()
        while calls and (call.truncated or not (call.answer or call.tool_calls)):
            # The client repeated the question immediately.
            call = calls.popleft()
        return Completion(
            call.answer, None, call.usage, call.reasoning, call.truncated, call.context_length, call.tool_calls
        )


def _key(role: str, messages: Sequence[Message]) -> tuple[str, tuple[Message, ...]]:
    """Return the key of a recorded question.

    Tool results are left out, because they depend on whether embeddings were ready.
    """
    return role, tuple(replace(each, content="") if each.speaker == "tool" else each for each in messages)
