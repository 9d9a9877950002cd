"""The words by which memories are found, and the marks: words that stand for their properties."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from zorkgpt.memory.models import Memory, episode_key
from zorkgpt.memory.storage.versions import is_current


@dataclass(frozen=True, slots=True)
class WordCounts:
    """In how many memories words stand."""

    memories: int
    average_length: float
    """In words."""
    holding: dict[str, int]
    """The number of memories with each of the words asked for."""


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
