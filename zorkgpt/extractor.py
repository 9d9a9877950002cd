"""Extracts from the game's text what the Z-machine can't say, by asking a model."""

from typing import Any, Protocol

from pydantic import BaseModel, Field, field_validator

from session.history import Extraction, GameText
from zorkgpt.errors import LLMError
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.log import get_logger
from zorkgpt.prompts.render import render
from zorkgpt.world.directions import DIRECTIONS, canonical_direction

log = get_logger(__name__)

_MAX_ENEMIES = 5
_MAX_NAME_CHARACTERS = 60
_SHORT_RESPONSE = 100
"""Characters; a shorter answer to an action seldom names an exit."""


class Extractor(Protocol):
    """Extracts facts from what the game printed."""

    def extract(self, said: GameText) -> Extraction:
        """Return what the text says; no text and no failure of a model makes it raise."""
        ...


class ExtractionAnswer(BaseModel):
    """The form that the model fills in."""

    is_room_description: bool = Field(description="the text describes the place where the player is now")
    exits: list[str] = Field([], description=f"ways that the text names, each one of: {', '.join(DIRECTIONS)}")
    combat: bool = Field(False, description="the text tells of a fight that the player is in")
    enemies: list[str] = Field([], description="whom the player fights, as the text names them")

    @field_validator("exits", "enemies", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        if given is None:
            return []
        return given.split(",") if isinstance(given, str) else given


class ModelExtractor:
    """Asks the model of the role `extractor` about texts that may describe a place or name an exit.

    Args:
        fallback: Reads all other texts, and what the model fails to read.
    """

    def __init__(self, llm: LLM, fallback: Extractor) -> None:
        self._llm = llm
        self._fallback = fallback
        self.failures = 0
        """How often the model gave no answer that could be read."""

    def extract(self, said: GameText) -> Extraction:
        """Return what the model reads in the text, or the fallback if it is not asked or fails."""
        if not is_worth_asking(said):
            return self._fallback.extract(said)
        try:
            answer = self._llm.complete(prompt_for(said), role=Role.EXTRACTOR, response_model=ExtractionAnswer).parsed
            assert isinstance(answer, ExtractionAnswer)
        except LLMError as error:
            self._count_failure(error)
            return self._fallback.extract(said)
        return checked(answer, said)

    def _count_failure(self, error: LLMError) -> None:
        self.failures += 1
        if self.failures == 1:
            log.warning("extractor's model failed, reading by rules", extra={"problem": str(error)})


def is_worth_asking(said: GameText) -> bool:
    """Return whether a text is the first description of a place in this episode, or a long answer to an action."""
    return not said.described if said.arrived else len(said.response) > _SHORT_RESPONSE


def prompt_for(said: GameText) -> list[Message]:
    """Return the question to the model."""
    prompt = render("extractor", said=said)
    return [Message("system", prompt.system), Message("user", prompt.user)]


def checked(answer: ExtractionAnswer, said: GameText) -> Extraction:
    """Return the plausible part of the answer: exits are directions, and nothing is described in the dark."""
    named = (canonical_direction(way.replace("-", "")) for way in answer.exits)
    enemies = (" ".join(enemy.split())[:_MAX_NAME_CHARACTERS] for enemy in answer.enemies if enemy.strip())
    return Extraction(
        is_room_description=answer.is_room_description and not said.dark,
        exits=tuple(dict.fromkeys(direction for direction in named if direction)),
        combat=answer.combat,
        enemies=tuple(dict.fromkeys(enemies))[:_MAX_ENEMIES] if answer.combat else (),
        by="model",
    )
