"""Keeps what a model has judged, so that the very same question is not asked again."""

import hashlib
import json
import logging
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.models import Memory, MemoryStatus
from zorkgpt.memory.storage.tables import JudgmentTable
from zorkgpt.memory.synthesis import SynthesisRequest

if TYPE_CHECKING:
    from zorkgpt.memory.answers import MemorySynthesisResponse

_KEY_LENGTH = 32
_TOLD_OF_A_MEMORY = ("title", "text", "category", "persistence", "status", "action", "outcome")


def is_always_asked(request: SynthesisRequest) -> bool:
    """Return whether the cache is not used: after a death or a change of score, or where something is unconfirmed."""
    turn = request.context
    open_question = any(memory.status == MemoryStatus.TENTATIVE for memory in request.memories)
    return turn.died or bool(turn.score_delta) or open_question or bool(request.unconfirmed)


def key_of(request: SynthesisRequest, judge: str, replaced: Iterable[Memory] = ()) -> str:
    """Return a key that is the same only for questions that tell the same, the numbers of turns left out.

    Args:
        judge: who is asked; what one has judged is new to another.
        replaced: what was believed at the place and no longer is: an answer from before that must not bring it back.
    """
    turn = asdict(request.context)
    turn.pop("turn")
    told = {
        "judge": judge,
        "place": request.location_id,
        "arrival": request.arrival,
        "action": " ".join(request.action.lower().split()),
        "response": request.response,
        "turn": turn,
        "memories": [_told(memory) for memory in request.memories],
        "replaced": [_told(memory) for memory in replaced],
        "history": [[past.location_name, past.action, past.response, past.reasoning] for past in request.history],
        "handled": [sorted(request.handled), sorted(request.moved)],
        # Only where there is any: the questions of earlier versions have no such field.
        **({"now": dict(request.now)} if request.now else {}),
        **({"facts": dict(request.facts)} if request.facts else {}),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:_KEY_LENGTH]


def _told(memory: Memory) -> list[str]:
    return [*(getattr(memory, name) for name in _TOLD_OF_A_MEMORY), *map(str, memory.when)]


class Judgments:
    """Answers by their questions' keys, in the store: what one process has asked, no other asks again.

    A failure costs a question.
    """

    def __init__(self, table: JudgmentTable, log: logging.Logger) -> None:
        self._table = table
        self._log = log
        self._failures = 0

    def answer(self, key: str) -> "MemorySynthesisResponse | None":
        """Return the answer to the very same question, None if it was not asked yet or can't be read."""
        try:
            return _answer_of(self._table.get(key))
        except MemoryStoreError as error:
            self._fail("judgments not read", error)
            return None

    def keep(self, key: str, answer: "MemorySynthesisResponse") -> None:
        """Remember an answer."""
        try:
            self._table.put(key, _values_of(answer))
        except MemoryStoreError as error:
            self._fail("judgment not written", error)

    def _fail(self, message: str, error: MemoryStoreError) -> None:
        self._log.log(logging.DEBUG if self._failures else logging.WARNING, message, extra={"reason": str(error)})
        self._failures += 1


def _values_of(answer: "MemorySynthesisResponse") -> dict[str, Any]:
    return answer.model_dump(mode="json", exclude={"reasoning"}, exclude_defaults=True)


def _answer_of(kept: object) -> "MemorySynthesisResponse | None":
    if kept is None:
        return None
    from pydantic import ValidationError

    from zorkgpt.memory.answers import MemorySynthesisResponse

    try:
        return MemorySynthesisResponse.model_validate(kept)
    except ValidationError:
        return None
