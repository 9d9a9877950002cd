"""Commands from the story's grammar: every verb with the visible and carried things."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import NamedTuple

from game_interface.core.sanitize import is_meta
from game_interface.models import GrammarLine, GrammarToken, Language, TokenKind
from zorkgpt.identity_cache import cached_by_identity

_USUAL = {"take": 1, "open": 1, "read": 1, "examine": 1, "enter": 1, "push": 1, "climb": 1, "pull": 1, "turn": 1} | {
    "drop": 1,
    "put": 2,
    "give": 2,
}
"""Verbs that are tried anyway, and their numbers of objects. Dropping things is no discovery."""
_IDLE = ("look", "inventory", "score", "wait", "go")
"""Verbs that show nothing new without an object."""
_MAX_OBJECTS = 2
_USUAL_PATTERNS = (
    *("take _", "open _", "examine _", "read _", "push _", "pull _", "turn _", "enter _", "climb _", "turn on _"),
    *("light _", "give _ to _", "put _ in _", "unlock _ with _", "attack _ with _"),
)
"""Commands for stories whose grammar is unknown."""

AttributeNumbers = Mapping[str, frozenset[int]]
"""Name of a thing → the numbers of its attributes that are set."""


class GrammarTry(NamedTuple):
    """A command made of a verb's syntax and names."""

    command: str
    pattern: str
    """The command with `_` for each name."""
    names: tuple[str, ...]


def commands(
    language: Language,
    here: Sequence[str],
    held: Sequence[str],
    traits: AttributeNumbers,
    topics: Sequence[str] = (),
) -> Iterator[GrammarTry]:
    """Yield the commands that the grammar allows with these names, except those that are tried anyway.

    Synonyms give one command. One of two objects is held. If the grammar is unknown, there are a few usual verbs.

    Args:
        here: Names of things at hand that are not held.
        traits: The attributes of things, where they are known. Things that a verb is not meant for are left out.
        topics: Words that can be said or asked about.
    """
    if not knows_grammar(language):
        return _usual(here, held)
    return _tries(_unusual_forms(language), here, held, traits, topics)


def grammar_tries(
    language: Language, here: Sequence[str], held: Sequence[str], traits: AttributeNumbers
) -> Iterator[GrammarTry]:
    """Yield all commands with the verbs and these names. See `commands`."""
    return _tries(_all_forms(language), here, held, traits, ()) if knows_grammar(language) else _usual(here, held)


def knows_grammar(language: Language) -> bool:
    """Return whether the grammar of at least one verb is known."""
    return any(language.verbs.values())


def _usual(here: Sequence[str], held: Sequence[str]) -> Iterator[GrammarTry]:
    for pattern in _USUAL_PATTERNS:
        for names in permutations((*here, *held), pattern.count("_")):
            yield GrammarTry(pattern.replace("_", "{}").format(*names), pattern, names)


def _tries(
    forms: Iterable[tuple[str, GrammarLine]],
    here: Sequence[str],
    held: Sequence[str],
    traits: AttributeNumbers,
    topics: Sequence[str],
) -> Iterator[GrammarTry]:
    for verb, line in forms:
        tokens = _object_tokens(line)
        pattern = _command(verb, line, ["_"] * len(tokens))
        for names in _fillings([token.kind for token in tokens], here, held, topics):
            pairs = zip(tokens, names, strict=True)
            if all(token.attribute in (None, *traits.get(name, (token.attribute,))) for token, name in pairs):
                yield GrammarTry(_command(verb, line, names), pattern, names)


def _object_tokens(line: GrammarLine) -> list[GrammarToken]:
    return [token for token in line.tokens if token.kind is not TokenKind.WORD]


def _command(verb: str, line: GrammarLine, names: Sequence[str]) -> str:
    words = iter(names)
    return " ".join((verb, *(min(each.words) if each.kind is TokenKind.WORD else next(words) for each in line.tokens)))


@cached_by_identity
def _unusual_forms(language: Language) -> tuple[tuple[str, GrammarLine], ...]:
    named = {**_USUAL, **dict.fromkeys(_IDLE, 0)}
    usual = ((language.verbs.get(language.truncate(verb)) or (), objects) for verb, objects in named.items())
    return _forms(language, language.verbs, {(line.action, objects) for lines, objects in usual for line in lines})


@cached_by_identity
def _all_forms(language: Language) -> tuple[tuple[str, GrammarLine], ...]:
    usual = [verb for each in _USUAL if (verb := language.truncate(each)) in language.verbs]
    return _forms(language, dict.fromkeys((*usual, *language.verbs)), set())


def _forms(language: Language, verbs: Iterable[str], seen: set[tuple[int, int]]) -> tuple[tuple[str, GrammarLine], ...]:
    """Return a verb with a syntax for each action of the story and each number of objects that it takes.

    Args:
        verbs: The first of several verbs for one action is used.
        seen: The actions and numbers of objects to leave out. Those of the result are added.
    """
    forms = []
    about_the_program = {line.action for verb, lines in language.verbs.items() if is_meta(verb) for line in lines or ()}
    # A story may use such a word as a synonym of another verb: "undo the catch".
    about_the_program -= {line.action for verb in _USUAL for line in language.verbs.get(language.truncate(verb)) or ()}
    for verb in verbs:
        for line in sorted(language.verbs[verb] or (), key=lambda one: len(one.tokens)):
            kinds = [token.kind for token in line.tokens]
            form = line.action, sum(kind is not TokenKind.WORD for kind in kinds)
            unfinished = line.implied or not verb.isalpha()
            if form in seen or unfinished or line.action in about_the_program or form[1] > _MAX_OBJECTS:
                continue
            seen.add(form)
            forms.append((verb, line))
    return tuple(forms)


def _fillings(
    kinds: Sequence[TokenKind], here: Sequence[str], held: Sequence[str], topics: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    if not kinds:
        yield ()
    elif TokenKind.FREE in kinds:
        yield from product(*(topics if kind is TokenKind.FREE else here for kind in kinds))
    elif len(kinds) == 1:
        only_held = kinds[0] is TokenKind.HELD
        yield from ((name,) for name in (held if only_held else (*here, *held)))
    else:
        # A held thing is used on another one. Either may be named first.
        first_held = kinds[1] is not TokenKind.HELD and kinds[1] is not TokenKind.IN_REACH
        yield from product(held, here) if first_held else product(here, held)


def analyzed(command: str, language: Language | None) -> GrammarTry:
    """Return a command with its pattern and names, according to the story's grammar."""
    verb, *words = command.split()
    fixed = language.prepositions if language else frozenset[str]()
    is_fixed = [language is not None and language.truncate(word) in fixed for word in words]
    names: list[list[str]] = []
    pattern = [verb]
    for word, kept in zip(words, is_fixed, strict=True):
        if kept:
            pattern.append(word)
        elif pattern[-1] == "_":
            names[-1].append(word)
        else:
            pattern.append("_")
            names.append([word])
    return GrammarTry(command, " ".join(pattern), tuple(map(" ".join, names)))
