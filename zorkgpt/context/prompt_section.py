"""Texts within a number of tokens: whole items, lines and sentences, with notes about the omitted ones."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.prompts.render import fence

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")
_MARK = "[...]"


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A heading and the text below it, which is not empty."""

    heading: str
    text: str

    def __str__(self) -> str:
        return f"{self.heading}\n\n{self.text}"

    @property
    def tokens(self) -> int:
        """The estimated tokens of the section."""
        return estimated_tokens(f"{self}\n\n")


def listed(lines: Sequence[str], tokens: int) -> str:
    """Return the lines that fit, given the most important first. Lines are never cut."""
    chosen = fitting(lines, tokens)
    left_out = len(lines) - len(chosen)
    return "\n".join([*(lines[number] for number in chosen), *[left_out_note(left_out)] * bool(left_out)])


def fenced(text: str, tokens: int, *, end: float = 0.0) -> str:
    """Return a text between code fences, shortened as by `shortened`. "" if it is blank."""
    text = text.strip()
    around = (len(fence(text)) - len(text)) // 4 + 2
    return fence(shortened(text, tokens - around, end=end)) if text else ""


def fitting(lines: Sequence[str], tokens: int) -> list[int]:
    """Return the indices of the lines that fit. Lines that are too long are skipped."""
    costs = [estimated_tokens(f"{line}\n") for line in lines]
    if sum(costs) <= tokens:
        return list(range(len(lines)))
    spare, chosen = tokens - estimated_tokens(left_out_note(len(lines)) + "\n"), []
    for index, cost in enumerate(costs):
        if cost <= spare:
            spare -= cost
            chosen.append(index)
    return chosen


def newest(lines: Iterable[str], tokens: int) -> int:
    """Return how many of the first lines fit."""
    costs = (estimated_tokens(f"{line}\n") for line in lines)
    return sum(1 for _ in takewhile(lambda sum_of_costs: sum_of_costs <= tokens, accumulate(costs)))


def left_out_note(count: int, noun: str = "") -> str:
    """Return a note with the number of omitted items."""
    what = f" {noun}{'' if count == 1 else 's'}" if noun else ""
    return f"({count} more{what} left out)"


def shortened(text: str, tokens: int, *, end: float = 0.0) -> str:
    """Return a text, with a note in the place of whole lines that are left out if it is too long.

    Args:
        end: The share of the tokens for the last lines. With 0, only the beginning is returned.
    """
    text = text.strip()
    if estimated_tokens(text) <= tokens:
        return text
    lines = text.splitlines()
    spare = tokens - estimated_tokens(left_out_note(len(lines), "line") + "\n\n")
    # A line that is too long is shortened itself.
    longest = int(spare * max(end, 1 - end))
    lines = [sentences(line, longest, end=end) if estimated_tokens(f"{line}\n") > longest else line for line in lines]
    last = newest(reversed(lines), int(spare * end))
    spare -= sum(estimated_tokens(f"{line}\n") for line in lines[len(lines) - last :])
    first = newest(lines[: len(lines) - last], spare)
    left_out = len(lines) - first - last
    note = [left_out_note(left_out, "line")] * bool(left_out)
    return "\n".join([*lines[:first], *note, *lines[len(lines) - last :]])


def sentences(text: str, tokens: int, *, end: float = 0.0) -> str:
    """Return a text on one line, with a mark in the place of whole sentences that are left out if it is too long.

    Args:
        end: The share of the tokens for the last sentences. With 0, only the first ones are returned.
    """
    line = " ".join(text.split())
    if estimated_tokens(line) <= tokens:
        return line
    spare = tokens - estimated_tokens(f" {_MARK} ")
    last = _part(line, int(spare * end), backwards=True) if end else ""
    first = _part(line, spare - estimated_tokens(last)) if end < 1 else ""
    return " ".join(filter(None, (first, _MARK, last)))


def _part(line: str, tokens: int, *, backwards: bool = False) -> str:
    """Return the first or last sentences that fit. If no sentence fits, words, and if no word fits, characters."""
    for pieces in (_SENTENCE_ENDS.split(line), line.split()):
        if count := newest(reversed(pieces) if backwards else pieces, tokens):
            return " ".join(pieces[-count:] if backwards else pieces[:count])
    count = max(0, tokens - 1)
    return line[len(line) - count :] if backwards else line[:count]
