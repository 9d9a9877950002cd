"""What the agent was shown in this episode: what comes back through its reasoning is nothing new."""

from collections.abc import Iterable
from typing import Any

from zorkgpt.memory.escaping import one_line
from zorkgpt.memory.models import Memory

_SHORTEST_QUOTE = 20
"""Letters of a memory's text from which it counts as taken from a line that holds it; less is in any line."""


class Recalled:
    """The memories that were shown, by their words, and what else was shown that came from memory."""

    def __init__(self) -> None:
        self._places: dict[str, set[int]] = {}
        """Text → the locations that it is remembered of."""
        self._titles: dict[str, str] = {}
        """Text → title, the one shown last at the end."""
        self._lines: dict[str, str] = {}

    def show(self, location_id: int, memories: Iterable[Memory]) -> None:
        for memory in memories:
            text = _words(memory.text)
            self._places.setdefault(text, set()).add(location_id)
            self._titles.pop(text, None)
            self._titles[text] = memory.title

    def show_lines(self, lines: Iterable[str]) -> None:
        """Lines of knowledge, which are of no place."""
        for line in lines:
            self._lines.pop(words := _words(line), None)
            self._lines[words] = line

    def titles(self) -> tuple[str, ...]:
        """Of the memories, and the lines, each in the order in which they were shown last."""
        return (*self._titles.values(), *self._lines.values())

    def is_echo(self, location_id: int, memory: Memory) -> bool:
        """Whether it was shown elsewhere. At its own location the same words are a second observation."""
        text = _words(memory.text)
        if text in self._places:
            return location_id not in self._places[text]
        return len(text) >= _SHORTEST_QUOTE and any(text in line for line in self._lines)

    def clear(self) -> None:
        self._places.clear()
        self._titles.clear()
        self._lines.clear()

    def to_dict(self) -> dict[str, Any]:
        memories = [[text, sorted(self._places[text]), title] for text, title in self._titles.items()]
        return {"memories": memories, "lines": list(self._lines.values())}

    def restore(self, shown: dict[str, Any]) -> None:
        self.clear()
        for text, places, title in shown["memories"]:
            self._places[text], self._titles[text] = set(places), title
        self.show_lines(shown["lines"])


def _words(text: str) -> str:
    return one_line(text).casefold()
