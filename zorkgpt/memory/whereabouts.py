"""Where things lie, as memories claim it, and which of them the agent itself has put there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any

from zorkgpt.memory.models import ObjectMoved, ZMachineContext

_STATES = (
    "is|are|was|were|lies|lie|sits|sit|rests|rest|stands|stand|hangs|hang|remains|remain|waits|wait|stays|stay|"
    "lying|sitting|resting|left|dropped|placed|put|located|found|kept|stored"
)
_PREPOSITIONS = "in|inside|on|at|under|beside|near|by|behind|atop|within|above|below"
# "The lamp is now on" and "in your hand" say nothing of a place.
_PLACES = (
    rf"(?:here|there|inside|above|below)\b|(?:{_PREPOSITIONS})"
    r"(?! (?:your|my|his|her|the) (?:hands?|possession|inventory)\b) \w+"
)
_FETCHING = "find|found|fetch|get|grab|take|collect|retrieve|recover|pick up|left|dropped|placed|laid"
_ARTICLES = frozenset({"a", "an", "the", "my", "your", "this", "that", "one", "and", "with"})
# A rule or a procedure says what follows from where a thing lies, not that it lies there.
_RULES = frozenset(
    {"if", "when", "whenever", "once", "until", "unless", "after", "before", "then", "must", "need", "needs", "should"}
    | {"can't", "cannot", "never", "not", "no", "score", "scores", "points", "opens", "unlocks", "requires", "makes"}
    | {"lets", "allows"}
)
_VERBS = frozenset(f"{_STATES}|{_FETCHING}".replace("pick up", "up").split("|"))
_DOINGS = "dropped|left|put|placed|took|taken|opened|closed|moved|gave|threw|hid|stored|carried"
_LONGEST_GAP = 4
"""Words between a thing and where it lies."""


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.casefold().replace("’", "'")))


def says_where(text: str, name: str) -> bool:
    """Whether a sentence of the text says plainly where the thing of this name lies; rules and procedures don't.

    The last word of a name will do, "the lantern" for the brass lantern, but not "the rusty lantern".
    """
    thing = words_of(name)
    return any(_claims(words, thing) for words in _words_by_sentence(text))


def sentences_of(text: str) -> list[str]:
    return re.split(r"(?<=[.!?;])\s+", text)


# A text is asked about every thing there is, one after the other.
@lru_cache(maxsize=1024)
def _words_by_sentence(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(words_of(sentence) for sentence in sentences_of(text))


def is_named(words: Sequence[str], name: Sequence[str]) -> bool:
    """Whether a thing of this name is spoken of, by all of it or by its last word alone."""
    if not name or name[-1] not in words:
        return False
    known = _ARTICLES | set(name)
    return any(
        word == name[-1] and (place == 0 or words[place - 1] in known or words[place - 1] in _VERBS)
        for place, word in enumerate(words)
    )


def _claims(words: Sequence[str], name: Sequence[str]) -> bool:
    if not is_named(words, name) or not _RULES.isdisjoint(words):
        return False
    line = " ".join(words)
    return any(form.search(line) for form in _forms(name[-1]))


@lru_cache(maxsize=512)
def _forms(noun: str) -> tuple[re.Pattern[str], ...]:
    thing = re.escape(noun)
    # Not across a word of place: "there is a sword on the table" says nothing of where the table is.
    gap = rf"(?: (?!(?:{_PREPOSITIONS})\b)[\w']+){{0,{_LONGEST_GAP}}}?"
    forms = (
        rf"\b{thing}\b{gap} (?:{_STATES}){gap} (?:{_PLACES})",
        rf"^(?:\w+ ){{0,2}}{thing} (?:{_PLACES})(?: \w+){{0,3}}$",
        rf"\bthere (?:is|are|was|were){gap} {thing}\b",
        rf"(?:{_PLACES}){gap} (?:is|are|lies|lie|sits|stands|hangs|rests){gap} {thing}\b",
        rf"\b(?:{_FETCHING}){gap} {thing}{gap} (?:{_PLACES}|from \w+)",
    )
    return tuple(map(re.compile, forms))


def describes_a_sight(text: str) -> bool:
    """Whether the text says of something that it lies somewhere, and lays down no rule."""
    words = words_of(text)
    line = " ".join(words)
    seen = rf"\b(?:there (?:is|are)|(?:{_STATES}|leans?|hangs?) (?:\w+ ){{0,3}}?(?:{_PLACES}))"
    return _RULES.isdisjoint(words) and re.search(seen, line) is not None


def tells_of_own_doing(text: str) -> bool:
    """Whether the text says what the player did to the world."""
    return (
        re.search(r"\b(?:i|you|we|player|agent)(?: \w+)? (?:" + _DOINGS + r")\b", " ".join(words_of(text))) is not None
    )


@dataclass(frozen=True, slots=True)
class Handling:
    """One thing that the agent moved in this episode."""

    name: str
    found_at: int | None
    """The location where the agent moved it first: there it lay without the agent's doing."""
    origin: int | None
    """What held it then."""
    holder: int | None
    """What holds it now."""
    carried: bool


_FIELDS = attrgetter(*(field.name for field in fields(Handling)))


class Handled:
    """The things that the agent has moved in this episode, by their object numbers."""

    def __init__(self) -> None:
        self._things: dict[int, Handling] = {}

    def __contains__(self, number: object) -> bool:
        return number in self._things

    def numbers(self) -> frozenset[int]:
        return frozenset(self._things)

    def note(self, action: str, turn: ZMachineContext) -> None:
        """Take over what an action moved."""
        for move in turn.moved:
            known = self._things.get(move.number)
            carried = move.name in turn.inventory_after
            if known is not None:
                self._things[move.number] = replace(known, holder=move.destination_number, carried=carried)
            elif _by_the_agent(move, action, turn):
                self._things[move.number] = Handling(
                    move.name, turn.location_before, move.origin_number, move.destination_number, carried
                )

    def put_there(self, location_id: int, text: str) -> str | None:
        """The thing of which the text, kept at this location, says that it lies where only the agent has brought it."""
        for thing in self._things.values():
            back = thing.holder == thing.origin and not thing.carried
            brought = thing.found_at != location_id if thing.carried else not back
            if brought and says_where(text, thing.name):
                return thing.name
        return None

    def clear(self) -> None:
        self._things.clear()

    def to_list(self) -> list[list[Any]]:
        return [[number, *_FIELDS(thing)] for number, thing in self._things.items()]

    def restore(self, things: list[list[Any]]) -> None:
        self._things = {number: Handling(*fields) for number, *fields in things}


def _by_the_agent(move: ObjectMoved, action: str, turn: ZMachineContext) -> bool:
    noun = words_of(move.name)[-1:]
    held = move.name in turn.inventory_before or move.name in turn.inventory_after
    return held or bool(set(noun) & set(words_of(action)))
