"""Render prompt templates: a missing variable is an error, and text of others is fenced."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from zorkgpt.errors import ConfigurationError

if TYPE_CHECKING:
    from jinja2 import Environment, Template


@dataclass(frozen=True, slots=True)
class Prompt:
    """The system message and the user message of a question to a model."""

    system: str
    user: str


def render(name: str | Path, **values: object) -> Prompt:
    """Render the blocks `system` and `user` of `<name>.md.j2`, or of the template at this path.

    Raises:
        ConfigurationError: the file at the path can't be read, or is no such template.
        jinja2.UndefinedError: the template names a value that is not given.
    """
    template = _own_template(name) if isinstance(name, Path) else _environment().get_template(f"{name}.md.j2")
    context = template.new_context(values)
    system, user = ("".join(template.blocks[block](context)).strip() for block in ("system", "user"))
    return Prompt(_without_blank_runs(system), _without_blank_runs(user))


def _own_template(path: Path) -> "Template":
    from jinja2 import TemplateError

    try:
        template = _environment().from_string(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, TemplateError) as error:
        raise ConfigurationError(f"The template {path} can't be used: {error}") from error
    if missing := [block for block in ("system", "user") if block not in template.blocks]:
        raise ConfigurationError(f"The template {path} has no block {missing[0]!r}; it needs `system` and `user`.")
    return template


def fence(text: object) -> str:
    """Fence a text with more backticks than stand together anywhere in it.

    So nothing in it can end the fence: what a game or a model wrote stays data.
    """
    text = str(text).strip()
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}\n{ticks}"


_HALF_A_WORD_AT_THE_END, _HALF_A_WORD_AT_THE_START = re.compile(r"\S*\Z"), re.compile(r"\A\S*")


def cut(text: str, most: int) -> str:
    """Shorten a text to about `most` characters by leaving out its middle between words, with a mark in its place.

    What a game prints begins with what the action did and ends with what happened meanwhile: neither end may be lost.
    """
    if len(text) <= most:
        return text
    end = most // 2
    # A word that is longer than its half is cut anywhere.
    first, last = _HALF_A_WORD_AT_THE_END.sub("", text[: most - end + 1]), text[len(text) - end - 1 :]
    last = _HALF_A_WORD_AT_THE_START.sub("", last)
    return f"{(first or text[: most - end]).rstrip()} [...] {(last or text[len(text) - end :]).lstrip()}"


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
