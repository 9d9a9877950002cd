"""Finding memories by words."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from zorkgpt.memory.models import Memory

# Okapi BM25 with its usual constants: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
_K1, _B = 1.2, 0.75
# Cosine of a query and a sentence that answers it; unrelated ones are below.
_RELATED = 0.25


@dataclass(frozen=True, slots=True)
class LocatedMemory:
    """A memory with its place."""

    location_id: int
    location_name: str
    """"" where the file does not know it."""
    memory: Memory


@dataclass(frozen=True, slots=True)
class Found:
    """A search result."""

    located: LocatedMemory
    score: float
    """Above 0; comparable within one search only."""


def best_matches(query: str, memories: Sequence[LocatedMemory], k: int) -> list[Found]:
    """The k memories whose words say most of what the query asks for, best first; none without a common word."""
    wanted = set(_words(query))
    texts = [_words(f"{m.location_name} {m.memory.title} {m.memory.title} {m.memory.text}") for m in memories]
    average = sum(map(len, texts)) / len(texts) if texts else 1
    bags = [Counter(words) for words in texts]
    holding = {word: sum(word in bag for bag in bags) for word in wanted}
    found = []
    for located, words, bag in zip(memories, texts, bags, strict=True):
        score = sum(_weight(bag[word], holding[word], len(bags), len(words) / average) for word in wanted & bag.keys())
        if score:
            found.append(Found(located, score))
    return sorted(found, key=lambda result: -result.score)[:k]


def nearest(cosines: Sequence[float], memories: Sequence[LocatedMemory], k: int) -> list[Found]:
    """The k memories that are nearest in meaning, best first; none that have nothing to do with the query."""
    found = [Found(one, cosine) for one, cosine in zip(memories, cosines, strict=True) if cosine >= _RELATED]
    return sorted(found, key=lambda result: -result.score)[:k]


def _weight(count: int, holding: int, of: int, length: float) -> float:
    rarity = log(1 + (of - holding + 0.5) / (holding + 0.5))
    return rarity * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))


def _words(text: str) -> list[str]:
    # A plural "s" is dropped on both sides, so that "keys" finds the key.
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in re.findall(r"\w+", text.casefold())]
