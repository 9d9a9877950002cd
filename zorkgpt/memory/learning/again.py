"""What was true of one episode only, and is again when the same comes about: that need not be judged twice."""

from typing import Any

from pydantic import BaseModel, ValidationError

from zorkgpt.memory.learning.synthesis import SynthesisRequest
from zorkgpt.memory.learning.wording import noticed_changes, noticed_moves
from zorkgpt.memory.models import MemorySynthesisResponse
from zorkgpt.memory.whereabouts import is_named, words_of


class Again(BaseModel):
    """The judgement of a turn, as far as it can be taken over from one episode to the next."""

    answer: MemorySynthesisResponse
    beside: frozenset[str]
    """The titles that it was judged beside: what was then true of the same things, for that episode only."""


def to_take_again(request: SynthesisRequest, answer: MemorySynthesisResponse) -> dict[str, Any] | None:
    """In JSON values, what the answer says for as long as the episode lasts; None: it has to be judged anew.

    It never lasts longer, whatever the answer called it, and replaces nothing that does.
    """
    if answer.invalidate_memory_titles:
        return None
    passing = {memory.title for memory in request.memories if memory.persistence == "ephemeral"}
    kept = answer.model_copy(
        update={
            "persistence": "ephemeral",
            "supersedes_memory_titles": answer.supersedes_memory_titles & passing,
            "reasoning": "",
        }
    )
    return Again(answer=kept, beside=_beside(request)).model_dump(mode="json")


def taken_again(request: SynthesisRequest, kept: Any) -> MemorySynthesisResponse | None:
    """The answer of then; None: that was not kept, or something holds of these things that it did not know of."""
    try:
        again = Again.model_validate(kept)
    except ValidationError:
        return None
    if not _beside(request) <= again.beside:
        return None
    passing = {memory.title for memory in request.memories if memory.persistence == "ephemeral"}
    known = again.answer.supersedes_memory_titles & passing
    return again.answer.model_copy(update={"supersedes_memory_titles": known})


def _beside(request: SynthesisRequest) -> frozenset[str]:
    changed = [words_of(one.name) for one in (*noticed_moves(request), *noticed_changes(request))]
    return frozenset(
        memory.title
        for memory in request.memories
        if memory.persistence == "ephemeral"
        and any(is_named(words_of(f"{memory.title} {memory.text}"), name) for name in changed)
    )
