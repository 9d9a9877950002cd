"""Commands from the story's grammar: every verb with the visible and carried things."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product

from game_interface.core.sanitize import is_meta
from game_interface.models import GrammarLine, GrammarToken, Language, TokenKind
from zorkgpt.identity_cache import cached_by_identity

_USUAL = {"take": 1, "open": 1, "read": 1, "examine": 1, "enter": 1, "push": 1, "climb": 1, "pull": 1, "turn": 1} | {
    "drop": 1
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


def commands(language: Language, here: Sequence[str], held: Sequence[str], traits: AttributeNumbers) -> Iterator[str]:
    """Yield the commands that the grammar allows with these names, except those that are tried anyway.

    Synonyms give one command. One of two objects is held. If the grammar is unknown, there are a few usual verbs.

    Args:
        here: Names of things at hand that are not held.
        traits: The attributes of things, where they are known. Things that a verb is not meant for are left out.
    """
    if not any(language.verbs.values()):
        for pattern in _USUAL_PATTERNS:
            for names in permutations((*here, *held), pattern.count("_")):
                yield pattern.replace("_", "{}").format(*names)
        return
    for verb, line in _forms(language):
        tokens = [token for token in line.tokens if token.kind is not TokenKind.WORD]
        for names in _fillings([token.kind for token in tokens], here, held):
            pairs = zip(tokens, names, strict=True)
            if all(_may_be(token, traits.get(name)) for token, name in pairs):
                yield _command(verb, line, names)


def _may_be(token: GrammarToken, traits: frozenset[int] | None) -> bool:
    return token.attribute is None or traits is None or token.attribute in traits


def _command(verb: str, line: GrammarLine, names: Sequence[str]) -> str:
    words = iter(names)
    return " ".join((verb, *(min(each.words) if each.kind is TokenKind.WORD else next(words) for each in line.tokens)))


@cached_by_identity
def _forms(language: Language) -> tuple[tuple[str, GrammarLine], ...]:
    """Return a verb with a syntax for each action of the story and each number of objects that it takes."""
    named = {**_USUAL, **dict.fromkeys(_IDLE, 0)}
    lines_of = {verb: language.verbs.get(language.truncate(verb)) or () for verb in named}
    seen = {(line.action, named[verb]) for verb, lines in lines_of.items() for line in lines}
    about_the_program = {line.action for verb, lines in language.verbs.items() if is_meta(verb) for line in lines or ()}
    # A story may use such a word as a synonym of another verb: "undo the catch".
    about_the_program -= {line.action for verb in _USUAL for line in lines_of[verb]}
    forms = []
    for verb, lines in language.verbs.items():
        for line in sorted(lines or (), key=lambda one: len(one.tokens)):
            kinds = [token.kind for token in line.tokens]
            form = line.action, sum(kind is not TokenKind.WORD for kind in kinds)
            unfinished = line.implied or not verb.isalpha() or TokenKind.FREE in kinds
            if form in seen or unfinished or line.action in about_the_program or form[1] > _MAX_OBJECTS:
                continue
            seen.add(form)
            forms.append((verb, line))
    return tuple(forms)


def _fillings(kinds: Sequence[TokenKind], here: Sequence[str], held: Sequence[str]) -> Iterator[tuple[str, ...]]:
    if not kinds:
        yield ()
    elif len(kinds) == 1:
        only_held = kinds[0] is TokenKind.HELD
        yield from ((name,) for name in (held if only_held else (*here, *held)))
    else:
        # A held thing is used on another one. Either may be named first.
        first_held = kinds[1] is not TokenKind.HELD and kinds[1] is not TokenKind.IN_REACH
        yield from product(held, here) if first_held else product(here, held)
