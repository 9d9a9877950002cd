"""Complete a story's profile and learn its bookkeeping, by playing from saved states."""

from game_interface.core import discovery
from game_interface.core.counterfactual import Bookkeeping, BookkeepingProbe
from game_interface.core.observe import ViewReader
from game_interface.core.profile import Profile
from game_interface.core.prompts import Prompts
from game_interface.core.sanitize import spelled_walk
from game_interface.core.worker import InterpreterState, Worker, WorkerFailure
from game_interface.core.zmachine import ZMachine
from game_interface.models import Language
from zorkgpt.log import get_logger

log = get_logger("zorkgpt.game")

_EXPLORED_AGAIN_AT = frozenset({1, 2, 4, 8, 16, 32, 64, 128})
"""Numbers of actions after which moves are tried again if the profile is incomplete."""
_bookkeeping: dict[str, Bookkeeping] = {}
"""Story's sha256 → bookkeeping, shared by all games in this process."""


class StoryExplorer:
    """Explores one story in the worker of a game."""

    def __init__(self, machine: ZMachine, language: Language, prompts: Prompts, worker: Worker) -> None:
        self._machine, self._language, self._prompts, self._worker = machine, language, prompts, worker
        self._actions_unexplored = 0
        """The number of actions that were played with an incomplete profile."""

    def first_command(self, opening: InterpreterState) -> InterpreterState:
        """Return the first state in which the story reads a command, and learn where it reads commands."""
        try:
            ready = self._prompts.past_questions(self._worker, opening)
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"question": opening.text[-80:], "failure": str(failure)})
            ready = opening
        self._worker.restore(ready.state)
        return ready

    def profile(self, known: Profile, opening: InterpreterState) -> Profile:
        """Return the profile completed from Jericho's table and by trying moves. Changes the worker's state."""
        if known.player is not None:
            return known
        table = discovery.with_table(known, self._worker.player_object, self._worker.max_score)
        profile = self._explored(table, opening)
        _log_explored(profile)
        return profile

    def profile_after_action(self, known: Profile, here: InterpreterState) -> Profile:
        """Return the profile completed by trying moves from the current state, if it is incomplete.

        Moves are tried less and less often. The game is unchanged.
        """
        if discovery.is_complete(known):
            return known
        self._actions_unexplored += 1
        if self._actions_unexplored not in _EXPLORED_AGAIN_AT:
            return known
        profile = self._explored(known, here)
        self._worker.restore(here.state)
        if profile != known:
            _log_explored(profile)
        return profile

    def bookkeeping(self, sha256: str, reader: ViewReader, here: InterpreterState) -> Bookkeeping:
        """Return the story's bookkeeping, learned at its opening if necessary. The game is unchanged.

        Args:
            sha256: The story's checksum.
            here: The current state of the game.
        """
        if sha256 not in _bookkeeping:
            opening = self.first_command(self._worker.restart())
            view = self._machine.view(opening.memory)
            probe = BookkeepingProbe(self._worker, reader, view, lambda: self._worker.restore(opening.state))
            _bookkeeping[sha256] = probe.learn(self._language)
            self._worker.restore(here.state)
        return _bookkeeping[sha256]

    def _explored(self, known: Profile, here: InterpreterState) -> Profile:
        """Return the profile completed by trying moves. Changes the worker's state."""
        return discovery.discover(known, self._machine, here, self._try)

    def _try(self, start: InterpreterState, command: str) -> InterpreterState | None:
        try:
            self._worker.load(start.state)
            return self._worker.step(spelled_walk(command, self._language).encode("ascii"))
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"move": command, "failure": str(failure)})
            return None


def _log_explored(profile: Profile) -> None:
    log.info("story explored", extra={"player": profile.player, "location_global": profile.location_global})
