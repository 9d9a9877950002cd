"""A game that another program plays and of which only the text is known: commands go out, results come in.

It implements the `Game` protocol without a game engine. What the object tree would tell is not known: which things
there are, what is carried, what an action changed. A place is known by the heading that the text prints.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any
from zlib import crc32

from game_interface.core.transcript import read_ending
from game_interface.models import Location, Observation, Transition
from zorkgpt.errors import GameClosed, StateError
from zorkgpt.memory.objects import PlacedObject, ThingState
from zorkgpt.player import PlayerStopped
from zorkgpt.text import printable

_LONGEST_HEADING = 60
_SMALL = frozenset({"a", "an", "and", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with"})
_FRAME = re.compile(r"^-=\s*(?P<name>.+?)\s*=-$")
"""How TextWorld prints a heading."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What is handed in: the opening of a game, or what came of a command."""

    text: str
    score: int | None = None
    max_score: int | None = None
    moves: int | None = None
    over: bool = False
    """The game is over, by this command."""


@dataclass(frozen=True, slots=True)
class TextStory:
    """What tells one game from another: its name."""

    title: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(f"text game {self.title}".encode()).hexdigest()

    @property
    def path(self) -> Path:
        return Path(self.title)

    def summary(self) -> dict[str, Any]:
        return {"file": self.title, "title": self.title, "sha256": self.sha256}


class TextGame:
    """One game after the other, each begun by the `TurnResult` of its opening.

    Args:
        commands: Where each command is put; the game then waits.
        results: Receives the results; None closes the game.
    """

    language = None

    def __init__(self, name: str, commands: "Queue[str | BaseException]", results: "Queue[TurnResult | None]") -> None:
        self._story = TextStory(name)
        self._commands = commands
        self._results = results
        self._max_score: int | None = None
        self._now = Observation(None, None, None, None, None, None)

    @property
    def story(self) -> TextStory:
        return self._story

    def get_max_score(self) -> int | None:
        return self._max_score

    def reset(self) -> str:
        """Wait for the next opening.

        Raises:
            GameClosed: If there will be none.
        """
        opening = self._results.get()
        if opening is None:
            raise GameClosed(f"{self._story.title} is played no more.")
        self._max_score = opening.max_score
        headings = headings_in(opening.text)
        # A banner comes before the first place.
        self._now = self._observed(opening, headings[-1] if headings else self._story.title)
        return opening.text

    def observe(self) -> Observation:
        return self._now

    def act(self, action: str) -> Transition:
        """Hand out a command and wait for what came of it.

        Raises:
            PlayerStopped: If nobody plays on.
        """
        before = self._now
        self._commands.put(action)
        result = self._results.get()
        if result is None:
            raise PlayerStopped(f"{self._story.title} is played no more.")
        headings = headings_in(result.text)
        here = before.location.name if before.location else self._story.title
        self._now = after = self._observed(result, headings[0] if headings else here)
        ending = read_ending(result.text)
        return Transition(
            before=before,
            action=action,
            response=result.text,
            after=after,
            # What takes no time was not understood or refused; of anything else nobody can tell.
            unnamed_change=result.moves is None or before.moves is None or result.moves > before.moves,
            died=ending.died,
            finished=result.over,
            victory=result.over and ending.victory,
        )

    def _observed(self, result: TurnResult, place: str) -> Observation:
        score = self._now.score if result.score is None else result.score
        return Observation(location_of(place), None, None, None, score, result.moves)

    def scene(self) -> None:
        return None

    def things(self) -> tuple[ThingState, ...]:
        return ()

    def all_objects(self) -> tuple[PlacedObject, ...]:
        return ()

    def get_object_attributes(self, obj: int, /) -> dict[str, bool]:
        return {}

    def save_state(self) -> bytes:
        """Return nothing that could be restored: whoever plays the game has its state."""
        return json.dumps({"story": self._story.sha256}).encode()

    def restore_state(self, saved: bytes) -> None:
        """
        Raises:
            StateError: Always.
        """
        raise StateError(f"{self._story.title} can't go back: it is played by somebody else. Begin a new episode.")

    def close(self) -> None:
        pass


def headings_in(text: str) -> list[str]:
    """Return the lines that look like the names of places, in order: short, in title case, without a full stop."""
    found = []
    for line in map(str.strip, printable(text).splitlines()):
        framed = _FRAME.match(line)
        name = framed["name"] if framed else line
        if framed or _is_heading(name):
            found.append(name)
    return found


def _is_heading(line: str) -> bool:
    words = [word.strip("'\"(),-") for word in line.split()]
    if not words or len(line) > _LONGEST_HEADING or line[-1] in ".!?:;>*]\"'" or line[0] in "<>[(*\"'":
        return False
    named = [word for word in words if word and word.casefold() not in _SMALL]
    return bool(named) and line[0].isupper() and all(word[0].isupper() or word[0].isdecimal() for word in named)


def location_of(name: str) -> Location:
    """Return a place by its name; the same name is the same place, in every game."""
    return Location(crc32(" ".join(name.casefold().split()).encode()) & 0x7FFFFFFF or 1, name)
