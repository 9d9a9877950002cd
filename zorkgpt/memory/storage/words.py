"""The words by which memories are found, the marks that stand for their properties, and a search for them.

The search is for memories in this process: those of a file, and those of a scope. A database has an index.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from math import log
from sys import intern
from typing import TYPE_CHECKING, Protocol

from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.storage.versions import is_current

if TYPE_CHECKING:
    from zorkgpt.memory.storage.document import Document
    from zorkgpt.memory.storage.section import LocationSection


@dataclass(frozen=True, slots=True)
class WordCounts:
    """In how many memories words stand."""

    memories: int
    average_length: float
    """In words."""
    holding: dict[str, int]
    """The number of memories with each of the words asked for."""


class WordIndex(Protocol):
    """The words and marks of memories in a database, by the numbers of their rows."""

    def put(self, memories: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add the words and marks of memories."""
        ...

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete the words of memories."""
        ...

    def clear(self) -> None:
        """Delete all words."""
        ...

    def rebuild(self) -> None:
        """Leave no trace of deleted words."""
        ...

    def find(self, wanted: Sequence[str], marks: Sequence[str], limit: int) -> tuple[list[int], dict[str, int]]:
        """Return memories with any of the words and all of the marks, about the best first.

        Also returns in how many memories each word is.
        """
        ...


def words(text: str) -> list[str]:
    """Return the words by which memories are found; a plural "s" is dropped, so that "keys" finds the key."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in re.findall(r"\w+", text.casefold())]


def words_of(name: str, memory: Memory) -> list[str]:
    """Return the words of a memory at a location of this name; those of the title count twice."""
    return words(f"{name} {memory.title} {memory.title} {memory.text}")


CURRENT = "§current"


@lru_cache(maxsize=4096)
def mark(kind: str, value: str | int) -> str:
    """Return the word that stands in the index for a property of a memory; no text can contain it."""
    return "§" + _digest(f"{kind} {value}".casefold())


def marks_of(memory: Memory) -> list[str]:
    episodes = {memory.episode, memory.episode if memory.first_episode is None else memory.first_episode}
    return [
        *([CURRENT] if is_current(memory) else []),
        *([] if memory.vetoed else [mark("status", memory.status)]),
        mark("persistence", memory.persistence),
        mark("category", memory.category),
        *([] if memory.kind is None else [mark("kind", memory.kind)]),
        *(mark("episode", episode_key(episode)) for episode in episodes),
        *metadata_marks(memory.metadata),
    ]


def metadata_marks(metadata: Mapping[str, object]) -> list[str]:
    """Return the words that stand in the index for values of the metadata. 1, 1.0 and true are different values."""
    return ["§" + _digest(f"metadata {json.dumps(item, sort_keys=True)}") for item in metadata.items()]


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


WordSet = tuple[frozenset[str], int]
"""The different words of a memory, and how many words it has."""
Said = tuple[SubjectKey, Memory, WordSet]
"""A memory with its place and its words."""


class DocumentWords:
    """The words of a document's memories. Only sections that have changed are split into words again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LocationSection, list[WordSet]]] = {}
        """The sections by identity, with the words of their memories."""

    def of(self, document: "Document") -> Iterator[Said]:
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
