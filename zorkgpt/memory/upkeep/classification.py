"""Classification of memories that do not say how long they stay true: proposed first, written when accepted."""

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
from zorkgpt.memory.storage.escaping import one_line
from zorkgpt.memory.world import TEXT_ADVENTURE, World
from zorkgpt.prompts.render import render

log = get_logger(__name__)

Lasting = Literal["core", "permanent"]


@dataclass(frozen=True, slots=True)
class PersistenceProposal:
    """What an unmarked memory should be marked as."""

    located: LocatedMemory
    persistence: Persistence
    """Core or permanent."""
    why: str


class Classifier(Protocol):
    def classify(self, located: Sequence[LocatedMemory]) -> list[PersistenceProposal]:
        """Return a proposal for each memory, in the same order; all are of one location."""
        ...


def unmarked(document: Document) -> list[LocatedMemory]:
    """Return the memories whose header does not say how long they stay true, in the order of the file."""
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
    for one in unmarked(document):
        by_place.setdefault(one.location_id, []).append(one)
    for located in by_place.values():
        yield from classifier.classify(located)


def mark(draft: Draft, accepted: Sequence[PersistenceProposal]) -> int:
    """Write accepted proposals, and return how many. A memory that was changed or marked meanwhile is left alone."""
    marked = 0
    for proposal in accepted:
        memory = _same(unmarked(draft.lasting.document), proposal.located)
        if memory is not None:
            after = replace(memory, persistence=proposal.persistence)
            draft.replace(proposal.located.location_id, memory, after, "edited", f"classified: {proposal.why}")
            marked += 1
    return marked


class RuleClassifier:
    """Proposes "permanent" for every memory, as it is read without a mark, and asks no model."""

    def classify(self, located: Sequence[LocatedMemory]) -> list[PersistenceProposal]:
        reason = "as it is read without a mark; no model was asked"
        return [PersistenceProposal(one, Persistence.PERMANENT, reason) for one in located]


class ClassificationAnswer(BaseModel):
    """The persistence of each memory, in the order of the list."""

    persistences: list[Lasting]


class ModelClassifier:
    """Asks the model of the role `memory`, once for each place; where it fails, the rules propose."""

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
                f"{n}. {one.memory.title}: {one_line(one.memory.text)}" for n, one in enumerate(located, 1)
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
        given = zip(located, answer.persistences, strict=True)
        return [PersistenceProposal(one, Persistence(persistence), "the model says so") for one, persistence in given]


def _same(among: Sequence[LocatedMemory], wanted: LocatedMemory) -> Memory | None:
    return next(
        (one.memory for one in among if (one.location_id, one.memory) == (wanted.location_id, wanted.memory)), None
    )
