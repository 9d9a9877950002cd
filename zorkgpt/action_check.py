"""Check a command against the story's dictionary, grammar and objects before it is played, without a model.

Only commands that the story is known to refuse are rejected. Commands that are not analyzed here (speech, several
objects, pronouns, very long ones) pass.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

from game_interface.models import GrammarLine, Language, Scene, TokenKind, spelled_direction
from zorkgpt.directions import canonical_direction
from zorkgpt.identity_cache import cached_by_identity

CONFIDENCE = 0.9
"""Confidence of every rejection. Objects and grammar are certain, but a routine of the story may make an exception."""

Phrases = tuple[tuple[TokenKind, tuple[str, ...]], ...]
"""The words that fill each token of a grammar line, except its fixed words."""

_PLAIN = re.compile(r"[a-z][a-z'-]*(?: [a-z][a-z'-]*)*")
_ARTICLES = frozenset({"a", "an", "the", "my", "some", "this", "that", "these", "those", "his", "her", "its", "their"})
_NOT_ANALYSED = frozenset(
    (
        *("all", "and", "any", "anything", "both", "but", "each", "every", "everyone", "everything", "except", "here"),
        *("him", "it", "me", "myself", "of", "one", "other", "self", "that", "them", "then", "there", "us", "you"),
        "yourself",
    )
)
"""Phrases with these words are not analyzed."""
_MOST_WORDS = 12
"""A limit, because the number of ways to fill a grammar line grows exponentially with the number of words."""
_MAX_PARSES = 20_000
_AGAIN = frozenset({"again", "g", "oops", "o", "undo", "please"})


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Whether a proposed action may be played, and the reason for the agent if not."""

    valid: bool
    reason: str = ""
    confidence: float = 0.0
    """The confidence of a rejection, 0 to 1."""


PASSED = ValidationResult(True)


def check_action(
    action: str, language: Language | None, scene: Scene | None, *, answering: bool = False
) -> ValidationResult:
    """Return whether the story is known to refuse the action in the current state.

    Args:
        language: The words and grammar of the story. If None, everything passes.
        scene: The objects in scope. If None, only words and grammar are checked.
        answering: Whether the game has just asked something, so that a name alone may be an answer.
    """
    text = " ".join(action.lower().split()).rstrip(".!?")
    if language is None or not language.verbs or not _PLAIN.fullmatch(text):
        return PASSED
    words = tuple(text.split())
    if len(words) > _MOST_WORDS:
        return PASSED
    reason = _refusal(words, language, scene, answering)
    return ValidationResult(False, reason, CONFIDENCE) if reason else PASSED


@dataclass(frozen=True, slots=True)
class _Parse:
    """How the story's grammar reads a command, in any state."""

    matches: tuple[tuple[GrammarLine, Phrases], ...] = ()
    """The grammar lines that may accept it, each with the words that fill its tokens."""
    typed: Mapping[str, str] = field(default_factory=dict)
    """Truncated word after the verb → the word as it was typed."""
    refusal: str | None = None
    """Why no line does; None if the command passes without analysis."""
    may_answer: bool = False
    """Whether it is refused only because it doesn't begin with a verb."""


def _refusal(words: tuple[str, ...], language: Language, scene: Scene | None, answering: bool) -> str | None:
    parse = _parser(language)(words)
    if not parse.matches:
        return None if answering and parse.may_answer else parse.refusal
    reasons: list[tuple[int, str]] = []
    for line, phrases in parse.matches:
        fault = next(_faults(line, phrases, language, scene, parse.typed), None)
        if fault is None:
            return None
        reasons.append((len(phrases), fault))
    # Assume that the parse with the most phrases is meant.
    return max(reasons, key=lambda reason: reason[0])[1]


@cached_by_identity
def _parser(language: Language) -> Callable[[tuple[str, ...]], _Parse]:
    """Return a function that parses the words of a command. It caches its results."""
    return lru_cache(_MAX_PARSES)(partial(_parse, language))


def _parse(language: Language, words: tuple[str, ...]) -> _Parse:
    verb, *others = (language.truncate(spelled_direction(word, language.knows)) for word in words)
    if language.rejects_unknown_words:
        for word, short in zip(words, (verb, *others), strict=True):
            if short not in language.words:
                return _Parse(refusal=f'The game does not know the word "{word}".')
    if verb not in language.verbs:
        if verb in _AGAIN or verb in language.buzzwords or _is_direction(words[0], verb, language):
            return _Parse()
        refusal = f'The game does not know the verb "{words[0]}". Begin with a verb or a direction.'
        return _Parse(refusal=refusal, may_answer=True)
    lines = language.verbs[verb]
    if lines is None or (len(words) == 2 and _is_direction(words[1], others[0], language)):
        return _Parse()
    for may_omit in (False, True) if language.infers_omitted else (False,):
        fillings = ((line, phrases) for line in lines for phrases in _fillings(line, tuple(others), may_omit=may_omit))
        if matches := tuple(fillings):
            return _Parse(matches, dict(zip(others, words[1:], strict=True)))
    ways = list(dict.fromkeys(_shown(words[0], line) for line in lines))[:6]
    return _Parse(refusal=f'The game does not understand "{words[0]}" used like this. It knows: {"; ".join(ways)}.')


def _is_direction(word: str, truncated: str, language: Language) -> bool:
    return truncated in language.directions or canonical_direction(word) is not None


