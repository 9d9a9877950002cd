"""Templates to text: a missing variable is an error, and what others wrote is fenced."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to a model: what is always so, and what is so now."""

    system: str
    user: str


def render(name: str, **values) -> Prompt:
    """The blocks `system` and `user` of `<name>.md.j2`.

    Raises:
        jinja2.UndefinedError: the template names a value that is not given.
    """
    template = _environment().get_template(f"{name}.md.j2")
    context = template.new_context(values)
    system, user = ("".join(template.blocks[block](context)).strip() for block in ("system", "user"))
    return Prompt(_without_gaps(system), _without_gaps(user))


def fence(text: object) -> str:
    """The text between two lines of backticks, more of them than stand together anywhere in it.

    So nothing in it can end the fence: what a game or a model wrote stays data.
    """
    text = str(text).strip()
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}\n{ticks}"


def cut(text: str, most: int) -> str:
    """The text's beginning, and a mark that more was there."""
    return text if len(text) <= most else f"{text[:most].rstrip()} [...]"


def one_line(text: object) -> str:
    """The text as one line between quotes that it holds none of: for data inside a sentence or a list."""
    return '"' + " ".join(str(text).split()).replace('"', "'") + '"'


def _without_gaps(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text)


@cache
def _environment():
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
