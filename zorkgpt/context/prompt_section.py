"""A section of a prompt: whole items within a token budget, and a note about omitted ones."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import TypeVar

from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.prompts.render import fence

Element = TypeVar("Element")

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")
_MARK = "[...]"


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A heading and the text below it."""

    heading: str
    text: str
    """"" if there is nothing to show. The prompt then omits the section."""

    def __str__(self) -> str:
        return f"{self.heading}\n\n{self.text}"

    @property
    def tokens(self) -> int:
        """The estimated tokens of the section; 0 if it is empty."""
        return estimated_tokens(f"{self}\n\n") if self.text else 0


def list_section(heading: str, items: Sequence[Element], line: Callable[[Element], str], tokens: int) -> PromptSection:
    """Return a section with one line per item, the most important first. Lines are never cut."""
    lines = [line(item) for item in items]
    chosen = fitting(lines, _tokens_below(heading, tokens))
    left_out = len(items) - len(chosen)
    shown = [lines[number] for number in chosen] + [left_out_note(left_out)] * bool(left_out)
    return PromptSection(heading, "\n".join(shown))


def text_section(
    heading: str,
    text: str,
    tokens: int,
    *,
    part: Callable[[str, int], tuple[str, int]] | None = None,
) -> PromptSection:
    """Return a section with as many whole lines of a text as fit, between code fences.

    Args:
        part: Returns the part that fits, with its own note, and the number of omitted lines. Defaults to the beginning.
    """
    if not text.strip():
        return PromptSection(heading, "")
    shown, left_out = (part or beginning)(text.strip(), _tokens_below(heading, tokens) - fence_tokens(text))
    note = f"\n{left_out_note(left_out, 'line')}" if left_out and part is None else ""
    return PromptSection(heading, fence(shown) + note)


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


def beginning(text: str, tokens: int) -> tuple[str, int]:
    """Return as many whole lines from the start as fit, and the number of omitted lines.

    If the first line alone is too long, only its first sentences are returned.
    """
    if estimated_tokens(text) <= tokens:
        return text, 0
    lines = text.splitlines()
    spare = tokens - estimated_tokens(left_out_note(len(lines), "line") + "\n")
    count = newest(lines, spare)
    if count == 0:
        return first_sentences(lines[0], spare), len(lines) - 1
    return "\n".join(lines[:count]).rstrip(), len(lines) - count


def first_sentences(text: str, tokens: int) -> str:
    """Return the first whole sentences that fit, on one line, with a mark at the end if there are more."""
    return _part(text, tokens, lambda pieces: f"{' '.join(pieces)} {_MARK}", backwards=False)


def last_sentences(text: str, tokens: int) -> str:
    """Return the last whole sentences that fit, on one line, after a mark if there are more."""
    return _part(text, tokens, lambda pieces: f"{_MARK} {' '.join(reversed(pieces))}", backwards=True)


def both_ends(text: str, tokens: int) -> str:
    """Return the first and last sentences that fit, on one line, with a mark in the middle if there are more."""
    line = " ".join(text.split())
    if estimated_tokens(line) <= tokens:
        return line
    end = _end(_SENTENCE_ENDS.split(line), tokens // 2)
    return f"{first_sentences(line, tokens - estimated_tokens(end))} {end}".strip()


def _end(sentences: Sequence[str], tokens: int) -> str:
    """Return the last sentences that fit, or the last words if the last sentence is too long."""
    for pieces in (sentences[1:], sentences[-1].split()):
        if count := newest((f"{piece} " for piece in reversed(pieces)), tokens):
            return " ".join(pieces[-count:])
    return ""


def middle_left_out(text: str, tokens: int) -> tuple[str, int]:
    """Return as many whole lines from both ends as fit, with a note in between, and the number of omitted lines.

    Lines that are too long are shortened in the middle.
    """
    if estimated_tokens(text) <= tokens:
        return text, 0
    lines = text.splitlines()
    spare = tokens - estimated_tokens(left_out_note(len(lines), "line") + "\n\n")
    lines = [both_ends(line, spare // 2) if estimated_tokens(line) > spare // 2 else line for line in lines]
    last = newest(reversed(lines), spare // 2)
    first = newest(lines[: len(lines) - last], spare - sum(estimated_tokens(f"{line}\n") for line in lines[-last:]))
    left_out = len(lines) - first - last
    between = [left_out_note(left_out, "line")] * bool(left_out)
    return "\n".join([*lines[:first], *between, *lines[len(lines) - last :]]), left_out


def _part(text: str, tokens: int, marked: Callable[[list[str]], str], *, backwards: bool) -> str:
    line = " ".join(text.split())
    if estimated_tokens(line) <= tokens:
        return line
    spare = tokens - estimated_tokens(f" {_MARK}")
    # If no sentence fits, cut between words. If no word fits, cut anywhere.
    for pieces in (_SENTENCE_ENDS.split(line), line.split()):
        pieces = pieces[::-1] if backwards else pieces
        if count := newest(pieces, spare):
            return marked(pieces[:count])
    return marked([line[: max(0, spare)]])


def fence_tokens(text: str) -> int:
    """Return the tokens of the code fences around a text, which depend on the backticks inside it."""
    return (len(fence(text)) - len(text.strip())) // 4 + 2


def _tokens_below(heading: str, tokens: int) -> int:
    return tokens - estimated_tokens(f"{heading}\n\n\n")
