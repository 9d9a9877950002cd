"""Complete what is known about a story by playing on saved states: its profile and its bookkeeping."""

from game_interface.core import discovery
from game_interface.core.counterfactual import Bookkeeping, learn_bookkeeping
from game_interface.core.interpreter import Interpreter
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
"""Numbers of actions after which moves are tried again in a story with unknown rooms."""
_bookkeeping: dict[str, Bookkeeping] = {}
"""Story's sha256 → its bookkeeping, learned once for all games in this process."""


class StoryExplorer:
    """Explores one story in the worker of a game."""

    def __init__(
        self, machine: ZMachine, language: Language, prompts: Prompts, worker: Worker, interpreter: Interpreter
    ) -> None:
        self._machine, self._language, self._prompts = machine, language, prompts
        self._worker, self._interpreter = worker, interpreter
        self._actions_unexplored = 0
        """Actions played since the opening while the player's place was not fully known."""

    def first_command(self, opening: InterpreterState) -> InterpreterState:
        """Go to the first state in which the story reads a command, and learn where it reads commands."""
        try:
            ready = self._prompts.past_questions(self._worker, opening)
        except WorkerFailure:
            ready = opening
        self._interpreter.load(ready.state)
        return ready

    def profile(self, known: Profile, opening: InterpreterState) -> Profile:
        """Return the completed profile, first from Jericho's table, then by trying moves.

        The worker is left in another state.
        """
        if known.player is not None:
            return known
        table = discovery.with_table(known, self._worker.player_object, self._worker.max_score)
        profile = self._explored(table, opening)
        _log_explored(profile)
        return profile

    def profile_after_action(self, known: Profile, here: InterpreterState) -> Profile:
        """Return the profile completed by moves from a later state, if those from the opening revealed too little.

        They are tried less and less often. The game is unchanged.
        """
        if discovery.is_complete(known):
            return known
        self._actions_unexplored += 1
        if self._actions_unexplored not in _EXPLORED_AGAIN_AT:
            return known
        profile = self._explored(known, here)
        self._interpreter.load(here.state)
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
            opening = self.first_command(self._interpreter.restart())
            view = self._machine.view(opening.memory)
            _bookkeeping[sha256] = learn_bookkeeping(
                self._worker, reader, view, self._language, lambda: self._interpreter.load(opening.state)
            )
            self._interpreter.load(here.state)
        return _bookkeeping[sha256]

    def _explored(self, known: Profile, here: InterpreterState) -> Profile:
        """Return the profile completed by trying moves. The worker is left in another state."""
        start = discovery.SavedState(here.state, self._machine.view(here.memory))
        return discovery.discover(known, self._machine.header, start, self._try)

    def _try(self, start: discovery.SavedState, command: str) -> discovery.SavedState | None:
        """Play a command from a saved state. Return None if the interpreter fails."""
        try:
            self._worker.load(start.state)
            tried = self._worker.step(spelled_walk(command, self._language).encode("ascii"))
        except WorkerFailure:
            return None
        return discovery.SavedState(tried.state, self._machine.view(tried.memory))


def _log_explored(profile: Profile) -> None:
    log.info("story explored", extra={"player": profile.player, "location_global": profile.location_global})
