"""Adherence: whether an action followed a memory, and whether its outcome bears the memory out; decided strictly.

A memory is credited or blamed for an outcome only where its words leave no doubt that it speaks of the action, and the
Z-machine's facts leave no doubt about the outcome. In all other cases nothing is said.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from zorkgpt.memory.claims import holds
from zorkgpt.memory.entailment import lexicon
from zorkgpt.memory.entailment.lexicon import forms_of
from zorkgpt.memory.entailment.text import Text, read
from zorkgpt.memory.models import Memory, ZMachineContext, outcome_of
from zorkgpt.memory.storage.escaping import folded

Mention = Literal["plain", "conditional"]
"""The way a memory speaks of an action: plainly, or under a condition that may not have held."""


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.casefold().replace("’", "'")))


def sentences_of(text: str) -> list[str]:
    return re.split(r"(?<=[.!?;])\s+", text)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WAYS = dict(zip(["n", "s", "e", "w", "u", "d"], ["north", "south", "east", "west", "up", "down"], strict=True))
_WAYS |= {"ne": "northeast", "nw": "northwest", "se": "southeast", "sw": "southwest"}
_COMPASS = frozenset(_WAYS.values())
_DIRECTIONS = _COMPASS | {"in", "out"}
_GOING = _words("go goes going went walk walks walking head heads heading travel run climb climbs climbing")
_LEADING = _words("lead leads leading goes")
_SAME_VERB = {"get": "take", "grab": "take", "x": "examine", "l": "look", "shut": "close"}
# With these the verb means another action: "turn on" and "turn off", "look under".
_PARTICLES = _words("on off up down in out into under behind through over inside around across")
_DROPPED = lexicon.ARTICLES | _words("this that these those my your it them to with from at of and then")
_CONDITIONS = lexicon.CONDITIONS - {"as", "during"} | lexicon.HEDGES | lexicon.EXCEPTIONS | {"with", "need", "needs"}
_DENYING = ("FAILURE", "DANGER")
PROMISING = ("SUCCESS", "DISCOVERY")
"""Categories that promise that an action does something."""
GO = "go"
"""The verb of a plain direction."""
_NEAR, _NEAR_NOUN = 1, 3
"""The most words between a verb and its first noun, and between one noun and the next."""


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """An action in normal form."""

    verb: str
    """`GO` for a plain direction."""
    nouns: tuple[str, ...] = ()
    particles: frozenset[str] = frozenset()


@lru_cache(maxsize=1024)
def parse_action(action: str) -> ParsedAction | None:
    """Parse a command; None where it has neither a noun nor a direction, as "wait" or "look"."""
    words = [word for word in words_of(action) if word not in _DROPPED]
    if not words:
        return None
    verb, rest = words[0], words[1:]
    verb = _WAYS.get(verb, verb)
    if verb in _DIRECTIONS and not rest:
        return ParsedAction(GO, (verb,))
    if verb in _GOING and len(rest) == 1 and _WAYS.get(rest[0], rest[0]) in _DIRECTIONS:
        return ParsedAction(GO, (_WAYS.get(rest[0], rest[0]),))
    if verb == "pick" and "up" in rest:
        verb, rest = "take", [word for word in rest if word != "up"]
    nouns = tuple(word for word in rest if word not in _PARTICLES)
    if not nouns:
        return None
    return ParsedAction(_SAME_VERB.get(verb, verb), nouns, frozenset(rest) & _PARTICLES)


def mention(memory: Memory, action: str) -> Mention | None:
    """Return how the memory speaks of an action, in its title or its text; None if it does not.

    A direction counts where it is gone or leads somewhere ("go north", "leads down") or opens a sentence. Any other
    action counts where a sentence has its verb as somebody's deed ("move", "moving", "moved", not "moves"), close
    behind it all its nouns in their order, and its particles ("on", "under") after the verb. What is denied counts for
    failures and dangers only.
    """
    parsed = parse_action(action)
    return None if parsed is None else _mention(memory.title, memory.text, memory.category, parsed)


def borne_out(memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the outcome is what the memory promises; None: it says nothing for or against it.

    A memory that says which action it is about speaks of that one only, and promises the outcome that it keeps. Of one
    that says when it holds, other states say nothing.

    Any other is read. SUCCESS and DISCOVERY promise that the action does something: the player gets somewhere (a
    direction), or score, inventory, place or a thing that is named change. FAILURE promises that it does nothing, or
    kills. DANGER promises death; who does it and lives has disproved it only if its title names the action. NOTE
    promises nothing. Under a condition, which may not have held, a memory can only be borne out.
    """
    if any(holds(claim, turn.state) is not True for claim in memory.when):
        return None
    if memory.action:
        if not _is_same_action(memory.action, action):
            return None
        return _as_kept(memory.outcome, turn) if memory.outcome else _verdict(memory, action, turn)
    how = mention(memory, action)
    if how is None:
        return None
    verdict = _verdict(memory, action, turn)
    return None if verdict is False and how == "conditional" else verdict


