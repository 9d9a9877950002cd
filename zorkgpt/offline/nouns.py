"""What a player may call a thing so that the parser understands: by the story's own dictionary."""

import re
from collections.abc import Iterable, Iterator

from game_interface.language import Language, Scene
from game_interface.models import Item
from zorkgpt.world.directions import canonical_direction


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


# They stand for what was spoken of, or for the player.
_PRONOUNS = frozenset(
    ["it", "them", "him", "her", "me", "myself", "self", "you", "yourself", "all", "everything", "one"]
)


class Nouns:
    """The names of things in one story.

    Args:
        vocabulary: words that the parser knows, cut as its dictionary cuts them; empty: not known.
        language: tells which words name what; None: not known.
    """

    def __init__(self, vocabulary: frozenset[str] = frozenset(), language: Language | None = None) -> None:
        self._vocabulary = vocabulary
        self._language = language
        self._named: dict[tuple[int, str], str | None] = {}

    def known(self, word: str) -> bool:
        """Dictionaries keep the first 6 letters of a word in versions 1-3, the first 9 from version 4 on."""
        kept = self._vocabulary
        return not kept or word in kept or word[:9] in kept or word[:6] in kept

    def name(self, item: Item) -> str | None:
        """The last of the thing's words that the parser takes for it, with the one before it; None: there is none."""
        known = item.num, item.name
        if known not in self._named:
            self._named[known] = self._name(item)
        return self._named[known]

    def _name(self, item: Item) -> str | None:
        words = [word for word in words_of(item.name) if self.known(word)]
        if self._language is None:
            return " ".join(words[-2:]) or None
        naming = [at for at, word in enumerate(words) if item.num in self._numbers(word)]
        if not naming:
            return None
        head = naming[-1]
        before = words[head - 1 : head] if head and self._describes(words[head - 1], item) else []
        return " ".join([*before, words[head]])

    def mentioned(self, text: str, scene: Scene | None, beside: Iterable[Item]) -> Iterator[str]:
        """Words of a text that name something at hand which is none of these things: scenery, parts of the place."""
        if self._language is None or scene is None:
            return
        listed = {item.num for item in beside} | scene.carried
        for word in dict.fromkeys(words_of(text)):
            numbers = self._numbers(word) & scene.in_scope
            if numbers and not numbers & listed and canonical_direction(word) is None and word not in _PRONOUNS:
                listed |= numbers
                yield word

    def _numbers(self, word: str) -> frozenset[int]:
        return self._language.names.get(self._language.truncate(word), frozenset()) if self._language else frozenset()

    def _describes(self, word: str, item: Item) -> bool:
        language = self._language
        return language.truncate(word) in language.adjectives or item.num in self._numbers(word)
