"""Recognises memories that only repeat, through the agent's reasoning, what it was shown in this episode."""

import re
from collections.abc import Collection, Iterable
from typing import Any

from zorkgpt.memory.claims import Claim, holds
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.places import place_order
from zorkgpt.memory.storage.escaping import folded, one_line
from zorkgpt.memory.synthesis import SynthesisRequest

_SHORTEST_QUOTE = 20
"""Letters of a memory's text from which it counts as taken from a line that holds it; less is in any line."""

_SHORTEST_WORD = 4
_WORDS_IN_COMMON = 2
"""Words of a title or line from which it counts as taken up."""
_MOST_REPEATED = 5


class EchoFilter:
    """Keeps what the agent was shown: memories by their words, and lines that were drawn from memories."""

    def __init__(self) -> None:
        self._memories: dict[str, tuple[str, tuple[PlaceKey, ...], str]] = {}
        """By its text: the text, the locations that it is remembered of, and its title; the one shown last at the end.

        These are the rows that are kept for a resumed episode, as they are.
        """
        self._lines: dict[str, str] = {}

    def show(self, location_id: PlaceKey, memories: Iterable[Memory]) -> None:
        for memory in memories:
            text = folded(memory.text)
            _, places, _ = self._memories.pop(text, (text, (), ""))
            if location_id not in places:
                places = tuple(sorted((*places, location_id), key=place_order))
            self._memories[text] = text, places, memory.title

    def show_lines(self, lines: Iterable[str]) -> None:
        """Note lines of knowledge, which are of no place."""
        for line in lines:
            self._lines.pop(words := folded(line), None)
            self._lines[words] = line

    def repeated_in(self, reasons: str, location_id: PlaceKey, *, besides: Collection[str] = ()) -> tuple[str, ...]:
        """Return titles of memories of other locations, and lines, that these words may repeat, the last shown last.

        Args:
            reasons: the player's words: what it did not take up can't be repeated by it.
            besides: titles that are left out.
        """
        said = _words(reasons)
        titles = (
            title for _, places, title in self._memories.values() if location_id not in places and title not in besides
        )
        taken_up = dict.fromkeys(
            shown for shown in (*titles, *self._lines.values()) if len(_words(shown) & said) >= _WORDS_IN_COMMON
        )
        return tuple(taken_up)[-_MOST_REPEATED:]

    def is_echo(self, location_id: PlaceKey, memory: Memory, request: SynthesisRequest) -> bool:
        """Return whether it only repeats what was shown elsewhere, and nothing of this turn bears it out here."""
        return self._was_shown_elsewhere(location_id, memory) and not _is_borne_out(memory, request)

    def _was_shown_elsewhere(self, location_id: PlaceKey, memory: Memory) -> bool:
        # At its own location the same words are a second observation.
        text = folded(memory.text)
        if text in self._memories:
            return location_id not in self._memories[text][1]
        return len(text) >= _SHORTEST_QUOTE and any(text in line for line in self._lines)

    def clear(self) -> None:
        self._memories.clear()
        self._lines.clear()

    def snapshot(self) -> dict[str, Any]:
        """Return what was shown, as plain values."""
        return {"memories": list(self._memories.values()), "lines": list(self._lines.values())}

    def restore(self, shown: dict[str, Any]) -> None:
        """Take over what `snapshot` gave."""
        self.clear()
        for text, places, title in shown["memories"]:
            self._memories[text] = text, tuple(places), title
        self.show_lines(shown["lines"])


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) >= _SHORTEST_WORD)


def _is_borne_out(memory: Memory, request: SynthesisRequest) -> bool:
    """Return whether it tells what came of this action, or of what is at hand, or the game itself has just said it."""
    if memory.action and not request.arrival and folded(memory.action) == folded(request.action):
        return True
    if memory.claims and all(_is_so(claim, request) for claim in memory.claims):
        return True
    return folded(memory.text) in one_line(request.response).casefold()


def _is_so(claim: Claim, request: SynthesisRequest) -> bool:
    state = [one for thing in request.context.things for one in thing.claims()]
    return holds(claim, state) is True
