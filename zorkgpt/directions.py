"""The directions of interactive fiction, and the exits in a text."""

import re
from collections.abc import Iterator
from functools import lru_cache

from zorkgpt.text import SHORT_DIRECTIONS, normalized_action

OPPOSITE = {
    "north": "south",
    "south": "north",
    "east": "west",
    "west": "east",
    "northeast": "southwest",
    "southwest": "northeast",
    "northwest": "southeast",
    "southeast": "northwest",
    "up": "down",
    "down": "up",
    "in": "out",
    "out": "in",
}
DIRECTIONS = tuple(OPPOSITE)

_OTHER_WORDS = SHORT_DIRECTIONS | {"enter": "in", "inside": "in", "exit": "out", "leave": "out", "outside": "out"}
# Only compass directions, because "up" and "in" are common words.
_COMPASS_WORD = re.compile(r"\b(?:(north|south)(?:-?(east|west))?|(east|west))\b", re.IGNORECASE)
_GOING = ("go ", "walk ", "run ", "head ")


@lru_cache(maxsize=4096)
def canonical_direction(action: str) -> str | None:
    """Return the direction of an action: "go nw" → "northwest"; None if it is not just a direction."""
    words = normalized_action(action)
    for verb in _GOING:
        words = words.removeprefix(verb)
    words = _OTHER_WORDS.get(words, words)
    return words if words in OPPOSITE else None


@lru_cache(maxsize=4096)
def exit_name(action: str) -> str:
    """Return the name of the exit that an action takes: its direction, or the action itself ("enter window")."""
    return canonical_direction(action) or normalized_action(action)


def directions_in(text: str) -> tuple[str, ...]:
    """Return the compass directions in a text, each once: "a path leads north-east" → ("northeast",)."""
    directions = ("".join(match.groups("")).lower() for match in _COMPASS_WORD.finditer(text))
    return tuple(dict.fromkeys(directions))


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_CLAUSE_END = re.compile(r"(?<=[.!?;:])\s+|\n{2,}")
_COMPASS = _pattern(r"\b(?:(north|south)(?:[- ]?(east|west))?|(east|west))(?:wards?|ern|erly)?\b")
_OPENING = r"(?:window|door|gate|hatch|flap|curtain|portal)"
_WAY = _pattern(
    r"\b(?:way|path|pathway|road|track|trail|passage|passageway|corridor|tunnel|stair|staircase|stairway|step|ladder|"
    r"exit|entrance|doorway|gateway|arch|archway|opening|hole|crack|bridge|lane|street|hallway|crawlway|lead|"
    rf"follow(?!s? you)|{_OPENING})s?\b"
)
_PART = _pattern(
    r"\s+(?:side|edge|end|bank|shore|part|half|corner|coast|rim|face|front)\s+of\b(?!\s+(?:the\s+)?room\b)|"
    r"\s+of\s+(?!here\b|you\b|this\b)"
)
_WALL = _pattern(r"(?:,\s+(?:an?|the))?\s+wall\b")
_STANDING = _pattern(r"\b(?:you(?:'re| are| stand| have)|this is|facing|stands?|lies?)\b[^,;]*$")
_FLOWING = _pattern(r"\b(?:flows?|flowing|stretch(?:es|ing)?|blows?|blowing)\b[^,;.]*$")
_FOLLOWED = _pattern(r"\b(?:path|road|track|trail|passage) follows\b")
_NEGATED = _pattern(
    r"\b(?:no (?:way|path|passage|exit|door|road|track)|not|never|cannot|can't|couldn't|nothing)\b[^,;]*$"
)
_STAIRS = (
    r"(?:stairs?|staircase|stairway|steps|ladder|rope|chimney|chute|shaft|slide|ramp|slope|scramble|climb|hole|pit)"
)
_GO = (
    r"\b(?:leads?|leading|goe?s?|going|climb(?:s|ing)?|heads?|heading|runs?|running|slop(?:es|ing)|twist(?:s|ing)|"
    r"wind(?:s|ing)|spiral(?:s|ling|ing)?|exits?)\s+(?:\w+ly\s+|back\s+|\w+\s+and\s+)?"
)
_UP = _pattern(
    rf"{_GO}up(?:wards?)?\b|\bup(?:wards?)?\s+(?:an?\s+|the\s+|some\s+)?{_STAIRS}\b|"
    rf"\b{_STAIRS}\s+(?:\w+\s+)?up(?:wards?)?\b|\bascend(?:s|ing)\b|\bclimbable\b|\btree\b.*\blow (?:branch|bough)"
)
_DOWN = _pattern(
    rf"{_GO}down(?:wards?)?\b|\bdown(?:wards?)?\s+(?:an?\s+|the\s+|some\s+)?{_STAIRS}\b|"
    rf"\b{_STAIRS}\s+(?:\w+\s+)?down(?:wards?)?\b|\bdescending\b|\b{_STAIRS}\b.*\bdescends\b|\bbelow you is\b|"
    r"\bhole in the floor\b|\bfloor\b.*\btrap[- ]?door\b|\btrap[- ]?door\b.*\bfloor\b"
)
_IN = _pattern(
    rf"\b{_OPENING}\b.*\b(?:open|ajar|entry|enter|get in)\b|\b(?:leads?|leading|goes|way)\s+(?:in|inside)\b(?!\s+all\b)"
)
_OUT = _pattern(r"\b(?:leads?|leading|goes|way|exits?)\s+(?:back\s+)?(?:out|outside|outdoors)\b(?!\s+of\b)")
_SHUT = _pattern(r"\b(?:shut|closed|locked|nailed|boarded|barred)\b|\btrap[- ]?door\b")
_OPENED = _pattern(r"\b(?:reveal|open|appear|uncover|disclose|swing|slide)\w*\b")


