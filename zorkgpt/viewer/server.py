"""Serve the page, in this process or in a background process during a run."""

import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from session.game_configuration import GameConfiguration
from zorkgpt.errors import ViewerError
from zorkgpt.extras import require
from zorkgpt.viewer.run_files import open_run

PORT = 8765


def serve(
    runs: Sequence[Path],
    *,
    host: str | None = None,
    port: int | None = None,
    edit: bool = False,
    may_be_empty: bool = False,
    config: GameConfiguration | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve one run, or several side by side, until interrupted.

    Args:
        host: The address to listen on. None for this machine only. Other machines need a token.
        port: None for the default port, or a free one if that is taken.
        ready: Called with the address once the page can be opened.

    Raises:
        ZorkGPTError: If there is no run to show, the port is taken, or a package is missing.
    """
    require("viewer")
    from zorkgpt.server_limits import BACKLOG, limited_server
    from zorkgpt.viewer.access import AccessRules
    from zorkgpt.viewer.app import make_app

    opened = [open_run(run, may_be_empty=may_be_empty, config=config) for run in runs]
    rules = AccessRules.of(host, edit=edit)
    listening = _listen(host or "127.0.0.1", port, BACKLOG)
    server = limited_server(make_app(opened, rules))
    ready(_address(listening, rules.edit_token or rules.token))
    with listening, suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _listen(host: str, port: int | None, backlog: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (PORT, 0) if port is None else (port,):
        # asyncio sets TCP_NODELAY only if the protocol is given. Without it, each answer takes 40 ms longer.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen(backlog)
            return listening
        except (OSError, OverflowError) as error:
            listening.close()
            reason = getattr(error, "strerror", None) or error
            if isinstance(error, socket.gaierror) or getattr(error, "errno", None) == errno.EADDRNOTAVAIL:
                raise ViewerError(
                    f"The viewer can't listen on {host}: {reason}. Choose another address with --host."
                ) from None
    raise ViewerError(f"The viewer can't listen on {host}, port {number}: {reason}. Choose another port with --port.")


def _address(listening: socket.socket, token: str | None) -> str:
    name, port = listening.getsockname()[:2]
    # A browser can't open a wildcard address.
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    shown = f"[{name}]" if ":" in name else name
    # Browsers don't send the fragment, so the token gets into no log.
    return f"http://{shown}:{port}/" + (f"#token={token}" if token else "")


_STOP_S = 5
# Gives the game priority on the processor.
_NICENESS = 10


class BackgroundPage:
    """A viewer in a background process, which ends with this process.

    Raises:
        ViewerError: If the page can't be served.
    """

    def __init__(self, config: GameConfiguration) -> None:
        require("viewer")
        workdir = str(Path(config.zork_game_workdir).resolve())
        command = [sys.executable, "-m", __name__, workdir, config.episode_log_file, config.memory_file]
        # In a new session, so that only the game receives Ctrl-C.
        self._process = subprocess.Popen(
            command,
            cwd=Path(__file__).resolve().parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        # Both are pipes, so neither is None.
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        address = self._output.readline().strip()
        if not address.startswith("http"):
            self.close()
            raise ViewerError(address or "The viewer did not start. Run `zorkgpt view` to see why.")
        self.address = address
        self.process_id = self._process.pid

    def close(self) -> None:
        self._input.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def __enter__(self) -> "BackgroundPage":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _main(workdir: str, log: str, memory: str) -> None:
    with suppress(OSError):
        os.nice(_NICENESS)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    config = GameConfiguration(episode_log_file=log, memory_file=memory)
    try:
        serve([Path(workdir)], may_be_empty=True, config=config, ready=_report_to_parent)
    except ViewerError as error:
        _report_to_parent(str(error))


def _report_to_parent(address_or_error: str) -> None:
    print(address_or_error, flush=True)


def _exit_with_parent() -> None:
    """Exit when the pipe to the parent is closed. It also closes if the parent is killed."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
