"""A game that runs in another program and exchanges only text.

It implements the `Game` protocol without a game engine. Without an object tree, objects, inventory and the effects of
actions are unknown. Places are recognized by the headings in the text.
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

_MAX_HEADING = 60
_SMALL = frozenset({"a", "an", "and", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with"})
_FRAME = re.compile(r"^-=\s*(?P<name>.+?)\s*=-$")
"""A heading in TextWorld."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The opening of a game, or the result of a command."""

    text: str
    score: int | None = None
    max_score: int | None = None
    moves: int | None = None
    over: bool = False
    """Whether the command ended the game."""


@dataclass(frozen=True, slots=True)
class TextStory:
    """A story that is identified by its name."""

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
    """A sequence of games. Each starts with the `TurnResult` of its opening.

    Args:
        commands: The queue for commands of the player.
        results: The queue with the results. None closes the game.
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
            GameClosed: If the game was closed.
        """
        opening = self._results.get()
        if opening is None:
            raise GameClosed(f"{self._story.title} was closed.")
        self._max_score = opening.max_score
        headings = headings_in(opening.text)
        # The last heading, because a banner may come before the place.
        self._now = self._observed(opening, headings[-1] if headings else self._story.title)
        return opening.text

    def observe(self) -> Observation:
        return self._now

    def act(self, action: str) -> Transition:
        """Send a command and wait for its result.

        Raises:
            PlayerStopped: If the game was closed.
        """
        before = self._now
        self._commands.put(action)
        result = self._results.get()
        if result is None:
            raise PlayerStopped(f"{self._story.title} was closed.")
        headings = headings_in(result.text)
        here = before.location.name if before.location else self._story.title
        self._now = after = self._observed(result, headings[0] if headings else here)
        ending = read_ending(result.text)
        return Transition(
            before=before,
            action=action,
            response=result.text,
            after=after,
            # A command that takes no time changed nothing. The effects of others are unknown.
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
        """Return a state that can't be restored, because the other program has the state of the game."""
        return json.dumps({"story": self._story.sha256}).encode()

    def restore_state(self, saved: bytes) -> None:
        """
        Raises:
            StateError: Always.
        """
        raise StateError(
            f"{self._story.title} can't restore a state, because it runs in another program. Start a new episode."
        )

    def close(self) -> None:
        pass


def headings_in(text: str) -> list[str]:
    """Return the lines that look like names of places: short, in title case, without a period at the end."""
    headings = []
    for line in map(str.strip, printable(text).splitlines()):
        framed = _FRAME.match(line)
        name = framed["name"] if framed else line
        if framed or _is_heading(name):
            headings.append(name)
    return headings


def _is_heading(line: str) -> bool:
    words = [word.strip("'\"(),-") for word in line.split()]
    if not words or len(line) > _MAX_HEADING or line[-1] in ".!?:;>*]\"'" or line[0] in "<>[(*\"'":
        return False
    named = [word for word in words if word and word.casefold() not in _SMALL]
    return bool(named) and line[0].isupper() and all(word[0].isupper() or word[0].isdecimal() for word in named)


def location_of(name: str) -> Location:
    """Return the place with this name. The same name is the same place in every game."""
    return Location(crc32(" ".join(name.casefold().split()).encode()) & 0x7FFFFFFF or 1, name)
