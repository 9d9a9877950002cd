"""Processes that play bursts of a search at the same time, each in a game of its own."""

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from contextlib import closing
from multiprocessing.connection import Connection

from game_interface.game import Game
from zorkgpt.errors import InterpreterError, ZorkGPTError
from zorkgpt.offline.search_archive import SearchArchive
from zorkgpt.offline.search_burst import Burst, BurstPlayer, BurstStart
from zorkgpt.world.graph import MapGraph

OpenGame = Callable[[], Game]
"""Opens the game that is searched."""


class BurstProcess:
    """A process that plays bursts. It ends with this process, or when it is closed.

    Args:
        open_game: Is called in the process, so it has to be picklable.
        graph: The map so far. The process has its own copy.
    """

    def __init__(self, open_game: OpenGame, archive: SearchArchive, graph: MapGraph) -> None:
        # A forked process would share the connection to the interpreter.
        context = multiprocessing.get_context("spawn")
        self._connection, other_end = context.Pipe()
        known = SearchArchive(archive.story_sha256, archive.seed, steps=archive.steps, trails=archive.trails)
        arguments = (other_end, open_game, known, archive.digests, graph)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        other_end.close()
        self._missed: list[Burst] = []

    def begin(self, start: BurstStart) -> None:
        """Let the process play a burst, with the experience of all others."""
        try:
            self._connection.send((self._missed, start))
        except OSError:
            raise self._ended() from None
        self._missed = []

    def result(self) -> Burst:
        """Wait for the burst and return it.

        Raises:
            InterpreterError: If the game can't be played, or the process has ended.
        """
        try:
            burst: Burst | str = self._connection.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if isinstance(burst, str):
            raise InterpreterError(burst)
        return burst

    def learn(self, bursts: Sequence[Burst]) -> None:
        """Learn from bursts of other processes before the next burst."""
        self._missed.extend(bursts)

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join()
        self._connection.close()

    def _ended(self) -> InterpreterError:
        self._process.join(timeout=1)
        code = self._process.exitcode
        return InterpreterError(f"A process of the search has ended unexpectedly, with exit code {code}. Search again.")


def _serve(
    connection: Connection, open_game: OpenGame, archive: SearchArchive, digests: set[str], graph: MapGraph
) -> None:
    """Play bursts until the other end of the connection is closed."""
    # Ctrl-C reaches all processes of a terminal; the main process ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with closing(open_game()) as game:
            game.reset()
            player = BurstPlayer(game, graph, archive, digests)
            while True:
                missed, start = connection.recv()
                for burst in missed:
                    player.learn(burst)
                connection.send(player.play(start))
    except (EOFError, OSError):
        return
    except ZorkGPTError as error:
        connection.send(str(error))
