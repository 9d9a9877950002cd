"""The protocol of a model."""

from typing import TYPE_CHECKING, Protocol

from zorkgpt.llm.messages import Answer, Completion, Message
from zorkgpt.llm.roles import Role

if TYPE_CHECKING:
    # Not at run time, because it needs pydantic.
    from zorkgpt.llm.tools import Toolbox


class LLM(Protocol):
    """Anything that completes a chat."""

    def complete(
        self,
        messages: list[Message],
        *,
        role: Role,
        response_model: type[Answer] | None = None,
        tools: "Toolbox | None" = None,
    ) -> Completion:
        """Ask the model of this role.

        With a `response_model`, `parsed` is an instance of it. With `tools` instead, the model may answer, call tools,
        or both. If the server supports no tools, it is asked without them.

        Raises:
            LLMError: If there is no usable answer after the retries.
        """
        ...
