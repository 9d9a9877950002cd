"""Telling what a model thinks from what it answers."""

import re

_TAGS = "think|thinking|reflection"
_PAIR = re.compile(rf"<({_TAGS})>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
# Some chat templates open the block themselves, so that only its end is in the answer.
_ONLY_CLOSED = re.compile(rf"\A(.*?)</(?:{_TAGS})>", re.DOTALL | re.IGNORECASE)
# At the start of a line only: inside a JSON string the same letters are somebody's text.
_ONLY_OPENED = re.compile(rf"^[ \t]*<(?:{_TAGS})>(.*)\Z", re.DOTALL | re.IGNORECASE | re.MULTILINE)


def split_reasoning(text: str) -> tuple[str, str]:
    """The answer and the reasoning, of a text with `<think>`, `<thinking>` or `<reflection>` blocks in it.

    A block that was never closed reaches to the end; one that was never opened began at the start.
    """
    thoughts: list[str] = []

    def take(found: re.Match) -> str:
        thoughts.append(found.group(found.lastindex).strip())
        return ""

    text = _PAIR.sub(take, text)
    text = _ONLY_CLOSED.sub(take, text)
    text = _ONLY_OPENED.sub(take, text)
    return text.strip(), "\n".join(thought for thought in thoughts if thought)
