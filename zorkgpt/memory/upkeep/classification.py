"""Classification of memories without a persistence: first proposals, then changes for the accepted ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from pydantic import BaseModel

from zorkgpt.errors import LLMError
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, Persistence, SubjectKey
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.entry import Entry, is_marked
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.world import TEXT_ADVENTURE, World
from zorkgpt.prompts.render import render

log = get_logger(__name__)

Lasting = Literal["core", "permanent"]


@dataclass(frozen=True, slots=True)
class PersistenceProposal:
    """A proposed persistence for an unmarked memory."""

    located: LocatedMemory
    persistence: Persistence
    """Core or permanent."""
    why: str


class Classifier(Protocol):
    def classify(self, located: Sequence[LocatedMemory]) -> list[PersistenceProposal]:
        """Return a proposal for each memory, in the same order. All memories are of one location."""
        ...


def unmarked(document: Document) -> list[LocatedMemory]:
    """Return the memories whose header has no persistence, in file order."""
    return [
        LocatedMemory(section.location_id, section.name, part.memory)
        for section in document.sections
        if section.location_id is not None
        for part in section.parts
        if isinstance(part, Entry) and not is_marked(part)
    ]


def proposals(document: Document, classifier: Classifier) -> Iterator[PersistenceProposal]:
    """Yield a proposal for every unmarked memory, place by place."""
    by_place: dict[SubjectKey, list[LocatedMemory]] = {}
    for memory in unmarked(document):
        by_place.setdefault(memory.location_id, []).append(memory)
    for located in by_place.values():
        yield from classifier.classify(located)


def mark(draft: Draft, accepted: Sequence[PersistenceProposal]) -> int:
    """Write accepted proposals, and return how many. Memories that were changed or marked since are skipped."""
    marked = 0
    for proposal in accepted:
        memory = _same(unmarked(draft.lasting.document), proposal.located)
        if memory is not None:
            after = replace(memory, persistence=proposal.persistence)
            draft.replace(proposal.located.location_id, memory, after, "edited", f"classified: {proposal.why}")
            marked += 1
    return marked


class RuleClassifier:
    """Proposes "permanent" for every memory, which is how unmarked memories are read."""

    def classify(self, located: Sequence[LocatedMemory]) -> list[PersistenceProposal]:
        reason = "the default for unmarked memories; no model was asked"
        return [PersistenceProposal(each, Persistence.PERMANENT, reason) for each in located]


class ClassificationAnswer(BaseModel):
    """The persistence of each memory, in the order of the list."""

    persistences: list[Lasting]


class ModelClassifier:
    """Asks the model of the role `memory`, once for each place. If this fails, the rules decide."""

    def __init__(self, llm: LLM, world: World = TEXT_ADVENTURE) -> None:
        self._llm = llm
        self._world = world
        self._rules = RuleClassifier()

    def classify(self, located: Sequence[LocatedMemory]) -> list[PersistenceProposal]:
        prompt = render(
            "memory_classify",
            world=self._world,
            place=located[0].location_name or located[0].location_id,
            memories="\n".join(
                f"{number}. {each.memory.title}: {single_spaced(each.memory.text)}"
                for number, each in enumerate(located, 1)
            ),
            count=len(located),
        )
        question = [Message("system", prompt.system), Message("user", prompt.user)]
        try:
            answer = self._llm.complete(question, role=Role.MEMORY, response_model=ClassificationAnswer).parsed
        except LLMError as error:
            log.warning("the model could not classify", extra={"location": located[0].location_id, "why": str(error)})
            return self._rules.classify(located)
        if not isinstance(answer, ClassificationAnswer) or len(answer.persistences) != len(located):
            return self._rules.classify(located)
        return [
            PersistenceProposal(each, Persistence(persistence), "the model's answer")
            for each, persistence in zip(located, answer.persistences, strict=True)
        ]


def _same(among: Sequence[LocatedMemory], wanted: LocatedMemory) -> Memory | None:
    for each in among:
        if (each.location_id, each.memory) == (wanted.location_id, wanted.memory):
            return each.memory
    return None
