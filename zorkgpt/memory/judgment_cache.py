"""Answers to the questions what a turn teaches, kept in the store."""

import logging
from typing import Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.asking import AnsweredQuestion
from zorkgpt.memory.storage.tables import JudgmentTable


class Judgments:
    """Answers by the keys of their turns. What one process has asked, no other asks again.

    A failure costs a question.
    """

    def __init__(self, table: JudgmentTable, log: logging.Logger) -> None:
        self._table = table
        self._log = log
        self._failures = 0

    def answer(self, key: str) -> AnsweredQuestion | None:
        """Return the last answer for a turn, or None if there is none or it can't be read."""
        try:
            return _answered(self._table.get(key))
        except MemoryStoreError as error:
            self._fail("judgments not read", error)
            return None

    def keep(self, key: str, answered: AnsweredQuestion) -> None:
        """Remember an answer."""
        answer = answered.answer.model_dump(mode="json", exclude={"reasoning"}, exclude_defaults=True)
        try:
            self._table.put(key, {"answer": answer, "memories": sorted(answered.memories)})
        except MemoryStoreError as error:
            self._fail("judgment not written", error)

    def _fail(self, message: str, error: MemoryStoreError) -> None:
        self._log.log(logging.DEBUG if self._failures else logging.WARNING, message, extra={"reason": str(error)})
        self._failures += 1


def _answered(kept: Any) -> AnsweredQuestion | None:
    from pydantic import ValidationError

    from zorkgpt.memory.answers import MemorySynthesisResponse

    match kept:
        case {"answer": answer, "memories": [*memories]}:
            try:
                return AnsweredQuestion(MemorySynthesisResponse.model_validate(answer), frozenset(map(str, memories)))
            except ValidationError:
                return None
    return None
