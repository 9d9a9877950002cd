"""Distinguish commands from questions by the place in the story's code that reads the input.

A story reads all commands with the same instruction, at the same depth of routine calls. It reads answers, menu choices
and key presses elsewhere. To find out what a place reads, a few commands are played from a saved state. If it reads
commands, the story returns to the place with different responses. If it asks a question, the story repeats the question
or continues elsewhere. Inputs that lead from a question back to commands are found in the same way.
"""

import re
from collections import deque
from collections.abc import Collection, Sequence
from typing import TypeAlias

from game_interface.core.worker import InterpreterState, Worker, WorkerFailure
from game_interface.models import InputMode, Question
from zorkgpt.log import get_logger

log = get_logger("zorkgpt.game")

ExecutionPoint: TypeAlias = tuple[int, int]
"""See `InterpreterState.place`."""

_COMMANDS = (b"look", b"inventory", b"xyzzyx")
"""Commands with different responses in every story: a room, a list and an error."""
_KEYS_BACK = ("escape", "q", "0", "enter", "b", "space", "1", "2")
_LINES_BACK = ("no", "0", "back", "yes", "1", "2", "look")
"""Inputs that may lead from a question back to commands, the most likely first.

`look` works if the story asks which of two things is meant and accepts any command instead of an answer."""
_ANY_KEYS = (b" ", b"x", b"1", b"", b"\x1b")
"""Keys that have the same effect only if any key is accepted."""
_MENU_NUMBER = re.compile(r"^\W*(\d{1,2})\b", re.MULTILINE)
_MAX_TRIALS = 40
_MAX_QUESTION = 200  # characters
_READ_KEY = 246
"""The opcode of the instruction that reads a single key: Z-Machine Standard 1.1, section 14."""
_KEYS = {
    b"space": b" ",
    b"enter": b"",
    b"return": b"",
    b"escape": b"\x1b",
    b"esc": b"\x1b",
    b"up": b"\x81",
    b"down": b"\x82",
    b"left": b"\x83",
    b"right": b"\x84",
}
"""Name of a key → ZSCII, without the newline, which the interpreter adds."""
_PROMPT = re.compile(r"[\s>]+\Z")


def reads_key(snapshot: InterpreterState) -> bool:
    """Return whether the story reads a single key."""
    return snapshot.instruction == _READ_KEY


def as_typed(snapshot: InterpreterState, command: bytes) -> bytes:
    """Return the input to send. If the story reads a single key, the rest would go to the following reads."""
    return _KEYS.get(command.lower(), command[:1]) if reads_key(snapshot) else command


