"""Render prompt templates. A missing variable is an error, and untrusted text is fenced."""

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
        ConfigurationError: If the file at the path can't be read or is not a valid template.
        jinja2.UndefinedError: If the template uses a value that is missing.
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
    """Enclose a text in more backticks than any run of them in it, so that the text can't end the fence."""
    text = str(text).strip()
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}\n{ticks}"


def cut(text: str, length: int) -> str:
    """Shorten a text to about `length` characters by replacing whole words in its middle with a mark.

    Both ends are kept, because a response begins with the effect of the action and ends with other events.
    """
    if len(text) <= length:
        return text
    end = length // 2
    first = re.sub(r"\S*\Z", "", text[: length - end + 1])
    last = re.sub(r"\A\S*", "", text[len(text) - end - 1 :])
    # A word that fills its half is cut anywhere.
    return f"{(first or text[: length - end]).rstrip()} [...] {(last or text[len(text) - end :]).lstrip()}"


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