def exits_in(description: str) -> tuple[str, ...]:
    """Return the exits in the description of a place: "a stair leads up; a door is west" → ("west", "up")."""
    return _in_order(_clauses(description))


def exits_opened(response: str) -> tuple[str, ...]:
    """Return the exits that opened according to a response: "... revealing a stair going down" → ("down",).

    Other sentences of a response are ignored, because they may mention directions without an exit.
    """
    return _in_order(clause for clause in _clauses(response) if _OPENED.search(clause) and _WAY.search(clause))


def _in_order(clauses: Iterator[str]) -> tuple[str, ...]:
    named = {way for clause in clauses for way in _named(clause)}
    return tuple(way for way in DIRECTIONS if way in named)


def _clauses(text: str) -> Iterator[str]:
    return (" ".join(clause.split()) for clause in _CLAUSE_END.split(text))


def _named(clause: str) -> Iterator[str]:
    compass = list(_compass(clause))
    yield from compass
    if _UP.search(clause):
        yield "up"
    if _DOWN.search(clause):
        yield "down"
    if not compass and _IN.search(clause) and not _SHUT.search(clause):
        yield "in"
    if _OUT.search(clause):
        yield "out"


def _compass(clause: str) -> Iterator[str]:
    has_way = bool(_WAY.search(clause))
    for match in _COMPASS.finditer(clause):
        before, after = clause[: match.start()], clause[match.end() :]
        flows = _FLOWING.search(before) and not _FOLLOWED.search(before)
        if not flows and not _NEGATED.search(before) and not _is_position(before, after, has_way):
            yield "".join(match.groups("")).lower()


def _is_position(before: str, after: str, has_way: bool) -> bool:
    """Return whether the direction is the position of something ("the west side of the house"), not an exit."""
    if _WALL.match(after):
        return not before.endswith(("enters the ", "into the ", "through the "))
    if not _PART.match(after):
        return False
    return not has_way or bool(_STANDING.search(before)) or not before.endswith(("the ", "at "))
