"""The model that says what a turn teaches and which exits its text names, and the form that it fills in."""

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from zorkgpt.errors import InvalidAnswer
from zorkgpt.llm.messages import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.log import get_logger
from zorkgpt.memory.answers import CategoryWanted, MemorySynthesisResponse, PersistenceWanted
from zorkgpt.memory.models import PlaceKey
from zorkgpt.memory.synthesis import SynthesisRequest, prompt_for
from zorkgpt.memory.world import TEXT_ADVENTURE, World

log = get_logger(__name__)

_CONTENT = ("category", "memory_title", "memory_text", "persistence", "status", "also")
_SUPERSEDES = "supersedes_memory_titles"
_CONFIRMS = "confirm_memory_titles"
_INVALIDATES = "invalidate_memory_titles"
_LONGEST_TITLE = 120
_LONGEST_TEXT = 600
_SENTENCE_END = re.compile(r"[.!?][\"'”’)]*(?=\s)")


class SynthesisAnswer(MemorySynthesisResponse):
    """The form that the model fills in: the response, with limits on length, and what is plainly meant understood."""

    memory_title: str | None = Field(
        None,
        max_length=_LONGEST_TITLE,
        description=f"3 to 8 words that name the fact, {_LONGEST_TITLE} letters at most",
    )
    memory_text: str | None = Field(
        None,
        max_length=_LONGEST_TEXT,
        description=f"the fact, in one or two sentences, {_LONGEST_TEXT} letters at most",
    )
    category: CategoryWanted = None
    persistence: PersistenceWanted = None
    # A model is not offered the third status; pydantic reads the two strings and knows no part of an enum.
    status: Literal["ACTIVE", "TENTATIVE"] = "ACTIVE"  # type: ignore[assignment]

    @model_validator(mode="before")
    @classmethod
    def _meant(cls, answer: Any) -> Any:
        if not isinstance(answer, dict):
            return answer
        meant = _plainly_meant(answer)
        if isinstance(meant.get("also"), list):
            meant["also"] = [_plainly_meant(one) if isinstance(one, dict) else one for one in meant["also"]]
        # Without something to remember, whatever stands in its fields says nothing, and nothing is replaced by it.
        unused = (*_CONTENT, _SUPERSEDES) if meant.get("should_remember") in (False, "false", "False") else ()
        return _without_needless_titles({name: value for name, value in meant.items() if name not in unused})


def _without_needless_titles(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer without blank titles, and without invalidating what it replaces anyway."""
    for name in (_SUPERSEDES, _CONFIRMS, _INVALIDATES):
        if isinstance(answer.get(name), list):
            answer[name] = [title for title in answer[name] if not isinstance(title, str) or title.strip()]
    replaced = answer.get(_SUPERSEDES)
    if isinstance(answer.get(_INVALIDATES), list) and isinstance(replaced, list):
        answer[_INVALIDATES] = [title for title in answer[_INVALIDATES] if title not in replaced]
    return answer


def _plainly_meant(answer: dict[str, Any]) -> dict[str, Any]:
    meant = {name: value for name, value in answer.items() if value is not None}
    for name, case in (("category", str.upper), ("status", str.upper), ("persistence", str.lower)):
        if isinstance(meant.get(name), str):
            meant[name] = case(meant[name].strip())
    place = meant.get("place")
    if isinstance(place, str) and place.strip().isascii() and place.strip().isdigit():
        meant["place"] = int(place)
    elif place not in ("action", "arrival", "everywhere") and type(place) is not int:
        meant.pop("place", None)
    text = meant.get("memory_text")
    if isinstance(text, str) and len(text.strip()) > _LONGEST_TEXT and (cut := _whole_sentences(text.strip())):
        meant["memory_text"] = cut
    return meant


def _whole_sentences(text: str) -> str:
    """Return as many of the first sentences as fit; "" where the first one does not, so that it is asked for again."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, _LONGEST_TEXT)]
    return text[: ends[-1]].rstrip() if ends else ""


class AnswerWithExits(SynthesisAnswer):
    """The form with the exits that the text names."""

    exits: list[str] = Field([], description="directions in which the text says that an exit leads from here")

    @field_validator("exits", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        if given is None:
            return []
        return given.split(",") if isinstance(given, str) else given


class ModelSynthesizer:
    """Asks the model of the role `memory`, with everything that is known of the turn."""

    asks_a_model = True

    def __init__(
        self, llm: LLM, *, history_window: int = 3, world: World = TEXT_ADVENTURE, asks_for_exits: bool = False
    ) -> None:
        """
        Args:
            history_window: turns before this one that the model sees.
            world: what things are called in the question.
            asks_for_exits: Whether the question also asks which exits the text names, for `take_named_exits`.
        """
        self._llm = llm
        self._history_window = history_window
        self._world = world
        self._form = AnswerWithExits if asks_for_exits else SynthesisAnswer
        self._named_exits: list[tuple[PlaceKey, str, tuple[str, ...]]] = []

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse | None:
        """Return what the model says; None if neither of two answers could be read.

        Raises:
            LLMError: the model could not be asked.
        """
        asks_for_exits = self._form is AnswerWithExits
        messages = prompt_for(
            request, history_window=self._history_window, world=self._world, asks_for_exits=asks_for_exits
        )
        try:
            completion = self._llm.complete(messages, role=Role.MEMORY, response_model=self._form)
        except InvalidAnswer as error:
            log.warning("memory synthesis skipped", extra={"location_id": request.location_id, "problem": str(error)})
            return None
        answer = completion.parsed
        if isinstance(answer, AnswerWithExits) and answer.exits:
            self._named_exits.append((*_place_after(request), tuple(answer.exits)))
        return None if answer is None else MemorySynthesisResponse.model_validate(answer.model_dump(exclude={"exits"}))

    def take_named_exits(self) -> tuple[tuple[PlaceKey, str, tuple[str, ...]], ...]:
        """Return the exits that texts name since the last call: the place's key, its name, and the model's words."""
        named, self._named_exits = tuple(self._named_exits), []
        return named


def _place_after(request: SynthesisRequest) -> tuple[PlaceKey, str]:
    """Return the key and the name of the place where the player was when the text was printed."""
    context = request.context
    if request.arrival or not context.location_changed or context.location_after is None:
        return request.location_id, request.location_name
    return context.location_after, context.destination_name
