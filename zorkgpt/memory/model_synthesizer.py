"""Synthesis by a model: the answer schema and the request."""

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from zorkgpt.errors import InvalidAnswer
from zorkgpt.llm.model import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.log import get_logger
from zorkgpt.memory.answers import CategoryWanted, MemorySynthesisResponse, PersistenceWanted
from zorkgpt.memory.models import PlaceKey
from zorkgpt.memory.synthesis import SynthesisRequest, prompt_for
from zorkgpt.memory.world import TEXT_ADVENTURE, World
from zorkgpt.text import whole_sentences

log = get_logger(__name__)

_CONTENT = ("category", "memory_title", "memory_text", "persistence", "status", "also")
_SUPERSEDES = "supersedes_memory_titles"
_CONFIRMS = "confirm_memory_titles"
_INVALIDATES = "invalidate_memory_titles"
_LONGEST_TITLE = 120
_LONGEST_TEXT = 600


class SynthesisAnswer(MemorySynthesisResponse):
    """The schema for the model. It limits lengths and repairs obvious mistakes."""

    memory_title: str | None = Field(
        None,
        max_length=_LONGEST_TITLE,
        description=f"3 to 8 words that name the fact, at most {_LONGEST_TITLE} letters",
    )
    memory_text: str | None = Field(
        None,
        max_length=_LONGEST_TEXT,
        description=f"the fact, in one or two sentences, at most {_LONGEST_TEXT} letters",
    )
    category: CategoryWanted = None
    persistence: PersistenceWanted = None
    # The model can't choose SUPERSEDED. A Literal, since pydantic can't restrict an enum to some members.
    status: Literal["ACTIVE", "TENTATIVE"] = "ACTIVE"  # type: ignore[assignment]

    @model_validator(mode="before")
    @classmethod
    def _repaired(cls, answer: Any) -> Any:
        if not isinstance(answer, dict):
            return answer
        repaired = _repaired_fact(answer)
        if isinstance(repaired.get("also"), list):
            repaired["also"] = [_repaired_fact(fact) if isinstance(fact, dict) else fact for fact in repaired["also"]]
        # Without a fact to remember, the fields of the fact have no meaning.
        unused = (*_CONTENT, _SUPERSEDES) if repaired.get("should_remember") in (False, "false", "False") else ()
        return _without_redundant_titles({name: value for name, value in repaired.items() if name not in unused})


def _without_redundant_titles(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer without blank titles, and without invalidating memories that it supersedes."""
    for name in (_SUPERSEDES, _CONFIRMS, _INVALIDATES):
        if isinstance(answer.get(name), list):
            answer[name] = [title for title in answer[name] if not isinstance(title, str) or title.strip()]
    replaced = answer.get(_SUPERSEDES)
    if isinstance(answer.get(_INVALIDATES), list) and isinstance(replaced, list):
        answer[_INVALIDATES] = [title for title in answer[_INVALIDATES] if title not in replaced]
    return answer


def _repaired_fact(fact: dict[str, Any]) -> dict[str, Any]:
    """Return a fact with normalized case, a valid place, and a text that fits."""
    repaired = {name: value for name, value in fact.items() if value is not None}
    for name, change_case in (("category", str.upper), ("status", str.upper), ("persistence", str.lower)):
        if isinstance(repaired.get(name), str):
            repaired[name] = change_case(repaired[name].strip())
    place = repaired.get("place")
    if isinstance(place, str) and place.strip().isascii() and place.strip().isdigit():
        repaired["place"] = int(place)
    elif place not in ("action", "arrival", "everywhere") and type(place) is not int:
        repaired.pop("place", None)
    text = repaired.get("memory_text")
    if isinstance(text, str) and len(text.strip()) > _LONGEST_TEXT and (cut := whole_sentences(text, _LONGEST_TEXT)):
        repaired["memory_text"] = cut
    return repaired


class AnswerWithExits(SynthesisAnswer):
    """The schema with the exits in the text."""

    exits: list[str] = Field([], description="directions of the exits from here that the text mentions")

    @field_validator("exits", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        if given is None:
            return []
        return given.split(",") if isinstance(given, str) else given


class ModelSynthesizer:
    """Asks the model of the role `memory`."""

    asks_a_model = True

    def __init__(
        self, llm: LLM, *, history_window: int = 3, world: World = TEXT_ADVENTURE, asks_for_exits: bool = False
    ) -> None:
        """
        Args:
            history_window: Number of earlier turns in the prompt.
            world: The terms used in the prompt.
            asks_for_exits: Whether to ask also for the exits in the text, for `take_named_exits`.
        """
        self._llm = llm
        self._history_window = history_window
        self._world = world
        self._schema = AnswerWithExits if asks_for_exits else SynthesisAnswer
        self._named_exits: list[tuple[PlaceKey, str, tuple[str, ...]]] = []

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse | None:
        """Return the model's answer. None if two answers in a row are invalid.

        Raises:
            LLMError: If the model could not be asked.
        """
        asks_for_exits = self._schema is AnswerWithExits
        messages = prompt_for(
            request, history_window=self._history_window, world=self._world, asks_for_exits=asks_for_exits
        )
        try:
            completion = self._llm.complete(messages, role=Role.MEMORY, response_model=self._schema)
        except InvalidAnswer as error:
            log.warning("memory synthesis skipped", extra={"location_id": request.location_id, "problem": str(error)})
            return None
        answer = completion.parsed
        if isinstance(answer, AnswerWithExits) and answer.exits:
            self._named_exits.append((*_place_after(request), tuple(answer.exits)))
        return None if answer is None else MemorySynthesisResponse.model_validate(answer.model_dump(exclude={"exits"}))

    def take_named_exits(self) -> tuple[tuple[PlaceKey, str, tuple[str, ...]], ...]:
        """Return and clear the collected exits: the key and name of each place, and the directions."""
        named, self._named_exits = tuple(self._named_exits), []
        return named


def _place_after(request: SynthesisRequest) -> tuple[PlaceKey, str]:
    """Return the key and the name of the place where the player was when the text was printed."""
    context = request.context
    if request.arrival or not context.location_changed or context.location_after is None:
        return request.location_id, request.location_name
    return context.location_after, context.destination_name
