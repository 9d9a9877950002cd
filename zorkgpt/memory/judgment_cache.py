"""Keeps what a model has judged, so that the very same question is not asked again."""

import hashlib
import json
import logging
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.models import Memory, MemoryStatus
from zorkgpt.memory.storage.protocol import JudgmentTable
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


class Judgments(Protocol):
    """Answers by their questions' keys."""

    def answer(self, key: str) -> "MemorySynthesisResponse | None":
        """Return the answer to the very same question; None: it was not asked yet, or can't be read."""
        ...

    def keep(self, key: str, answer: "MemorySynthesisResponse") -> None:
        """Remember an answer."""
        ...

    def forget(self) -> None:
        """Forget what was read; what is kept is read again."""
        ...


class SharedJudgments:
    """Answers in a table: what one machine has asked, no other asks again. A failure costs a question."""

    def __init__(self, table: JudgmentTable, log: logging.Logger) -> None:
        self._table = table
        self._log = log
        self._failures = 0

    def answer(self, key: str) -> "MemorySynthesisResponse | None":
        """Return the answer to the very same question; None: it was not asked yet, or can't be read."""
        try:
            return _answer_of(self._table.get(key))
        except MemoryStoreError as error:
            self._fail("judgments not read", error)
            return None

    def keep(self, key: str, answer: "MemorySynthesisResponse") -> None:
        """Remember an answer, for all machines."""
        try:
            self._table.put(key, _values_of(answer))
        except MemoryStoreError as error:
            self._fail("a judgment was not written down", error)

    def forget(self) -> None:
        """Do nothing: nothing is held here."""

    def _fail(self, what: str, error: MemoryStoreError) -> None:
        self._log.log(logging.DEBUG if self._failures else logging.WARNING, what, extra={"reason": str(error)})
        self._failures += 1


class JudgmentCache:
    """Answers by their questions' keys, in a file of one line each; what is lost of it is asked once more.

    Several processes may append to it, and each sees the others' lines.
    """

    def __init__(self, path: Path, log: logging.Logger) -> None:
        self._path = path
        self._log = log
        self._answers: dict[str, Any] = {}
        self._read_bytes = 0
        self.failures = 0

    def answer(self, key: str) -> "MemorySynthesisResponse | None":
        """Return the answer to the very same question; None: it was not asked yet, or its line can't be read."""
        self._catch_up()
        return _answer_of(self._answers.get(key))

    def keep(self, key: str, answer: "MemorySynthesisResponse") -> None:
        """Remember an answer, here and on disk."""
        self._catch_up()
        row = {"key": key, "answer": _values_of(answer)}
        self._answers[key] = row["answer"]
        line = json.dumps(row).encode() + b"\n"
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                size = os.fstat(descriptor).st_size
                # A kill may have cut the last line short; ours begins on a line of its own.
                cut = size and os.pread(descriptor, 1, size - 1) != b"\n"
                os.write(descriptor, b"\n" + line if cut else line)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._fail("a judgment was not written down", error)

    def _catch_up(self) -> None:
        """Read what was appended since; a file that was replaced by a shorter one from its beginning."""
        try:
            size = self._path.stat().st_size
            if size == self._read_bytes:
                return
            if size < self._read_bytes:
                self.forget()
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                found = file.read()
        except FileNotFoundError:
            if self._read_bytes:
                self.forget()
            return
        except OSError as error:
            self._fail("judgments not read", error)
            return
        whole = found.rfind(b"\n") + 1
        self._read_bytes += whole
        for line in found[:whole].splitlines():
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            key, answer = row["key"], row["answer"]
        except (ValueError, TypeError, KeyError, RecursionError):
            # Half a line, or of a version that kept something else.
            return
        if isinstance(key, str):
            self._answers[key] = answer

    def forget(self) -> None:
        """Forget what was read; what is on disk is read again."""
        self._read_bytes = 0
        self._answers.clear()

    def _fail(self, what: str, error: OSError) -> None:
        if not self.failures:
            self._log.warning(what, extra={"path": str(self._path), "reason": str(error)})
        self.failures += 1


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
