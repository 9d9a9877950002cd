"""The command `view`, and the live view of a run."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from zorkgpt.cli.options import ViewOptions, run_configuration
from zorkgpt.errors import ViewerError

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


def view_run(options: ViewOptions) -> None:
    """Serve one or more runs until Ctrl-C, or export one to a file.

    Raises:
        ZorkGPTError: If there is no run, or if it can't be served or written.
    """
    if options.episodes is not None and options.export is None:
        raise ViewerError(f"--episodes {options.episodes} needs --export FILE.")
    resolved = dict.fromkeys(path.resolve() for path in options.runs or ())
    configs = [run_configuration(path, options.game) for path in resolved]
    configs = configs or [run_configuration(options.workdir, options.game)]
    folders, config = [Path(each.zork_game_workdir) for each in configs], configs[0]
    if options.export is not None:
        from zorkgpt.viewer.export import export_run

        if len(folders) > 1:
            raise ViewerError(f"--export writes one run, but {len(folders)} were given. Export each to its own file.")
        size = export_run(folders[0], options.export, episodes=options.episodes, config=config)
        typer.echo(f"Exported to {options.export} ({size / 1e6:.1f} MB). Open it in a browser.")
        return
    from zorkgpt.viewer.server import serve

    host = options.host
    ready = partial(_report_address, host)
    serve(folders, host=host, port=options.port, edit=options.edit, config=config, ready=ready)


@contextmanager
def page_during_run(config: "GameConfiguration", *, enabled: bool) -> Iterator[Callable[[], None]]:
    """Serve the viewer during a run. Yield a function that keeps serving until Ctrl-C if there is a terminal.

    Raises:
        ViewerError: If the page can't be served.
    """
    if not enabled:
        yield lambda: None
        return
    from zorkgpt.viewer.server import BackgroundPage

    with BackgroundPage(config) as page:
        typer.echo(f"Live view: {page.address}", err=True)
        yield lambda: _keep_serving(page.address)


def _keep_serving(address: str) -> None:
    if sys.stdin.isatty() and sys.stdout.isatty():
        typer.echo(f"Still serving {address} (press Ctrl-C to stop).", err=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _report_address(host: str | None, address: str) -> None:
    typer.echo(f"Viewer: {address}")
    if host in ("0.0.0.0", "::"):
        typer.echo("From another machine, replace the host in this address with the name or address of this machine.")
    typer.echo("Press Ctrl-C to stop.")
