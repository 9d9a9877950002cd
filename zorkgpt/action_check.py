"""Judges a command by the story's own dictionary, grammar and objects, before it is played: no model, no time.

It rejects only what the story is known to refuse. Where knowledge ends, or the sentence is of a kind that this does not
follow (speech, several things, pronouns), the command passes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from game_interface.language import Form, Language, Place, Scene
from zorkgpt.action_rules import missing, objection, picks_up
from zorkgpt.world.directions import canonical_direction

CONFIDENCE = 0.9
"""Of every rejection: the story's memory is certain, that no routine of the story makes an exception is not."""

Phrases = tuple[tuple[Place, tuple[str, ...]], ...]
"""What fills the places of a form, but for its fixed words."""

_PLAIN = re.compile(r"[a-z][a-z'-]*(?: [a-z][a-z'-]*)*")
_ARTICLES = frozenset({"a", "an", "the", "my", "some", "this", "that", "these", "those", "his", "her", "its", "their"})
_BEYOND = frozenset(
    {"all", "and", "any", "anything", "both", "but", "each", "every", "everything", "everyone", "except", "here"}
    | {
        "him",
        "it",
        "me",
        "myself",
        "of",
        "one",
        "other",
        "self",
        "that",
        "them",
        "then",
        "there",
        "us",
        "you",
        "yourself",
    }
)
"""Words by which a phrase means something that this does not follow."""
_AGAIN = frozenset({"again", "g", "oops", "o", "undo", "please"})


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Whether a proposed action may be played, and if not, why, in words for the agent."""

    valid: bool
    reason: str = ""
    confidence: float = 0.0
    """0 to 1; of an action that passes 0, since nothing was found out about it."""


PASSED = ValidationResult(True)


def check_action(
    action: str, language: Language | None, scene: Scene | None, *, answering: bool = False
) -> ValidationResult:
    """Whether the story is known to refuse the action as things stand.

    Args:
        language: of this story; None: not known, so everything passes.
        scene: what is here now; None: not known, so only words and grammar are checked.
        answering: the game has just asked something, so that a bare name may be an answer.
    """
    text = " ".join(action.lower().split()).rstrip(".!?")
    if language is None or not language.verbs or not _PLAIN.fullmatch(text):
        return PASSED
    words = tuple(text.split())
    reason = _fault(words, language, scene, answering)
    return ValidationResult(False, reason, CONFIDENCE) if reason else PASSED


def _fault(words: tuple[str, ...], language: Language, scene: Scene | None, answering: bool) -> str | None:
    known = tuple(language.cut(word) for word in words)
    if language.every_word_counts:
        for word, cut in zip(words, known, strict=True):
            if cut not in language.words:
                return f'The game does not know the word "{word}".'
    verb = known[0]
    if verb not in language.verbs:
        may_pass = answering or verb in _AGAIN or verb in language.fillers or _goes(words[0], verb, language)
        return None if may_pass else f'"{words[0]}" is no verb that the game knows. Begin with a verb or a direction.'
    forms = language.verbs[verb]
    if forms is None or (len(words) == 2 and _goes(words[1], known[1], language)):
        return None
    return _misfit(words, known, forms, language, scene)


def _goes(word: str, cut: str, language: Language) -> bool:
    return cut in language.directions or canonical_direction(word) is not None


def _misfit(
    words: tuple[str, ...], known: tuple[str, ...], forms: tuple[Form, ...], language: Language, scene: Scene | None
) -> str | None:
    """Why none of the verb's forms will do; None if one may."""
    rest = known[1:]
    filled = [(form, phrases) for form in forms for phrases in _fillings(form, rest, guesses=False)]
    if not filled and language.guesses:
        filled = [(form, phrases) for form in forms for phrases in _fillings(form, rest, guesses=True)]
    reasons: list[tuple[int, str]] = []
    for form, phrases in filled:
        fault = next(_faults(form, phrases, language, scene), None)
        if fault is None:
            return None
        reasons.append((len(phrases), fault))
    if reasons:
        # The reading that makes the most of the words is the one that was meant.
        return max(reasons, key=lambda one: one[0])[1]
    ways = list(dict.fromkeys(_shown(words[0], form) for form in forms))[:6]
    return f'The game does not understand "{words[0]}" used like this. It knows: {"; ".join(ways)}.'


def _fillings(form: Form, words: tuple[str, ...], guesses: bool, at: int = 0) -> Iterator[Phrases]:
    """Every way in which the words fill the form's places from `at` on.

    With `guesses`, the last places may stay empty; after free text the parser wants its next word, though.
    """
    at_end = at == len(form.parts)
    may_end = at_end or (guesses and (at == 0 or form.parts[at - 1].place is not Place.FREE))
    if not words and may_end:
        yield ()
    if not words or at_end:
        return
    part = form.parts[at]
    if part.place is Place.WORD:
        if words and words[0] in part.words:
            yield from _fillings(form, words[1:], guesses, at + 1)
        return
    for size in range(1, len(words) + 1):
        for rest in _fillings(form, words[size:], guesses, at + 1):
            yield ((part.place, words[:size]), *rest)


def _faults(form: Form, phrases: Phrases, language: Language, scene: Scene | None) -> Iterator[str]:
    meanings = [(place, phrase, _meaning(place, phrase, language, scene)) for place, phrase in phrases]
    if scene is not None:
        if picks_up(form, meanings, scene):
            return
        if fault := missing(form, scene):
            yield fault
    for place, phrase, meant in meanings:
        if isinstance(meant, str):
            yield meant
        elif meant and scene is not None and (fault := objection(form, place, phrase, meant, language, scene)):
            yield fault


def _meaning(
    place: Place, phrase: tuple[str, ...], language: Language, scene: Scene | None
) -> frozenset[int] | str | None:
    free = place is Place.FREE or _BEYOND.intersection(phrase)
    return None if free else _meant(phrase, language, scene)


def _meant(phrase: tuple[str, ...], language: Language, scene: Scene | None) -> frozenset[int] | str | None:
    """The objects that a phrase can mean here; why there are none; or None where that can't be told."""
    names = [word for word in phrase if word not in _ARTICLES]
    for word in names:
        if word not in language.words:
            return f'The game does not know the word "{word}".'
    if len(names) == 1 and _goes(names[0], names[0], language):
        return None
    shown = " ".join(names)
    if any(word in language.prepositions and not _may_name(word, language) for word in names):
        return f'Nothing is called "{shown}".'
    if scene is None or scene.words.intersection(names):
        return None
    bearing = [language.names[word] for word in names if word in language.names and word not in language.adjectives]
    if not bearing:
        return None
    if any(not numbers & scene.near for numbers in bearing):
        return f'There is no "{shown}" here, and you carry none.'
    common = frozenset.intersection(*bearing)
    if not common and any(word in language.prepositions or _goes(word, word, language) for word in names):
        return f'Nothing is called "{shown}".'
    return common & scene.near or None


def _may_name(word: str, language: Language) -> bool:
    return word in language.names or word in language.adjectives


def _shown(verb: str, form: Form) -> str:
    """A form as people write it: "put ... in ..."."""
    shown = ("/".join(sorted(part.words)) if part.place is Place.WORD else "..." for part in form.parts)
    return " ".join((verb, *shown))
