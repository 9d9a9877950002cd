"""Which models a server says it has."""

from dataclasses import dataclass
from typing import Any

from zorkgpt.llm.messages import Role

_NO_SUCH_PAGE = {404, 405, 501}


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model that can be asked."""

    base_url: str
    model: str
    roles: tuple[Role, ...]
    listed: tuple[str, ...] | None
    """What the server lists; None: it lists nothing."""


def listed_models(connection: Any) -> tuple[str, ...] | None:
    """The names that a client of the OpenAI SDK's shape lists, sorted; None if it can't."""
    if not hasattr(connection, "models"):
        return None
    try:
        return tuple(sorted(model.id for model in connection.models.list()))
    # The exceptions belong to whichever SDK this is a client of; what they share is the HTTP status.
    except Exception as error:
        if getattr(error, "status_code", None) in _NO_SUCH_PAGE:
            return None
        raise
