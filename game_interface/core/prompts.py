"""Distinguish commands from questions by the place in the story's code that reads the input.

A story has one place for commands: the same instruction, at the same depth of routine calls. Questions, menus and key
presses are read elsewhere, in whatever words they are put. Where commands are read is found once, by trying a few on a
saved state: they come back to the same place with differing texts, while a question repeats itself or goes on. How to
get from a question back to commands is found in the same way.
"""

import re
from collections import deque
from collections.abc import Collection, Sequence
from typing import TypeAlias

from game_interface.core.worker import InterpreterState, Worker
from game_interface.models import InputMode, Question

ExecutionPoint: TypeAlias = tuple[int, int]
"""See `InterpreterState.place`."""

_COMMANDS = (b"look", b"inventory", b"xyzzyx")
"""Commands that every parser answers differently: a room, a list, an error."""
_KEYS_BACK = ("escape", "q", "0", "enter", "b", "space", "1", "2")
_LINES_BACK = ("no", "0", "back", "yes", "1", "2", "look")
"""What is tried to get from a question back to commands, the most likely first.

`look` leads back where a story asks which of two things is meant, and takes any command instead of an answer."""
_ANY_KEYS = (b" ", b"x", b"1", b"", b"\x1b")
"""Keys that do the same only where any key does."""
_MENU_NUMBER = re.compile(r"^\W*(\d{1,2})\b", re.MULTILINE)
_MOST_TRIALS = 40
_LONGEST_QUESTION = 200
_READ_KEY = 246
"""The instruction that reads a single key: Z-Machine Standard 1.1, section 14."""
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
"""Keys by name, as ZSCII; the interpreter adds the end of the line."""
_PROMPT = re.compile(r"[\s>]+\Z")


def reads_key(snapshot: InterpreterState) -> bool:
    """Return whether the story reads a single key."""
    return snapshot.instruction == _READ_KEY


def as_typed(snapshot: InterpreterState, command: bytes) -> bytes:
    """Return what to send for a command: where a single key is read, the rest would go to the reads that follow."""
    return _KEYS.get(command.lower(), command[:1]) if reads_key(snapshot) else command


class Prompts:
    """Knows where one story reads commands; everywhere else it asks something."""

    def __init__(self) -> None:
        self._awaits_command: dict[ExecutionPoint, bool] = {}
        self._ways_back: dict[ExecutionPoint, tuple[str, ...]] = {}
        """Where the story asked something → what led back to commands, () if nothing did."""

    @property
    def is_known(self) -> bool:
        """Whether a place was found where the story reads commands."""
        return any(self._awaits_command.values())

    def has_seen(self, snapshot: InterpreterState) -> bool:
        """Return whether it is known what the story reads here."""
        return snapshot.place in self._awaits_command

    def is_usual(self, snapshot: InterpreterState) -> bool:
        """Return whether the story reads where it first awaited a command: elsewhere `look` may not describe."""
        return next((place == snapshot.place for place, awaits in self._awaits_command.items() if awaits), True)

    def is_question(self, snapshot: InterpreterState) -> bool:
        """Return whether the story is known to read something else than a command here."""
        if snapshot.halted:
            return False
        return reads_key(snapshot) or (self.is_known and not self._awaits_command.get(snapshot.place, True))

    def learn(self, worker: Worker, snapshot: InterpreterState) -> None:
        """Find out what the story reads here. The worker is left in another state.

        Raises:
            WorkerFailure: If the interpreter did not survive a command.
        """
        here = snapshot.place
        if here not in self._awaits_command and not snapshot.halted:
            self._awaits_command[here] = _reads_commands(worker, snapshot)

    def past_questions(self, worker: Worker, opening: InterpreterState) -> InterpreterState:
        """Return the first state in which the story awaits a command; the opening itself if none is reached.

        The worker is left in another state.

        Raises:
            WorkerFailure: If the interpreter did not survive an answer.
        """
        found = self._way_to_commands(worker, opening)
        return found[1] if found else opening

    def question(self, worker: Worker, snapshot: InterpreterState, text: str) -> Question:
        """Return what the story asks, and how to get back to commands. The worker is left in another state.

        Args:
            text: What the story has printed.

        Raises:
            WorkerFailure: If the interpreter did not survive an answer.
        """
        if (way := self._ways_back.get(snapshot.place)) is None or not self._leads_back(worker, snapshot, way):
            found = self._way_to_commands(worker, snapshot)
            way = self._ways_back[snapshot.place] = found[0] if found else ()
        reached = set()
        for key in _ANY_KEYS if reads_key(snapshot) else ():
            worker.load(snapshot.state)
            after = worker.step(key)
            reached.add((after.place, after.memory))
        return Question(mode_of(snapshot, reached), printed_question(text), way)

    def _leads_back(self, worker: Worker, snapshot: InterpreterState, way: Sequence[str]) -> bool:
        now = worker.load(snapshot.state)
        for answer in way:
            if now.halted or self._awaits_command.get(now.place):
                return False
            now = worker.step(as_typed(now, answer.encode()))
        return bool(way) and not now.halted and self._awaits_command.get(now.place, False)

    def _way_to_commands(
        self, worker: Worker, start: InterpreterState
    ) -> tuple[tuple[str, ...], InterpreterState] | None:
        """Return the fewest inputs that lead to where the story awaits a command, and the state there."""
        waiting: deque[tuple[tuple[str, ...], InterpreterState]] = deque([((), start)])
        seen = {(start.place, start.memory)}
        for _ in range(_MOST_TRIALS):
            if not waiting:
                break
            way, now = waiting.popleft()
            self.learn(worker, now)
            if self._awaits_command.get(now.place):
                return way, now
            for answer in _answers_at(now):
                worker.load(now.state)
                after = worker.step(as_typed(now, answer.encode()))
                if not after.halted and (key := (after.place, after.memory)) not in seen:
                    seen.add(key)
                    waiting.append(((*way, answer), after))
        return None


def _answers_at(snapshot: InterpreterState) -> tuple[str, ...]:
    """Return what is worth trying to get back to commands; the last entry of a menu comes last."""
    usual = _KEYS_BACK if reads_key(snapshot) else _LINES_BACK
    return tuple(dict.fromkeys((*usual, *_MENU_NUMBER.findall(snapshot.text)[-1:])))


def mode_of(snapshot: InterpreterState, reached: Collection[tuple[ExecutionPoint, bytes]] = ()) -> InputMode:
    """Return what the story reads where it asks something.

    Args:
        reached: Where `_ANY_KEYS` lead, with the story's memory there. At a pause they all lead on to the same.
    """
    if not reads_key(snapshot):
        return InputMode.LINE
    leads_on = len(reached) == 1 and (snapshot.place, snapshot.memory) not in reached
    return InputMode.PAUSE if leads_on else InputMode.KEY


def _reads_commands(worker: Worker, snapshot: InterpreterState) -> bool:
    if reads_key(snapshot):
        return False
    here, answers = snapshot.place, set[str]()
    for command in _COMMANDS:
        worker.load(snapshot.state)
        after = worker.step(as_typed(snapshot, command))
        if after.halted or after.place != here:
            return False
        answers.add(after.text.strip())
    return len(answers) > 1


def printed_question(text: str) -> str:
    """Return the question at the end of a text: its last paragraph; "" if that is too long to be one."""
    paragraphs = re.split(r"\n\s*\n", _PROMPT.sub("", text))
    last = " ".join(paragraphs[-1].split()).removeprefix(">").strip()
    return last if len(last) <= _LONGEST_QUESTION else ""