class Prompts:
    """The places in a story's code that read input, and whether they read commands or answers to questions."""

    def __init__(self) -> None:
        self._reads_command: dict[ExecutionPoint, bool] = {}
        self._ways_back: dict[ExecutionPoint, tuple[str, ...]] = {}
        """Place of a question → the inputs that led back to commands. () if none did."""
        self._failing: set[tuple[ExecutionPoint, str]] = set()
        """Places and answers on which the interpreter failed, which are not tried again."""

    @property
    def is_known(self) -> bool:
        """Whether a place that reads commands is known."""
        return any(self._reads_command.values())

    def has_seen(self, snapshot: InterpreterState) -> bool:
        """Return whether the place that reads the next input is known."""
        return snapshot.place in self._reads_command

    def is_usual(self, snapshot: InterpreterState) -> bool:
        """Return whether this is the first known place that reads commands. Elsewhere, `look` may not work."""
        return next((place == snapshot.place for place, is_command in self._reads_command.items() if is_command), True)

    def is_question(self, snapshot: InterpreterState) -> bool:
        """Return whether the story asks a question. False if unknown."""
        if snapshot.has_quit:
            return False
        return reads_key(snapshot) or (self.is_known and not self._reads_command.get(snapshot.place, True))

    def learn(self, worker: Worker, snapshot: InterpreterState) -> None:
        """Find out whether the story reads a command here. Changes the worker's state."""
        if not snapshot.has_quit and not self.has_seen(snapshot):
            self._reads_command[snapshot.place] = _reads_commands(worker, snapshot)

    def past_questions(self, worker: Worker, opening: InterpreterState) -> InterpreterState:
        """Return the first state in which the story reads a command. Changes the worker's state.

        Returns:
            The opening if no such state is found.

        Raises:
            WorkerFailure: If the interpreter failed on an answer.
        """
        path = self._path_to_commands(worker, opening)
        return path[1] if path else opening

    def question(self, worker: Worker, snapshot: InterpreterState, text: str) -> Question:
        """Return the story's question with inputs that lead back to commands. Changes the worker's state.

        Args:
            text: The printed text.

        Raises:
            WorkerFailure: If the interpreter failed on an answer.
        """
        way_back = self._ways_back.get(snapshot.place)
        if way_back is None or not self._leads_back(worker, snapshot, way_back):
            path = self._path_to_commands(worker, snapshot)
            way_back = self._ways_back[snapshot.place] = path[0] if path else ()
        reached = set()
        for key in _ANY_KEYS if reads_key(snapshot) else ():
            worker.load(snapshot.state)
            after = worker.step(key)
            reached.add((after.place, after.memory))
        return Question(mode_of(snapshot, reached), printed_question(text), way_back)

    def _leads_back(self, worker: Worker, snapshot: InterpreterState, inputs: Sequence[str]) -> bool:
        now = worker.load(snapshot.state)
        for answer in inputs:
            if now.has_quit or self._reads_command.get(now.place):
                return False
            now = worker.step(as_typed(now, answer.encode()))
        return bool(inputs) and not now.has_quit and self._reads_command.get(now.place, False)

    def _path_to_commands(
        self, worker: Worker, start: InterpreterState
    ) -> tuple[tuple[str, ...], InterpreterState] | None:
        """Return the shortest inputs that lead to a state in which the story reads a command, and that state."""
        pending: deque[tuple[tuple[str, ...], InterpreterState]] = deque([((), start)])
        seen = {(start.place, start.memory)}
        for _ in range(_MAX_TRIALS):
            if not pending:
                break
            inputs, now = pending.popleft()
            self.learn(worker, now)
            if self._reads_command.get(now.place):
                return inputs, now
            for answer in _possible_answers(now):
                after = self._after(worker, now, answer)
                if after and not after.has_quit and (key := (after.place, after.memory)) not in seen:
                    seen.add(key)
                    pending.append(((*inputs, answer), after))
        return None

    def _after(self, worker: Worker, now: InterpreterState, answer: str) -> InterpreterState | None:
        """Return the state after an answer. None if the interpreter fails on it."""
        if (now.place, answer) in self._failing:
            return None
        try:
            worker.load(now.state)
            return worker.step(as_typed(now, answer.encode()))
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"answer": answer, "failure": str(failure)})
            self._failing.add((now.place, answer))
            return None


def _possible_answers(snapshot: InterpreterState) -> tuple[str, ...]:
    """Return inputs that may lead back to commands. The number of the last menu entry comes last."""
    inputs = _KEYS_BACK if reads_key(snapshot) else _LINES_BACK
    return tuple(dict.fromkeys((*inputs, *_MENU_NUMBER.findall(snapshot.text)[-1:])))


def mode_of(snapshot: InterpreterState, reached: Collection[tuple[ExecutionPoint, bytes]] = ()) -> InputMode:
    """Return the kind of input that a question reads.

    Args:
        reached: The places and memories after each of `_ANY_KEYS`. After a pause, these are all the same.
    """
    if not reads_key(snapshot):
        return InputMode.LINE
    is_pause = len(reached) == 1 and (snapshot.place, snapshot.memory) not in reached
    return InputMode.PAUSE if is_pause else InputMode.KEY


def _reads_commands(worker: Worker, snapshot: InterpreterState) -> bool:
    """Try a few commands, and return whether the story reads a command here. Changes the worker's state."""
    if reads_key(snapshot):
        return False
    responses: set[str] = set()
    for command in _COMMANDS:
        try:
            worker.load(snapshot.state)
            after = worker.step(command)
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"probe": command.decode(), "failure": str(failure)})
            continue
        if after.has_quit or after.place != snapshot.place:
            return False
        responses.add(after.text.strip())
    return len(responses) > 1


def printed_question(text: str) -> str:
    """Return the last paragraph of a text. "" if it is too long for a question."""
    paragraphs = re.split(r"\n\s*\n", _PROMPT.sub("", text))
    last = " ".join(paragraphs[-1].split()).removeprefix(">").strip()
    return last if len(last) <= _MAX_QUESTION else ""
