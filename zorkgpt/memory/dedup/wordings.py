"""The other wordings of a memory, which were merged into it: a new text may be near one of them only."""

from collections.abc import Iterable

from zorkgpt.memory.entailment.compare import compare
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.history import History

_MOST = 8


class Wordings:
    """Texts by the memory that took them in, read from the history on first use."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._texts: dict[tuple[int, str], list[str]] | None = None

    def of(self, location_id: int, memory: Memory, kept: Iterable[Memory]) -> list[str]:
        """Its text, what was merged into it, and the same of what it says and more.

        Args:
            kept: all memories of the place, the superseded too.
        """
        refined = [
            old
            for old in kept
            if old.superseded_by == memory.title and compare(old.text, memory.text).relation in ("same", "adds")
        ]
        merged = [text for one in (memory, *refined) for text in self._loaded().get((location_id, one.title), ())]
        return list(dict.fromkeys([memory.text, *(old.text for old in refined), *merged]))

    def add(self, location_id: int, title: str, text: str) -> None:
        texts = self._loaded().setdefault((location_id, title), [])
        if text not in texts:
            texts.append(text)
            del texts[:-_MOST]

    def all(self) -> list[str]:
        """Of every memory, as far as they were needed."""
        return [text for texts in (self._texts or {}).values() for text in texts]

    def _loaded(self) -> dict[tuple[int, str], list[str]]:
        if self._texts is None:
            self._texts = {}
            for record in self._history.records():
                change = record.change
                if change.kind == "merged" and change.other and change.after:
                    self.add(change.location_id, change.after.title, change.other.text)
        return self._texts
