"""What the agent was shown in this episode: what comes back through its reasoning is nothing new."""

from collections.abc import Iterable
from typing import Any

from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.escaping import folded

_SHORTEST_QUOTE = 20
"""Letters of a memory's text from which it counts as taken from a line that holds it; less is in any line."""


class Recalled:
    """The memories that were shown, by their words, and what else was shown that came from memory."""

    def __init__(self) -> None:
        self._memories: dict[str, tuple[str, tuple[int, ...], str]] = {}
        """By its text: the text, the locations that it is remembered of, and its title; the one shown last at the end.

        These are the rows that are kept for a resumed episode, as they are.
        """
        self._lines: dict[str, str] = {}

    def show(self, location_id: int, memories: Iterable[Memory]) -> None:
        for memory in memories:
            text = folded(memory.text)
            _, places, _ = self._memories.pop(text, (text, (), ""))
            if location_id not in places:
                places = tuple(sorted((*places, location_id)))
            self._memories[text] = text, places, memory.title

    def show_lines(self, lines: Iterable[str]) -> None:
        """Lines of knowledge, which are of no place."""
        for line in lines:
            self._lines.pop(words := folded(line), None)
            self._lines[words] = line

    def titles(self) -> tuple[str, ...]:
        """Of the memories, and the lines, each in the order in which they were shown last."""
        return (*(title for _, _, title in self._memories.values()), *self._lines.values())

    def is_echo(self, location_id: int, memory: Memory) -> bool:
        """Whether it was shown elsewhere. At its own location the same words are a second observation."""
        text = folded(memory.text)
        if text in self._memories:
            return location_id not in self._memories[text][1]
        return len(text) >= _SHORTEST_QUOTE and any(text in line for line in self._lines)

    def clear(self) -> None:
        self._memories.clear()
        self._lines.clear()

    def to_dict(self) -> dict[str, Any]:
        return {"memories": list(self._memories.values()), "lines": list(self._lines.values())}

    def restore(self, shown: dict[str, Any]) -> None:
        self.clear()
        for text, places, title in shown["memories"]:
            self._memories[text] = text, tuple(places), title
        self.show_lines(shown["lines"])
