"""Serve the page until it is stopped, in this process or in one beside the run."""

import errno
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from zorkgpt.errors import ViewerError
from zorkgpt.viewer.run_files import RunFileNames, open_run

PORT = 8765
_BACKLOG = 128


def serve(
    given: Path,
    *,
    host: str | None = None,
    port: int | None = None,
    edit: bool = False,
    may_be_empty: bool = False,
    names: RunFileNames | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve a run; `ready` is told the address once the page can be opened there.

    Args:
        host: The address to listen at; None: this machine only. Beyond that a token is needed.
        port: None: the usual one, or a free one if that is taken.

    Raises:
        ZorkGPTError: there is no run to show, the port is taken, or a package is missing.
    """
    try:
        import uvicorn

        from zorkgpt.viewer.app import make_app
    except ModuleNotFoundError as error:
        raise ViewerError(
            f"The viewer needs {error.name}, which is not installed: "
            "pip install 'zorkgpt[viewer]', or `uv sync` in a checkout."
        ) from None
    from zorkgpt.viewer.guard import AccessRules

    files = open_run(given, may_be_empty=may_be_empty, names=names)
    rules = AccessRules.of(host, edit=edit)
    listening = _listen(host or "127.0.0.1", port)
    config = uvicorn.Config(
        make_app(files, rules),
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    ready(_address(listening, rules.edit_token or rules.token))

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            # Whoever still follows is cut off, which is no error.
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            super().handle_exit(sig, frame)

    server = Server(config)
    with listening, suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _listen(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (PORT, 0) if port is None else (port,):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen(_BACKLOG)
            return listening
        except (OSError, OverflowError) as error:
            listening.close()
            reason = getattr(error, "strerror", None) or error
            if isinstance(error, socket.gaierror) or getattr(error, "errno", None) == errno.EADDRNOTAVAIL:
                raise ViewerError(f"The viewer can't listen at {host}: {reason}. Name another with --host.") from None
    raise ViewerError(f"The viewer can't listen at {host}, port {number}: {reason}. Name another with --port.")


def _address(listening: socket.socket, token: str | None) -> str:
    name, port = listening.getsockname()[:2]
    # Every address of this machine is none that a browser could open.
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    shown = f"[{name}]" if ":" in name else name
    # After the #, so that it reaches no log and no other page.
    return f"http://{shown}:{port}/" + (f"#token={token}" if token else "")


_STOP_S = 5
# The game comes first, where both want the same processor.
_NICENESS = 10


class BackgroundPage:
    """Shows a run while it is played. Its address is known once it is made.

    Raises:
        ViewerError: the page can't be served.
    """

    def __init__(self, workdir: Path, *, names: RunFileNames | None = None) -> None:
        names = names or RunFileNames()
        command = [sys.executable, "-m", __name__, str(workdir.resolve()), names.log, names.memory]
        # A session of its own: a Ctrl-C is the game's, which then ends the page.
        self._process = subprocess.Popen(
            command,
            cwd=Path(__file__).resolve().parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        told = self._process.stdout.readline().strip()
        if not told.startswith("http"):
            self.close()
            raise ViewerError(told or "The page can't be served; `zorkgpt view` says why.")
        self.address = told
        self.process_id = self._process.pid

    def close(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> "BackgroundPage":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _main(workdir: str, log: str, memory: str) -> None:
    with suppress(OSError):
        os.nice(_NICENESS)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    try:
        serve(Path(workdir), may_be_empty=True, names=RunFileNames(log, memory), ready=_tell)
    except ViewerError as error:
        _tell(str(error))


def _tell(line: str) -> None:
    print(line, flush=True)


def _end_with_the_parent() -> None:
    """The pipe ends when the parent closes it, or when it is gone, however that came about."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