def _fillings(line: GrammarLine, words: tuple[str, ...], *, may_omit: bool, at: int = 0) -> Iterator[Phrases]:
    """Yield every way to fill the line's tokens from `at` on with the words.

    Args:
        may_omit: Whether the last tokens may be empty, except after free text, which the next token ends.
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
    """Return the objects in scope that a phrase can mean, or the reason why there are none; None if unknown.

    Args:
        whole: The truncated words of the phrase, with the typed words.
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
    """Return a grammar line in readable form: "put ... in ..."."""
    shown = ("/".join(sorted(token.words)) if token.kind is TokenKind.WORD else "..." for token in line.tokens)
    return " ".join((verb, *shown))


TokenMeaning = tuple[TokenKind, tuple[str, ...], frozenset[int] | str | None]
"""A token's kind, the words that fill it, and the result of `_meaning`."""

_PICKING_UP = (TokenKind.IN_REACH, TokenKind.PICKED_UP)


def objection(
    line: GrammarLine, kind: TokenKind, phrase: Iterable[str], meant: Iterable[int], language: Language, scene: Scene
) -> str | None:
    """Return why all of these objects are refused; None if one may be accepted."""
    for key in (kind, _standard_verb(line, language)):
        rules = _RULES.get(key, ())
        reasons = [
            next((reason for reason, applies in rules if applies(_NamedObject(each, scene))), None) for each in meant
        ]
        if reasons and all(reasons):
            return f"The {' '.join(phrase)} {reasons[0]}."
    return None


def missing(line: GrammarLine, scene: Scene) -> str | None:
    """Return why the parser can't infer an omitted object; None if it may."""
    # If the parser infers the first object, it may not need the second.
    for implied in line.implied[:1]:
        if not any(implied.attribute in is_set for is_set in scene.set_attributes.values()):
            return "A thing is missing in this command, and nothing here fits. Name the other thing too."
    return None


def picks_up(line: GrammarLine, meanings: Iterable[TokenMeaning], scene: Scene) -> bool:
    """Return whether the game may take something implicitly. Even a refused command then has an effect."""
    objects: set[int] = set()
    for kind, _, meant in meanings:
        if kind in _PICKING_UP and isinstance(meant, frozenset):
            objects |= meant
    for implied in line.implied:
        if implied.kind in _PICKING_UP:
            objects |= {number for number, is_set in scene.set_attributes.items() if implied.attribute in is_set}
    return any(number not in scene.carried and not _is(number, "fixed", scene) for number in objects)


def _standard_verb(line: GrammarLine, language: Language) -> tuple[str, ...] | None:
    """Return the verb in `_RULES` with the same action as this line with one object; None if there is none."""
    if sum(token.kind is not TokenKind.WORD for token in line.tokens) != 1:
        return None
    return next((verb for verb, actions in _standard_actions(language).items() if line.action in actions), None)


@cached_by_identity
def _standard_actions(language: Language) -> dict[tuple[str, ...], set[int]]:
    """Return the action numbers of each verb in `_RULES`, when followed by one object."""
    return {verb: _actions(verb, language) for verb in _RULES if isinstance(verb, tuple)}


def _actions(verb: tuple[str, ...], language: Language) -> set[int]:
    first, *words = verb
    return {line.action for line in language.verbs.get(first) or () if _is_words_and_object(line, words)}


def _is_words_and_object(line: GrammarLine, words: list[str]) -> bool:
    if not line.tokens or line.tokens[-1].kind is TokenKind.WORD or len(line.tokens) != len(words) + 1:
        return False
    return all(word in token.words for word, token in zip(words, line.tokens[:-1], strict=True))


def _is(number: int, attribute: str, scene: Scene) -> bool | None:
    return scene.attributes.get(number, {}).get(attribute)


@dataclass(frozen=True, slots=True)
class _NamedObject:
    """An object that a command names."""

    number: int
    scene: Scene

    def has(self, attribute: str) -> bool | None:
        return _is(self.number, attribute, self.scene)

    @property
    def is_here(self) -> bool:
        return self.number in self.scene.here

    @property
    def is_ordinary(self) -> bool:
        """Whether it is portable or fixed. Other objects have their own action routine."""
        return bool(self.has("portable") or self.has("fixed"))


Rule = tuple[str, Callable[[_NamedObject], object]]
"""Why an object is refused, as the predicate of a sentence about it, and whether it is."""

_HOLD: Rule = ("is not in your hands", lambda thing: thing.is_here and thing.is_ordinary)
_SWITCH: Rule = ("can't be switched on or off", lambda thing: thing.has("switchable") is False)
_RULES: dict[TokenKind | tuple[str, ...] | None, tuple[Rule, ...]] = {
    TokenKind.HELD: (_HOLD,),
    TokenKind.IN_REACH: (
        ("is not in your hands, and can't be taken", lambda thing: thing.is_here and thing.has("fixed")),
    ),
    TokenKind.PERSON: (("is not alive", lambda thing: thing.has("animate") is False and not thing.has("talkable")),),
    # Taking a fixed object may still reveal something, such as an object beneath it.
    ("take",): (("is already in your hands", lambda thing: thing.number in thing.scene.held),),
    ("open",): (
        ("can't be opened", lambda thing: thing.is_ordinary and thing.has("openable") is False),
        ("is already open", lambda thing: thing.is_ordinary and thing.has("open")),
    ),
    ("close",): (
        ("can't be closed", lambda thing: thing.is_ordinary and thing.has("openable") is False),
        ("is already closed", lambda thing: thing.is_ordinary and thing.has("open") is False),
    ),
    ("drop",): (_HOLD,),
    ("turn", "on"): (_SWITCH,),
    ("turn", "off"): (_SWITCH,),
}
"""The rules for a token's kind, and for a verb with one object. The first one that applies counts."""
