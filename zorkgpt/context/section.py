"""A part of a prompt: whole items within a budget of tokens, and a word on what was left out."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Any, TypeVar

from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.prompts.render import fence

Item = TypeVar("Item")

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")
_MARK = "[...]"


@dataclass(frozen=True, slots=True)
class Section:
    """One heading and what stands below it."""

    heading: str
    text: str
    """"" if there is nothing to say: such a section is left out of the prompt."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What the text was made from, as plain data, for who builds a prompt of their own."""
    left_out: int = 0
    """Items that did not fit; the text says so."""

    def __str__(self) -> str:
        return f"{self.heading}\n\n{self.text}"

    @property
    def tokens(self) -> int:
        return estimated_tokens(f"{self}\n\n") if self.text else 0


def list_section(
    heading: str,
    items: Sequence[Item],
    line: Callable[[Item], str],
    tokens: int,
    values: Callable[[list[Item]], Mapping[str, Any]],
) -> Section:
    """The items as lines, the most important first; each is there as a whole or not at all."""
    lines = [line(item) for item in items]
    chosen = fitting(lines, _below(heading, tokens))
    left_out = len(items) - len(chosen)
    shown = [lines[number] for number in chosen] + [left_out_note(left_out)] * bool(left_out)
    return Section(heading, "\n".join(shown), values([items[number] for number in chosen]), left_out)


def text_section(heading: str, text: str, tokens: int, values: Callable[[str], Mapping[str, Any]]) -> Section:
    """One text between lines of backticks: as many whole lines of its beginning as fit."""
    if not text.strip():
        return Section(heading, "", values(text))
    shown, left_out = beginning(text.strip(), _below(heading, tokens) - fence_tokens(text))
    note = f"\n{left_out_note(left_out, 'line')}" if left_out else ""
    return Section(heading, fence(shown) + note, values(text if shown == text.strip() else shown), left_out)


def fitting(lines: Sequence[str], tokens: int) -> list[int]:
    """Which lines are shown, by number: a long one that does not fit makes no shorter one after it give way."""
    costs = [estimated_tokens(f"{line}\n") for line in lines]
    if sum(costs) <= tokens:
        return list(range(len(lines)))
    spare, chosen = tokens - estimated_tokens(left_out_note(len(lines)) + "\n"), []
    for number, cost in enumerate(costs):
        if cost <= spare:
            spare -= cost
            chosen.append(number)
    return chosen


def newest(lines: Iterable[str], tokens: int) -> int:
    """How many lines fit, counted from the newest, which comes first: there is no gap among what is shown."""
    costs = (estimated_tokens(f"{line}\n") for line in lines)
    return sum(1 for _ in takewhile(lambda sum_of_costs: sum_of_costs <= tokens, accumulate(costs)))


def left_out_note(count: int, noun: str = "") -> str:
    what = f" {noun}{'' if count == 1 else 's'}" if noun else ""
    return f"({count} more{what} left out)"


def beginning(text: str, tokens: int) -> tuple[str, int]:
    """As many whole lines from the start as fit, and how many were left out.

    Of a first line that is too long by itself, its first sentences.
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
    """The text in one line: its first whole sentences that fit, and a mark if there were more."""
    return _part(text, tokens, lambda kept: f"{' '.join(kept)} {_MARK}", backwards=False)


def last_sentences(text: str, tokens: int) -> str:
    """The text in one line: its last whole sentences that fit, after a mark if there were more."""
    return _part(text, tokens, lambda kept: f"{_MARK} {' '.join(reversed(kept))}", backwards=True)


def _part(text: str, tokens: int, marked: Callable[[list[str]], str], *, backwards: bool) -> str:
    line = " ".join(text.split())
    if estimated_tokens(line) <= tokens:
        return line
    spare = tokens - estimated_tokens(f" {_MARK}")
    # What has no sentences, or too long ones, is cut between words, and a single endless word wherever it must be.
    for pieces in (_SENTENCE_ENDS.split(line), line.split()):
        pieces = pieces[::-1] if backwards else pieces
        if count := newest(pieces, spare):
            return marked(pieces[:count])
    return marked([line[: max(0, spare)]])


def fence_tokens(text: str) -> int:
    """What the lines of backticks around a text take; they grow with those inside it."""
    return (len(fence(text)) - len(text.strip())) // 4 + 2


def _below(heading: str, tokens: int) -> int:
    return tokens - estimated_tokens(f"{heading}\n\n\n")
