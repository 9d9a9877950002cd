"""Turn an interpreter state into a text, an observation and an ending, for the game and for branches."""

from dataclasses import dataclass

from game_interface.core.observe import ViewReader
from game_interface.core.prompts import Prompts
from game_interface.core.transcript import Ending, last_words, read_ending, without_status_line
from game_interface.core.worker import InterpreterState
from game_interface.core.zmachine import View, ZMachine
from game_interface.models import Observation


@dataclass(frozen=True, slots=True)
class BranchState:
    """The state of the game in a branch."""

    room: int | None
    score: int | None
    moves: int | None
    died: bool
    over: bool
    """No more commands can be played: the game is over or asks a question."""
    sentence: str
    """As in `Loss.sentence`."""
    at_hand: frozenset[int]
    """The visible and carried objects."""

    def same_situation(self, other: "BranchState") -> bool:
        """Return whether room, score, moves and objects are equal. False if the moves are unknown."""
        return self.moves is not None and (self.room, self.score, self.moves, self.at_hand) == (
            (other.room, other.score, other.moves, other.at_hand)
        )


@dataclass(frozen=True, slots=True)
class SnapshotReader:
    """Interprets the interpreter states of a story."""

    machine: ZMachine
    reader: ViewReader
    prompts: Prompts
    supported: bool
    """Whether Jericho supports the game. The states then have score and moves, and the text has no status line."""

    def text(self, printed: str) -> str:
        """Return a printed text without the status line."""
        return printed if self.supported else without_status_line(printed, self.machine.header.version)

    def observe(self, snapshot: InterpreterState, view: View) -> Observation:
        """Return the observation of a state, without the story's question."""
        if self.supported:
            return self.reader.observe(view, score=snapshot.score, moves=snapshot.moves)
        return self.reader.observe(view)

    def ending(self, snapshot: InterpreterState, view: View, text: str, *, asks: bool) -> Ending:
        """Return whether the player died and whether the game is over.

        Args:
            asks: Whether the story asks a question.
        """
        return read_ending(
            text,
            deadflag=self.reader.deadflag(view),
            over=snapshot.game_over,
            won=snapshot.victory,
            has_quit=snapshot.has_quit,
            asks=asks if self.prompts.is_known else None,
        )

    def branch_state(self, snapshot: InterpreterState) -> BranchState:
        """Return the state of a branch."""
        view, text = self.machine.view(snapshot.memory), self.text(snapshot.text)
        now, asks = self.observe(snapshot, view), self.prompts.is_question(snapshot)
        ending = self.ending(snapshot, view, text, asks=asks)
        return BranchState(
            room=now.location_id,
            score=now.score,
            moves=now.moves,
            died=ending.died,
            over=ending.finished or asks,
            sentence=last_words(text.strip()),
            at_hand=frozenset(item.num for item in now.at_hand),
        )
