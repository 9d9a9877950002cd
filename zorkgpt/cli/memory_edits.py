"""`memories edit`, `pin` and `veto`: what a person wants otherwise."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli.memory_file import File, Game, Location, Title, Workdir, app, described, fail, opened, say

if TYPE_CHECKING:
    from zorkgpt.memory.editing import Edit
    from zorkgpt.memory.manager import SimpleMemoryManager

Expected = Annotated[
    str | None, typer.Option("--expect", help="Change it only if this is its text, or the fingerprint it had.")
]
Reason = Annotated[str | None, typer.Option("--reason", help="For the history.")]


@app.command()
def edit(
    title: Title,
    text: Annotated[str | None, typer.Option("--text", help="What it shall say.")] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="SUCCESS, FAILURE, DISCOVERY, DANGER or NOTE.")
    ] = None,
    persistence: Annotated[str | None, typer.Option("--class", help="core or permanent.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="active, tentative or superseded.")] = None,
    expected: Expected = None,
    reason: Reason = None,
    location: Location = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Correct a memory: its text, its category, how long it stays true, how far it is believed."""
    from zorkgpt.memory.editing import Edit

    if (text, category, persistence, status) == (None, None, None, None):
        fail("Nothing to change: give --text, --category, --class or --status.")
    wanted = Edit(
        text=text,
        category=category and category.upper(),
        persistence=persistence and persistence.lower(),
        status=status and status.upper(),
        reason=reason,
    )
    _change(title, location, wanted, workdir, file, game, expected)


@app.command()
def pin(
    title: Title,
    undo: Annotated[bool, typer.Option("--undo", help="Take the mark away.")] = False,
    reason: Reason = None,
    location: Location = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Keep a memory as it is, and show it first: no model and no rule replaces it or marks it as wrong."""
    from zorkgpt.memory.editing import Edit

    _change(title, location, Edit(pinned=not undo, reason=reason), workdir, file, game)


@app.command()
def veto(
    title: Title,
    undo: Annotated[bool, typer.Option("--undo", help="Take the mark away.")] = False,
    reason: Reason = None,
    location: Location = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Never show a memory, and never learn it again."""
    from zorkgpt.memory.editing import Edit

    _change(title, location, Edit(vetoed=not undo, reason=reason), workdir, file, game)


def _change(
    title: str,
    location: int | None,
    wanted: "Edit",
    workdir: Path | None,
    file: Path | None,
    game: str | None,
    expected: str | None = None,
) -> None:
    with opened(workdir, file, game) as manager:
        place = _place(manager, title) if location is None else location
        memory = manager.edit_memory(place, title, wanted, expected=expected)
        say(f"Location {place}: {described(memory)}")


def _place(manager: "SimpleMemoryManager", title: str) -> int:
    wanted = " ".join(title.split()).casefold()
    places = {
        one.location_id: one.location_name for one in manager.all_memories() if one.memory.title.casefold() == wanted
    }
    if not places:
        fail(f"There is no memory titled {title!r}.")
    if len(places) > 1:
        some = ", ".join(f"{place} {name}".rstrip() for place, name in places.items())
        fail(f"There are memories titled {title!r} at several locations; say which with --location: {some}.")
    return next(iter(places))
