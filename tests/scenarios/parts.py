"""The bundled story, played through the real orchestrator by given commands, with a model that reads its prompt."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestration.assembly import Wishes, assemble
from orchestration.players import Choice
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from zorkgpt.errors import LLMError
from zorkgpt.llm.messages import Message, Role
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.models import Memory

TO_THE_WINDOW = ("north", "north", "east", "northwest")
INTO_THE_HOUSE = (*TO_THE_WINDOW, "examine window", "open window", "south")
GARDEN, KITCHEN, HALL, LANDING = 43, 65, 72, 82

_FENCED = r"(`{3,})\n(?P<%s>.*?)\n(?:`{3,})"
_TURN = re.compile(
    r"# The place\n\n\"(?P<place>[^\"]*)\" \(location (?P<location>\d+)\).*?"
    r"(?:player did\n" + _FENCED % "action" + r"\nand the game answered|The game printed)\n" + _FENCED % "response",
    re.DOTALL,
)


@dataclass(frozen=True)
class Question:
    """What the memory model was asked, read from its prompt alone."""

    location: int
    place: str
    action: str
    response: str
    arrival: bool
    text: str

    def section(self, heading: str) -> str:
        """What stands under a heading that begins so; "" if there is none."""
        found = re.search(rf"^# {heading}[^\n]*\n(.*?)(?=^# |\Z)", self.text, re.DOTALL | re.MULTILINE)
        return found[1].strip() if found else ""

    def here(self, thing: str) -> dict:
        """The claim that a thing is here, by the number that the prompt gives it."""
        found = re.search(rf'^- (\d+) "{thing}"', self.section("Things at hand"), re.MULTILINE)
        return {"relation": "here", "number": int(found[1]) if found else 0}

    @property
    def history(self) -> str:
        return self.section("Recent turns")

    @property
    def memories(self) -> str:
        return self.section("Existing memories")


Mind = Callable[[Question], dict | None]
"""What a model makes of a question; None: nothing to remember."""


def question_of(messages: list[Message]) -> Question:
    text = messages[-1].content
    found = _TURN.search(text)
    return Question(
        int(found["location"]),
        found["place"],
        found["action"] or "",
        found["response"],
        "holds its first look" in text,
        text,
    )


def lesson(title: str, text: str, persistence: str, category: str = "DISCOVERY", **more) -> dict:
    head = {"should_remember": True, "category": category, "memory_title": title, "memory_text": text}
    return head | {"persistence": persistence} | more


class Model(ScriptedLLM):
    """Answers as memory model by a function of the question, and keeps what it was asked and what it said."""

    def __init__(self, mind: Mind) -> None:
        super().__init__(self._reply)
        self._mind = mind
        self.said: list[tuple[Question, dict]] = []

    def _reply(self, messages: list[Message], role: Role) -> dict:
        if role != "memory":
            raise LLMError(f"nobody answers as {role}")
        question = question_of(messages)
        answer = self._mind(question) or {"should_remember": False}
        self.said.append((question, answer))
        return answer


@contextmanager
def story(workdir: Path, model: Model, **settings) -> Iterator[ZorkOrchestratorV2]:
    config = GameConfiguration(zork_game_workdir=str(workdir), embedding_provider="none", **settings)
    with assemble(config, Wishes(Choice("offline", "given commands", None)), llm=model) as game:
        yield game


def play(game: ZorkOrchestratorV2, *commands: str) -> None:
    """One whole episode of these commands, from a fresh world."""
    game.reset_episode()
    for command in commands:
        game.process_turn(command)


def kept(game: ZorkOrchestratorV2, location: int) -> list[tuple[str, str, str]]:
    """Title, persistence and status of each memory of the location."""
    both = (
        *game.simple_memory.memory_cache.get(location, ()),
        *game.simple_memory.ephemeral_cache.get(location, ()),
    )
    return [(memory.title, memory.persistence, memory.status) for memory in both]


def places_of(game: ZorkOrchestratorV2, title: str) -> list[int]:
    """Where memories of this title are kept."""
    caches = (game.simple_memory.memory_cache, game.simple_memory.ephemeral_cache)
    everything: list[tuple[int, Memory]] = [
        (place, memory) for cache in caches for place, memories in cache.items() for memory in memories
    ]
    return [place for place, memory in everything if memory.title == title]
