"""The validated answer of a synthesizer: the facts that a turn teaches.

Imported on use, since a memory without a synthesizer needs no pydantic.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError, WithJsonSchema, model_validator

from zorkgpt.memory.claims import Claim
from zorkgpt.memory.kinds import Category, MemoryKind, MemoryStatus, Persistence

_CONTENT = ("category", "memory_title", "memory_text", "persistence")
MOST_FURTHER_FACTS = 3
_MOST_CLAIMS = 12

FactPlace = Literal["action", "arrival", "everywhere"] | int
"""The subject of a fact: where the action was taken, where it led, everything, or a numbered place or thing."""


def _inline(kind: type[StrEnum]) -> WithJsonSchema:
    """Return a schema that lists the values inline, which models follow better than references."""
    return WithJsonSchema({"enum": [member.value for member in kind], "type": "string"})


def _known_kind(given: Any) -> Any:
    return given if given in tuple(MemoryKind) else None


CategorySaid = Annotated[Category, _inline(Category)]
PersistenceSaid = Annotated[Persistence, _inline(Persistence)]
CategoryWanted = Annotated[Category | None, _inline(Category)]
PersistenceWanted = Annotated[Persistence | None, _inline(Persistence)]
"""For fields that a remembered fact needs. They have no null in the schema, so constrained decoding can't omit them."""
KindSaid = Annotated[MemoryKind | None, BeforeValidator(_known_kind), _inline(MemoryKind)]
"""An unknown kind is read as None."""
StatusSaid = Annotated[MemoryStatus, _inline(MemoryStatus)]
NewStatusSaid = Annotated[MemoryStatus, WithJsonSchema({"enum": ["ACTIVE", "TENTATIVE"], "type": "string"})]
"""Without SUPERSEDED, which no new fact can have."""


def _readable(given: Any) -> tuple[Claim, ...]:
    """Return the valid claims. Invalid ones are dropped, so that the fact is kept."""
    if not isinstance(given, (list, tuple)):
        return ()
    return tuple(claim for claim in map(_claim, given[:_MOST_CLAIMS]) if claim)


def _claim(given: Any) -> Claim | None:
    try:
        return _CLAIM.validate_python(given)
    except ValidationError:
        return None


def _few(given: Any) -> tuple[Any, ...]:
    return tuple(given)[:MOST_FURTHER_FACTS] if isinstance(given, (list, tuple)) else ()


_CLAIM: TypeAdapter[Claim] = TypeAdapter(Claim)
Claims = Annotated[
    tuple[Claim, ...],
    BeforeValidator(_readable),
    Field(description="checkable statements about single things or exits; usually empty"),
]
ActionSaid = Annotated[str | None, Field(description="the action that it is about, verbatim; empty if none")]
PlaceSaid = Annotated[
    FactPlace | None,
    Field(description="what it is about: the place of the action, the place of arrival, everywhere, or a number"),
]
Titles = Annotated[set[str], Field(max_length=3)]


class FurtherFact(BaseModel):
    """Another fact in the same answer."""

    category: CategorySaid
    memory_title: str = Field(min_length=1)
    memory_text: str = Field(min_length=1)
    persistence: PersistenceSaid
    kind: KindSaid = None
    status: NewStatusSaid = MemoryStatus.ACTIVE
    action: ActionSaid = None
    claims: Claims = ()
    place: PlaceSaid = None
    supersedes_memory_titles: Titles = Field(default_factory=set)


class MemorySynthesisResponse(BaseModel):
    """The answer to what a turn teaches."""

    reasoning: str = ""
    should_remember: bool
    category: CategorySaid | None = None
    memory_title: str | None = None
    memory_text: str | None = None
    persistence: PersistenceSaid | None = None
    kind: KindSaid = None
    status: StatusSaid = MemoryStatus.ACTIVE
    action: ActionSaid = None
    claims: Claims = ()
    place: PlaceSaid = None
    supersedes_memory_titles: Titles = Field(default_factory=set)
    also: Annotated[tuple[FurtherFact, ...], BeforeValidator(_few)] = Field(
        default=(),
        description="further facts; usually empty",
        json_schema_extra={"maxItems": MOST_FURTHER_FACTS},
    )
    confirm_memory_titles: Titles = Field(default_factory=set)
    invalidate_memory_titles: Titles = Field(default_factory=set)
    invalidation_reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_unused_content(cls, answer: Any) -> Any:
        if not isinstance(answer, dict) or answer.get("should_remember") is not False:
            return answer
        return {name: value for name, value in answer.items() if name not in (*_CONTENT, "also")}

    @model_validator(mode="after")
    def _complete(self) -> "MemorySynthesisResponse":
        if self.should_remember:
            missing = [name for name in _CONTENT if not (getattr(self, name) or "").strip()]
            if missing:
                raise ValueError(f"should_remember is true, so these are required: {', '.join(missing)}")
        if self.invalidate_memory_titles and not (self.invalidation_reason or "").strip():
            raise ValueError("invalidate_memory_titles needs an invalidation_reason that is not blank")
        both = self.supersedes_memory_titles & self.invalidate_memory_titles
        if both:
            raise ValueError(f"a title may not be both superseded and invalidated: {', '.join(sorted(both))}")
        return self

    def facts(self) -> "tuple[MemorySynthesisResponse | FurtherFact, ...]":
        """Return the facts to remember, the main fact first."""
        return (self, *self.also) if self.should_remember else ()
