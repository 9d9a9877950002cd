"""The sections of a recorded prompt, each with its tokens as the agent counts them."""

import re
from collections.abc import Iterator
from typing import Any

from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.viewer.json_lines import cut

_HEADING = re.compile(r"#{1,2} \S")
_FENCE = re.compile(r"`{3,}")


def prompt_sections(messages: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return the sections of all messages, in order.

    The instructions of a system message are one section; other messages begin a new one with each heading.

    Returns:
        `message`: its index; `heading`: "" where none stands above the text; `tokens`; `length`: in UTF-16 units, as
        JavaScript counts.
    """
    return [
        {
            "message": index,
            "heading": heading,
            "tokens": estimated_tokens(text),
            "length": len(text.encode("utf-16-le", "surrogatepass")) // 2,
        }
        for index, message in enumerate(messages)
        for heading, text in _parts(message["content"], whole=message["speaker"] == "system")
    ]


def _parts(content: str, *, whole: bool) -> Iterator[tuple[str, str]]:
    heading, lines, fence = "", list[str](), ""
    # Only line feeds end a line here: what else Python takes for an end may stand in a text of the game.
    for line in content.split("\n"):
        if not (whole or fence) and _HEADING.match(line):
            if lines:
                yield heading, "".join(lines)
            heading, lines = cut(line.lstrip("# ").rstrip(), 120), []
        lines.append(f"{line}\n")
        if fence:
            fence = "" if line.strip() == fence else fence
        elif opening := _FENCE.match(line):
            fence = opening[0]
    yield heading, "".join(lines)[:-1]
