"""Check a command against the story's own dictionary, grammar and objects before it is played, without a model.

Only what the story is known to refuse is rejected. Where knowledge ends, or the command is of a kind that is not
analysed here (speech, several objects, pronouns), it passes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from game_interface.language import GrammarLine, Language, Scene, TokenKind, spelled_direction
from zorkgpt.action_rules import TokenMeaning, missing, objection, picks_up
from zorkgpt.world.directions import canonical_direction

CONFIDENCE = 0.9
"""Confidence of every rejection: the story's memory is certain, that no routine makes an exception is not."""

Phrases = tuple[tuple[TokenKind, tuple[str, ...]], ...]
"""The words that fill each token of a grammar line, except its fixed words."""

_PLAIN = re.compile(r"[a-z][a-z'-]*(?: [a-z][a-z'-]*)*")
_ARTICLES = frozenset({"a", "an", "the", "my", "some", "this", "that", "these", "those", "his", "her", "its", "their"})
_NOT_ANALYSED = frozenset(
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
"""Words that make a phrase mean something that is not analysed here."""
_AGAIN = frozenset({"again", "g", "oops", "o", "undo", "please"})


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Whether a proposed action may be played, and if not, the reason in words for the agent."""

    valid: bool
    reason: str = ""
    confidence: float = 0.0
    """0 to 1; 0 for an action that passes, since nothing was found out about it."""


PASSED = ValidationResult(True)


def check_action(
    action: str, language: Language | None, scene: Scene | None, *, answering: bool = False
) -> ValidationResult:
    """Return whether the story is known to refuse the action in the current state.

    Args:
        language: the story's parser; None: not known, so everything passes.
        scene: what is in scope; None: not known, so only words and grammar are checked.
        answering: the game has just asked something, so that a bare name may be an answer.
    """
    text = " ".join(action.lower().split()).rstrip(".!?")
    if language is None or not language.verbs or not _PLAIN.fullmatch(text):
        return PASSED
    words = tuple(text.split())
    reason = _refusal(words, language, scene, answering)
    return ValidationResult(False, reason, CONFIDENCE) if reason else PASSED


def _refusal(words: tuple[str, ...], language: Language, scene: Scene | None, answering: bool) -> str | None:
    truncated = tuple(language.truncate(spelled_direction(word, language.knows)) for word in words)
    if language.rejects_unknown_words:
        for word, kept in zip(words, truncated, strict=True):
            if kept not in language.words:
                return f'The game does not know the word "{word}".'
    verb = truncated[0]
    if verb not in language.verbs:
        may_pass = answering or verb in _AGAIN or verb in language.buzzwords or _is_direction(words[0], verb, language)
        return None if may_pass else f'"{words[0]}" is no verb that the game knows. Begin with a verb or a direction.'
    lines = language.verbs[verb]
    if lines is None or (len(words) == 2 and _is_direction(words[1], truncated[1], language)):
        return None
    return _mismatch(words, truncated[1:], lines, language, scene)


def _is_direction(word: str, truncated: str, language: Language) -> bool:
    return truncated in language.directions or canonical_direction(word) is not None


def _mismatch(
    typed: tuple[str, ...],
    words: tuple[str, ...],
    lines: tuple[GrammarLine, ...],
    language: Language,
    scene: Scene | None,
) -> str | None:
    """Return why none of the verb's grammar lines accepts the words that follow it; None if one may."""
    verb, whole = typed[0], dict(zip(words, typed[1:], strict=True))
    matches = [(line, phrases) for line in lines for phrases in _fillings(line, words, may_omit=False)]
    if not matches and language.infers_omitted:
        matches = [(line, phrases) for line in lines for phrases in _fillings(line, words, may_omit=True)]
    reasons: list[tuple[int, str]] = []
    for line, phrases in matches:
        fault = next(_faults(line, phrases, language, scene, whole), None)
        if fault is None:
            return None
        reasons.append((len(phrases), fault))
    if reasons:
        # The parse with the most phrases is the one that was meant.
        return max(reasons, key=lambda reason: reason[0])[1]
    ways = list(dict.fromkeys(_shown(verb, line) for line in lines))[:6]
    return f'The game does not understand "{verb}" used like this. It knows: {"; ".join(ways)}.'


def _fillings(line: GrammarLine, words: tuple[str, ...], *, may_omit: bool, at: int = 0) -> Iterator[Phrases]:
    """Yield every way in which the words fill the line's tokens from `at` on.

    Args:
        may_omit: the last tokens may stay empty, except after free text, which the parser ends at its next word.
    """
    at_end = at == len(line.tokens)
    may_end = at_end or (may_omit and (at == 0 or line.tokens[at - 1].kind is not TokenKind.FREE))
    if not words and may_end:
        yield ()
    if not words or at_end:
        return
    token = line.tokens[at]
    if token.kind is TokenKind.WORD:
        if words[0] in token.words:
            yield from _fillings(line, words[1:], may_omit=may_omit, at=at + 1)
        return
    for size in range(1, len(words) + 1):
        for rest in _fillings(line, words[size:], may_omit=may_omit, at=at + 1):
            yield ((token.kind, words[:size]), *rest)


def _faults(
    line: GrammarLine, phrases: Phrases, language: Language, scene: Scene | None, whole: Mapping[str, str]
) -> Iterator[str]:
    meanings: list[TokenMeaning] = [
        (kind, phrase, _meaning(kind, phrase, language, scene, whole)) for kind, phrase in phrases
    ]
    if scene is not None:
        if picks_up(line, meanings, scene):
            return
        if fault := missing(line, scene):
            yield fault
    for kind, phrase, meant in meanings:
        if isinstance(meant, str):
            yield meant
        elif meant and scene is not None:
            name = [whole[word] for word in phrase if word not in _ARTICLES]
            if fault := objection(line, kind, name, meant, language, scene):
                yield fault


def _meaning(
    kind: TokenKind, phrase: tuple[str, ...], language: Language, scene: Scene | None, whole: Mapping[str, str]
) -> frozenset[int] | str | None:
    """Return the objects in scope that a phrase can mean; why there are none; or None if it is not known.

    Args:
        whole: The words of the phrase as they were typed.
    """
    if kind is TokenKind.FREE or _NOT_ANALYSED.intersection(phrase):
        return None
    names = [word for word in phrase if word not in _ARTICLES]
    for word in names:
        if word not in language.words:
            return f'The game does not know the word "{whole[word]}".'
    if len(names) == 1 and _is_direction(names[0], names[0], language):
        return None
    shown = " ".join(whole[word] for word in names)
    if any(word in language.prepositions and not _may_name(word, language) for word in names):
        return f'Nothing is called "{shown}".'
    if scene is None or scene.words.intersection(names):
        return None
    named = [language.names[word] for word in names if word in language.names and word not in language.adjectives]
    if not named:
        return None
    if any(not numbers & scene.in_scope for numbers in named):
        return f'There is no "{shown}" here, and you carry none.'
    common = frozenset.intersection(*named)
    if not common and any(word in language.prepositions or _is_direction(word, word, language) for word in names):
        return f'Nothing is called "{shown}".'
    return common & scene.in_scope or None


def _may_name(word: str, language: Language) -> bool:
    return word in language.names or word in language.adjectives


def _shown(verb: str, line: GrammarLine) -> str:
    """Return a grammar line as people write it: "put ... in ..."."""
    shown = ("/".join(sorted(token.words)) if token.kind is TokenKind.WORD else "..." for token in line.tokens)
    return " ".join((verb, *shown))
