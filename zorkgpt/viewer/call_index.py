"""The questions to models of one episode: which turn each was for, what it took, and where its text stands."""

from pathlib import Path
from typing import Any

from zorkgpt.viewer.lines import Lines
from zorkgpt.viewer.values import cut, number, objects, text, whole_number

_CHARACTERS = 400_000


class CallIndex:
    """What is known of `model_calls.jsonl` so far; `refresh` reads on."""

    def __init__(self, path: Path) -> None:
        self._begin(path)

    def _begin(self, path: Path) -> None:
        self._lines = Lines(path)
        self.calls: list[dict[str, Any]] = []
        """In brief: everything but the texts."""
        self._where: list[tuple[int, int]] = []
        self._of_turn: dict[int, list[int]] = {}

    def refresh(self) -> None:
        if self._lines.was_replaced():
            self._begin(self._lines.path)
        for start, length, record in self._lines.new():
            if record.get("event") == "model_called":
                turn = whole_number(record.get("turn")) or 0
                self._of_turn.setdefault(turn, []).append(len(self.calls))
                self.calls.append(_brief(record, len(self.calls), turn))
                self._where.append((start, length))

    def of_turn(self, turn: int) -> list[dict[str, Any]]:
        return [self.calls[index] for index in self._of_turn.get(turn, ())]

    def whole(self, index: int) -> dict[str, Any] | None:
        """With the exact prompt and answer; None if there is no such call."""
        if not 0 <= index < len(self.calls):
            return None
        record = self._lines.at(*self._where[index])
        messages = [
            {"speaker": cut(one.get("speaker"), 50), "content": cut(one.get("content"), _CHARACTERS)}
            for one in objects(record.get("messages"))
        ]
        return self.calls[index] | {
            "messages": messages,
            "answer": cut(record.get("answer"), _CHARACTERS),
            "reasoning": cut(record.get("reasoning"), _CHARACTERS),
        }


def _brief(record: dict[str, Any], index: int, turn: int) -> dict[str, Any]:
    return {
        "call": index,
        "turn": turn,
        "role": cut(record.get("role"), 60),
        "model": cut(record.get("model"), 120),
        "prompt_tokens": whole_number(record.get("prompt_tokens")),
        "completion_tokens": whole_number(record.get("completion_tokens")),
        "cost": number(record.get("cost")),
        "latency_s": number(record.get("latency_s")),
        "error": cut(text(record.get("error")), 2000) or None,
    }
