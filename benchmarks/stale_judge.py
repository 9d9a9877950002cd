"""Extract the statements about objects from a line of memory, and compare them with the object tree.

Statements are extracted by these rules, independent of the author:

- The category and the marks of a line are ignored. "Title: text" is split into sentences, which end with a period or a
  semicolon. Quoted text makes no statement, and neither does a line with "(when ...)".
- "NAME is here" (or lies, stands, hangs), "NAME is in HOLDER" (or on), "NAME is STATE" (open, closed, locked, unlocked,
  lit, unlit, carried). Several names can be joined by commas and "and".
- A list after a colon: "Here: NAME, NAME", "Starts here: ...", "Now here: ...", "In HOLDER: ..." (or on, or carried
  by), "NAME: STATE". States can follow a name in parentheses. "Starts here" counts as a statement about the present,
  because the player will rely on it.
- A name is an object name of the story, with or without an article. If several objects have the name, the statement is
  wrong only if it is wrong for each of them. Unknown names, and positions of fixed objects, are undecided.
- "(now: NAME WORD)" corrects a wrong statement about the object, and "(now: WORD)" any wrong statement. "carried" and
  states must be true. "gone" and "moved" must be beside a wrong statement, or the object must be in no location, which
  makes any statement about it wrong. A correction of a holder also covers its contents.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from zorkgpt.evals.truth import WorldSnapshot
from zorkgpt.memory.claims import STATES, Claim, Relation
from zorkgpt.memory.models import Memory, Persistence

_MARKS = re.compile(r" \[(spawn|session)\]")
_NOTE = re.compile(r"\(now: ([^()]*)\)")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”")
_SENTENCE = re.compile(r"[.;!?](?:\s+|$)|\n")
_STATE_WORDS = {relation.value: relation for pair in STATES.values() for relation in pair} | {
    "on": Relation.LIT,
    "off": Relation.UNLIT,
    "carried": Relation.CARRIED,
}
_STATE = "|".join(_STATE_WORDS)
_IS = r"(?:is|are|lies|lie|stands|stand|hangs|hang)(?: now)?"
_HERE = re.compile(rf"(?P<names>.+?) {_IS} here")
_HELD = re.compile(rf"(?P<names>.+?) {_IS} (?P<how>in|on) (?P<holder>.+)")
_STATED = re.compile(rf"(?P<names>.+?) (?:is|are)(?: now)? (?P<state>{_STATE})")
_LISTED_HERE = re.compile(r"(?:.*\b)?here: (?P<names>.+)")
_LISTED_HELD = re.compile(r"(?P<how>in|on|carried by) (?P<holder>.+?): (?P<names>.+)")
_NAMED_STATE = re.compile(rf"(?P<names>[^:]+): (?P<state>{_STATE})")
_ITEM = re.compile(r"(?P<name>[^()]+?)(?: \((?P<states>[^()]*)\))?")
_COMMA = re.compile(r"(?:, (?:and )?| and )(?![^()]*\))")
_ARTICLE = re.compile(r"^(?:the|an|a|your|some) ")


@dataclass(frozen=True)
class Statement:
    """A statement about a name, as a claim about each object with this name."""

    name: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class JudgedLine:
    """A line shown to the player, with the verdicts."""

    text: str
    true: frozenset[int | None] = frozenset()
    """The objects of true statements."""
    wrong: frozenset[int | None] = frozenset()
    """The objects of wrong statements without a correction."""
    corrected: frozenset[int | None] = frozenset()

    @property
    def is_decided(self) -> bool:
        return bool(self.true or self.wrong or self.corrected)


class Judge:
    """Judges lines by the rules above.

    Args:
        names: Object number → name.
    """

    def __init__(self, names: dict[int, str]) -> None:
        self._numbers: dict[str, set[int]] = defaultdict(set)
        for number, name in names.items():
            self._numbers[_bare(name)].add(number)

    def statements(self, line: str) -> list[Statement]:
        """Return the statements of a line, without corrections."""
        if "(when " in line:
            return []
        line = _QUOTED.sub("", _NOTE.sub("", _MARKS.sub("", re.sub(r"^\s*\[[^\]]*\] ", "", line))))
        found: list[Statement] = []
        for sentence in _SENTENCE.split(line.lower()):
            # The text after a title is a separate sentence, unless both together are a list.
            found += self._of_sentence(sentence.strip()) or self._of_sentence(sentence.partition(": ")[2].strip())
        return found

    def _of_sentence(self, sentence: str) -> list[Statement]:
        for pattern in (_LISTED_HELD, _LISTED_HERE, _NAMED_STATE, _HERE, _STATED, _HELD):
            if (match := pattern.fullmatch(sentence)) and (found := self._of_match(match.groupdict())):
                return found
        return []

    def _of_match(self, told: dict[str, str]) -> list[Statement]:
        found = []
        for item in _COMMA.split(told["names"]):
            match = _ITEM.fullmatch(item.strip())
            numbers = self._numbers.get(_bare(match["name"])) if match else None
            if match is None or numbers is None:
                continue
            where = self._where(numbers, told)
            states = [state for word in (match["states"] or "").split(", ") if (state := _STATE_WORDS.get(word))]
            if where:
                found.append(Statement(match["name"], where))
            for state in states:
                found.append(Statement(match["name"], tuple(Claim(state, number) for number in numbers)))
        return found

    def _where(self, numbers: set[int], told: dict[str, str]) -> tuple[Claim, ...]:
        if state := told.get("state"):
            return tuple(Claim(_STATE_WORDS[state], number) for number in numbers)
        if holder := told.get("holder"):
            relation = Relation.ON if told["how"] == "on" else Relation.IN
            holders = self._numbers.get(_bare(holder), set())
            return tuple(Claim(relation, number, other=other) for number in numbers for other in holders)
        return tuple(Claim(Relation.HERE, number) for number in numbers)

    def judge(self, line: str, place: int | str, world: WorldSnapshot) -> JudgedLine:
        """Judge a line about a place."""
        verdicts = [(one, _is_so(one.claims, place, world)) for one in self.statements(line)]
        wrong = {claim.number for one, so in verdicts if so is False for claim in one.claims}
        true = {claim.number for one, so in verdicts if so for claim in one.claims}
        corrected: set[int | None] = set()
        for note in (part for notes in _NOTE.findall(line) for part in re.split(r", | and ", notes.lower())):
            name, _, word = note.strip().rpartition(" ")
            numbers = self._numbers.get(_bare(name), set()) if name else wrong
            if word == "gone":
                wrong |= {number for number in numbers if _is_in_no_location(number, world)}
            state = _STATE_WORDS.get(word)
            is_so = (
                bool(wrong & numbers)
                if state is None
                else any(
                    _is_so((Claim(state, number),), place, world) is not False
                    for number in numbers
                    if number is not None
                )
            )
            if is_so:
                corrected |= wrong & numbers
            else:
                wrong |= numbers
        # The contents of an object that is gone are gone too.
        held = {claim.number for one, so in verdicts if so is False for claim in one.claims if claim.other in corrected}
        corrected |= wrong & held
        return JudgedLine(line, frozenset(true), frozenset(wrong - corrected), frozenset(corrected))

    @staticmethod
    def mentions(line: str, name: str) -> bool:
        return re.search(rf"\b{re.escape(_bare(name))}\b", line.lower()) is not None


def _bare(name: str) -> str:
    return _ARTICLE.sub("", " ".join(name.lower().split()), count=1)


def _is_so(claims: Sequence[Claim], place: int | str, world: WorldSnapshot) -> bool | None:
    """Return whether one of the claims is true. None if none is true and one is undecided."""
    memories = [Memory("", "", 1, "1", 0, "", Persistence.CORE, claims=(claim,)) for claim in claims]
    verdicts = {world.confirms(place, memory) for memory in memories}
    return True if True in verdicts else None if None in verdicts or not verdicts else False


def _is_in_no_location(number: int | None, world: WorldSnapshot) -> bool:
    thing = world.things.get(number) if number is not None else None
    return thing is not None and thing.room is None and number not in world.carried
