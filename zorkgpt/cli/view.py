"""The command `view`, and the page that shows a run while it is played."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from zorkgpt.cli.paths import RunPaths, run_paths
from zorkgpt.errors import ViewerError
from zorkgpt.viewer.run_files import RunFileNames

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


def view_run(
    runs: Sequence[Path],
    *,
    workdir: Path | None,
    game: str | None,
    host: str | None,
    port: int | None,
    edit: bool,
    export: Path | None,
    episodes: str | None,
) -> None:
    """Serve the page of one run, or of several side by side, until Ctrl-C, or write that of one into a file.

    Raises:
        ZorkGPTError: there is nothing to show, or it can't be served or written.
    """
    if episodes is not None and export is None:
        raise ViewerError(f"--episodes {episodes} chooses what --export writes: name a file with --export, too.")
    given = dict.fromkeys(path.resolve() for path in runs)
    found = [run_paths(path, game) for path in given] or [run_paths(workdir, game)]
    folders, names = [paths.workdir for paths in found], _names(found[0])
    if export is not None:
        from zorkgpt.viewer.export import export_run

        if len(folders) > 1:
            raise ViewerError(f"An export holds one run, and {len(folders)} are named: export each into its own file.")
        size = export_run(folders[0], export, episodes=episodes, names=names)
        typer.echo(f"Written to {export} ({size / 1e6:.1f} MB). It opens from disk, without a server.")
        return
    from zorkgpt.viewer.server import serve

    serve(folders, host=host, port=port, edit=edit, names=names, ready=partial(_report_address, host))


@contextmanager
def page_during_run(config: "GameConfiguration", *, enabled: bool) -> Iterator[Callable[[], None]]:
    """Serve the page while a run is played; the function that is yielded keeps it up until Ctrl-C on a terminal.

    Raises:
        ViewerError: the page can't be served.
    """
    if not enabled:
        yield lambda: None
        return
    from zorkgpt.viewer.server import BackgroundPage

    with BackgroundPage(Path(config.zork_game_workdir), names=_names(RunPaths.of(config))) as page:
        typer.echo(f"The run is shown at {page.address}", err=True)
        yield lambda: _keep_serving(page.address)


def _keep_serving(address: str) -> None:
    if sys.stdin.isatty() and sys.stdout.isatty():
        typer.echo(f"It is still shown at {address}; Ctrl-C ends that.", err=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _report_address(host: str | None, address: str) -> None:
    typer.echo(f"The run is shown at {address}")
    if host in ("0.0.0.0", "::"):
        typer.echo("On another machine, write this one's name or address in the place of that between // and the port.")
    typer.echo("Ctrl-C stops showing it.")


def _names(paths: RunPaths) -> RunFileNames:
    return RunFileNames(paths.log, paths.memory)