def _is_same_action(one: str, other: str) -> bool:
    parsed = parse_action(one)
    return folded(one) == folded(other) or (parsed is not None and parsed == parse_action(other))


def _as_kept(outcome: str, turn: ZMachineContext) -> bool | None:
    """Return whether the action came out as it did before; None: nobody can tell, or death kept it from coming out."""
    now = outcome_of(turn)
    if outcome == "died" or outcome.startswith("to "):
        return now == outcome
    if now in ("died", ""):
        return None
    return (now == "nothing") == (outcome == "nothing")


def outcome_in_words(turn: ZMachineContext) -> str:
    """Describe what came of an action, by the ground truth."""
    found = ["died"] if turn.died else []
    if turn.location_changed:
        found.append(f"came to {turn.destination_name or turn.location_after}")
    if turn.score_delta:
        found.append(f"score {turn.score_delta:+d}")
    found += [f"{move.name}: {move.origin} → {move.destination}" for move in turn.moved[:3]]
    found += [f"{one.name}: {'' if one.value else 'not '}{one.attribute}" for one in turn.changed[:3]]
    if turn.inventory_changed and not turn.moved:
        found.append("inventory changed")
    return "; ".join(found) or ("nothing changed" if turn.nothing_changed else "nothing to see")


def _verdict(memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    did = _did_something(memory, action, turn)
    match memory.category:
        case category if category in PROMISING:
            return False if turn.died else did
        case "FAILURE":
            return True if turn.died else None if did is None else not did
        case "DANGER":
            named = _mention(memory.title, "", memory.category, parse_action(action)) is not None
            return True if turn.died else False if named and did is not None else None
        case _:
            return None


def _did_something(memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the action had an effect, other than what happens by itself; None: nobody can tell."""
    parsed = parse_action(action)
    if parsed is not None and parsed.verb == GO:
        return turn.location_changed
    if turn.location_changed or turn.inventory_changed or turn.score_delta > 0:
        return True
    named = {*words_of(action), *words_of(memory.title), *words_of(memory.text)}
    things = [*(move.name for move in turn.moved), *(change.name for change in turn.changed)]
    names = map(words_of, things)
    if any(name and name[-1] in named for name in names):
        return True
    return False if turn.nothing_changed else None


@lru_cache(maxsize=8192)
def _mention(title: str, text: str, category: str, parsed: ParsedAction) -> Mention | None:
    found: set[Mention] = set()
    for sentence in (*sentences_of(title), *sentences_of(text)):
        said = read(sentence.replace("`", " "))
        words = said.words
        spoken = _goes(said, parsed.nouns[0]) if parsed.verb == GO else _does(words, parsed)
        if spoken and (category in _DENYING or lexicon.NEGATIONS.isdisjoint(words)):
            found.add("plain" if _CONDITIONS.isdisjoint(words) else "conditional")
    if not found:
        return None
    # One sentence with a condition qualifies all that the memory says.
    return "conditional" if "conditional" in found else "plain"


def _goes(said: Text, way: str) -> bool:
    places = [place for place, word in enumerate(said.words) if _WAYS.get(word, word) == way]
    return any(_is_gone(said, place) or (place == 0 and way in _COMPASS) for place in places)


def _is_gone(said: Text, place: int) -> bool:
    """Return whether a direction is a way here: "leads south", "go to the south", but not "to the south gate"."""
    before = said.words[max(0, place - 2) : place]
    if before[-1:] == ("to",) and said.articles[place]:
        following = said.words[place + 1 : place + 2]
        if following and not said.stops[place] and following[0] not in lexicon.FUNCTION_WORDS:
            return False
        before = before[:-1]
    return not (_GOING | _LEADING).isdisjoint(before[-1:])


def _does(words: tuple[str, ...], parsed: ParsedAction) -> bool:
    return any(_follows(words[place + 1 :], parsed) for place in _verbs(words, parsed.verb))


def _verbs(words: tuple[str, ...], verb: str) -> Iterator[int]:
    """Yield where somebody does it: "lever opens the gate" is nobody's deed."""
    for place, word in enumerate(words):
        word = _SAME_VERB.get(word, word)
        if word == verb or ({"base"} < (forms := forms_of(verb, word)) and "s" not in forms):
            yield place


def _follows(words: tuple[str, ...], parsed: ParsedAction) -> bool:
    if not parsed.particles <= set(words):
        return False
    at, near = 0, _NEAR
    for noun in parsed.nouns:
        close = words[at : at + near + 1]
        found = next((n for n, word in enumerate(close) if word == noun or forms_of(noun, word) == {"base", "s"}), None)
        if found is None:
            return False
        at, near = at + found + 1, _NEAR_NOUN
    return True
