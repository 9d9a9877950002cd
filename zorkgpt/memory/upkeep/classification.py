"""Classification of memories without a persistence: first proposals, then changes for the accepted ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel

from zorkgpt.errors import LLMError
from zorkgpt.llm.messages import Message
from zorkgpt.llm.model import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, Persistence, SubjectKey
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.entry import is_marked
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.section import with_changes
from zorkgpt.memory.world import TEXT_ADVENTURE, World
from zorkgpt.prompts.render import render

log = get_logger(__name__)

Lasting = Literal["core", "permanent"]
_BY_DEFAULT = "the default for unmarked memories; no model was asked"


@dataclass(frozen=True, slots=True)
class PersistenceProposal:
    """A proposed persistence for an unmarked memory."""

    located: LocatedMemory
    persistence: Persistence
    """Core or permanent."""
    why: str


def unmarked(document: Document) -> list[LocatedMemory]:
    """Return the memories whose header has no persistence, in file order."""
    return [
        LocatedMemory(section.location_id, section.name, entry.memory)
        for section in document.sections
        if section.location_id is not None
        for entry in section.entries
        if not is_marked(entry)
    ]


def proposals(
    document: Document, llm: LLM | None = None, world: World = TEXT_ADVENTURE
) -> Iterator[PersistenceProposal]:
    """Yield a proposal for every unmarked memory, place by place.

    The model of the role `memory` is asked once for each place. If this fails, or without a model, "permanent" is
    proposed, which is how unmarked memories are read.
    """
    by_place: dict[SubjectKey, list[LocatedMemory]] = {}
    for memory in unmarked(document):
        by_place.setdefault(memory.location_id, []).append(memory)
    for located in by_place.values():
        if llm is not None and (answers := _asked(llm, world, located)):
            for each, persistence in zip(located, answers, strict=True):
                yield PersistenceProposal(each, Persistence(persistence), "the model's answer")
        else:
            for each in located:
                yield PersistenceProposal(each, Persistence.PERMANENT, _BY_DEFAULT)


def mark(draft: Draft, document: Document, accepted: Sequence[PersistenceProposal]) -> int:
    """Write accepted proposals, and return how many. Memories that were changed or marked since are skipped.

    Args:
        document: The memory file.
    """
    marked: dict[int, Memory] = {}
    left = unmarked(document)
    for proposal in accepted:
        if proposal.located in left:
            memory = left.pop(left.index(proposal.located)).memory
            after = replace(memory, persistence=proposal.persistence)
            reason = f"classified: {proposal.why}"
            marked[id(memory)] = draft.replace(proposal.located.location_id, memory, after, "edited", reason)
    # Explicitly, because a permanent memory has only another header.
    sections = (with_changes(section, marked, (), document.eol) for section in document.completed.sections)
    draft.document = replace(document, sections=tuple(sections))
    return len(marked)


class ClassificationAnswer(BaseModel):
    """The persistence of each memory, in the order of the list."""

    persistences: list[Lasting]


def _asked(llm: LLM, world: World, located: Sequence[LocatedMemory]) -> list[Lasting] | None:
    """Return the model's answer for each of these memories of one place. None if there is no valid one."""
    prompt = render(
        "memory_classify",
        world=world,
        place=located[0].location_name or located[0].location_id,
        memories="\n".join(
            f"{number}. {each.memory.title}: {single_spaced(each.memory.text)}"
            for number, each in enumerate(located, 1)
        ),
        count=len(located),
    )
    question = [Message("system", prompt.system), Message("user", prompt.user)]
    try:
        answer = llm.complete(question, role=Role.MEMORY, response_model=ClassificationAnswer).parsed
    except LLMError as error:
        log.warning("the model could not classify", extra={"location": located[0].location_id, "why": str(error)})
        return None
    if not isinstance(answer, ClassificationAnswer) or len(answer.persistences) != len(located):
        return None
    return answer.persistences
