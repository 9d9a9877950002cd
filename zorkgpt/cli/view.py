"""`view`: the page that shows a run."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from zorkgpt.cli.places import Places, places
from zorkgpt.viewer.run_files import RunFileNames

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


def view_run(
    run: Path | None, *, game: str | None, host: str | None, port: int | None, edit: bool, export: Path | None
) -> None:
    """Serve the page until Ctrl-C, or write it into one file.

    Raises:
        ZorkGPTError: there is nothing to show, or no place to serve or write it.
    """
    found = places(run, game)
    given, names = found.workdir, _names(found)
    if export is not None:
        from zorkgpt.viewer.export import export_run

        size = export_run(given, export, names=names)
        typer.echo(f"Written to {export} ({size / 1e6:.1f} MB). It opens from disk, without a server.")
        return
    from zorkgpt.viewer.server import serve

    serve(given, host=host, port=port, edit=edit, names=names, ready=partial(_tell, host))


@contextmanager
def page_beside(config: "GameConfiguration", *, wanted: bool) -> Iterator[Callable[[], None]]:
    """Show a run while it is played; what is given goes on with that until Ctrl-C, if a person sits at the terminal.

    Raises:
        ViewerError: the page can't be served.
    """
    if not wanted:
        yield lambda: None
        return
    from zorkgpt.viewer.server import BackgroundPage

    with BackgroundPage(Path(config.zork_game_workdir), names=_names(Places.of(config))) as page:
        typer.echo(f"The run is shown at {page.address}", err=True)
        yield lambda: _stay(page.address)


def _stay(address: str) -> None:
    if sys.stdin.isatty() and sys.stdout.isatty():
        typer.echo(f"It is still shown at {address}; Ctrl-C ends that.", err=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _tell(host: str | None, address: str) -> None:
    typer.echo(f"The run is shown at {address}")
    if host in ("0.0.0.0", "::"):
        typer.echo("On another machine, write this one's name or address in the place of that between // and the port.")
    typer.echo("Ctrl-C stops showing it.")


def _names(found: Places) -> RunFileNames:
    return RunFileNames(found.log, found.memory)
