"""What the agent was shown in this episode: what comes back through its reasoning is nothing new."""

from collections.abc import Iterable

from zorkgpt.memory.escaping import one_line
from zorkgpt.memory.models import Memory


class Recalled:
    """The memories that were shown, by their words."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[int, str]] = {}

    def show(self, location_id: int, memories: Iterable[Memory]) -> None:
        for memory in memories:
            self._shown[_words(memory)] = location_id, memory.title

    def titles(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._shown.values())

    def is_echo(self, location_id: int, memory: Memory) -> bool:
        """Whether it was shown elsewhere. At its own location the same words are a second observation."""
        found = self._shown.get(_words(memory))
        return found is not None and found[0] != location_id

    def clear(self) -> None:
        self._shown.clear()


def _words(memory: Memory) -> str:
    return one_line(f"{memory.title}\n{memory.text}").casefold()
