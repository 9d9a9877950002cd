"""Which two words are forms of one verb, and where such a difference means nothing."""

import re
from functools import lru_cache
from typing import Literal

from zorkgpt.memory.contrast import words as classes
from zorkgpt.memory.contrast.text import Text

Form = Literal["base", "s", "past", "ing"]

# Such a stem doubles its last letter before -ed and -ing: "plan", "planned"; so "planed" is not of it.
_DOUBLES = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")
# Inside of a sentence a verb follows its subject; after anything else it may as well be a noun or an adjective.
_NO_SUBJECT = classes.FUNCTION_WORDS - classes.PRONOUNS


def may_differ(older: Text, at: int, newer: Text, there: int) -> bool:
    """Whether the words at these places are forms of one verb in a place where the form does not matter."""
    if older.literal[at] or newer.literal[there]:
        return False
    forms = forms_of(older.words[at], newer.words[there])
    if forms == {"s", "past"}:
        return all(
            place > 0 and text.words[place - 1] not in _NO_SUBJECT and not text.stops[place - 1]
            for text, place in ((older, at), (newer, there))
        )
    if forms and "s" not in forms:
        return _begins_clause(older, at) and _begins_clause(newer, there) and (at > 0) == (there > 0)
    return False


def _begins_clause(text: Text, place: int) -> bool:
    """Whether an order or an activity begins here: "Turn the dial", "Turning the dial"."""
    if place + 1 >= len(text.words) or text.stops[place]:
        return False
    has_object = text.articles[place + 1] or text.words[place + 1] in classes.DETERMINERS or _is_number(text, place + 1)
    before = text.words[place - 1] if place else None
    return (
        has_object
        and not text.articles[place]
        and (before is None or text.stops[place - 1] or before in ("and", "then"))
    )


def _is_number(text: Text, place: int) -> bool:
    return text.words[place].isdigit()


def forms_of(one: str, other: str) -> set[Form]:
    """The two forms of the verb that both words are of; empty if there is none."""
    if one[:1] != other[:1]:
        return set()
    for stem, form in _readings(one):
        for other_stem, other_form in _readings(other):
            if stem == other_stem and form != other_form:
                return {form, other_form}
    return set()


@lru_cache(maxsize=8192)
def _readings(word: str) -> tuple[tuple[str, Form], ...]:
    """What verb a word may be a form of."""
    found: list[tuple[str, Form]] = [(word, "base")]
    if word in classes.IRREGULAR:
        found.append((classes.IRREGULAR[word], "past"))
    if word.endswith("ies") and len(word) > 4:
        found.append((word[:-3] + "y", "s"))
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        found.append((word[:-1], "s"))
        if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
            found.append((word[:-2], "s"))
    if word.endswith("ied") and len(word) > 4:
        found.append((word[:-3] + "y", "past"))
    elif word.endswith("ed"):
        found += [(stem, "past") for stem in _stems(word[:-2])]
    if word.endswith("ing"):
        found += [(stem, "ing") for stem in _stems(word[:-3])]
    return tuple(found)


def _stems(rest: str) -> list[str]:
    if len(rest) < 2 or not re.search("[aeiouy]", rest):
        return []
    stems = [rest + "e"]
    if rest[-1] == rest[-2] and rest[-1] not in "sl":
        stems.append(rest[:-1])
    elif not _DOUBLES.fullmatch(rest):
        stems.append(rest)
    return stems


def is_past(word: str) -> bool:
    """Whether this may be a past participle: "drawn", "hidden", "locked"."""
    return len(word) > 4 and any(form == "past" for _, form in _readings(word))
