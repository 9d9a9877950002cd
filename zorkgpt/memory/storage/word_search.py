"""Search for words among memories in this process: those of a file, and those of a scope."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import islice
from math import log
from sys import intern

from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.section import LocationSection
from zorkgpt.memory.storage.words import WordCounts, marks_of, words_of

WordSet = tuple[frozenset[str], int]
"""The different words of a memory, and how many words it has."""
Said = tuple[SubjectKey, Memory, WordSet]
"""A memory with its place and its words."""


class DocumentWords:
    """The words of a document's memories. Only sections that have changed are split into words again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LocationSection, list[WordSet]]] = {}
        """The sections by identity, with the words of their memories."""

    def of(self, document: Document) -> Iterator[Said]:
        """Yield the memories of a document with their words."""
        known, self._known = self._known, {}
        for section in document.sections:
            entry = known.get(id(section)) or (section, [words_in(section.name, memory) for memory in section.memories])
            self._known[id(section)] = entry
        for section in document.sections:
            if section.location_id is not None:
                for memory, said in zip(section.memories, self._known[id(section)][1], strict=True):
                    yield section.location_id, memory, said


def words_in(name: str, memory: Memory) -> WordSet:
    """Return the words of a memory at a place of this name."""
    said = words_of(name, memory)
    return frozenset(map(intern, said)), len(said)


def matches(
    memories: Iterable[Said], asked: Iterable[str], marks: Sequence[str], limit: int
) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
    """Return the memories with any of the words and all of the marks, about the best first: see `Store.matching`."""
    wanted, marked = set(asked), set(marks)
    holding, count, length = Counter[str](), 0, 0
    found: list[tuple[Set[str], int, SubjectKey, Memory]] = []
    for place, memory, (said, size) in memories:
        count, length = count + 1, length + size
        if having := wanted & said:
            holding.update(having)
            found.append((having, size, place, memory))
    average = length / count if count else 1.0
    rarity = {word: log(1 + count / held) for word, held in holding.items()}
    found.sort(key=lambda each: -sum(rarity[word] for word in each[0]) / (average + each[1]))
    passing = ((place, memory) for _, _, place, memory in found if marked.issubset(marks_of(memory)))
    return list(islice(passing, limit)), WordCounts(count, average, {word: holding[word] for word in wanted})
