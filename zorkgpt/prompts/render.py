"""Render prompt templates: a missing variable is an error, and text of others is fenced."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class Prompt:
    """The system message and the user message of a question to a model."""

    system: str
    user: str


def render(name: str, **values: object) -> Prompt:
    """Render the blocks `system` and `user` of `<name>.md.j2`.

    Raises:
        jinja2.UndefinedError: the template names a value that is not given.
    """
    template = _environment().get_template(f"{name}.md.j2")
    context = template.new_context(values)
    system, user = ("".join(template.blocks[block](context)).strip() for block in ("system", "user"))
    return Prompt(_without_blank_runs(system), _without_blank_runs(user))


def fence(text: object) -> str:
    """Fence a text with more backticks than stand together anywhere in it.

    So nothing in it can end the fence: what a game or a model wrote stays data.
    """
    text = str(text).strip()
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}\n{ticks}"


def cut(text: str, most: int) -> str:
    """Shorten a text to about `most` characters by leaving out its middle, with a mark in its place.

    What a game prints begins with what the action did and ends with what happened meanwhile: neither end may be lost.
    """
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end].rstrip()} [...] {text[len(text) - end :].lstrip()}"


def one_line(text: object) -> str:
    """Return a text as one quoted line without inner quotes, for data in a sentence or a list."""
    return '"' + " ".join(str(text).split()).replace('"', "'") + '"'


def _without_blank_runs(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters |= {"fence": fence, "one_line": one_line, "cut": cut}
    return environment
