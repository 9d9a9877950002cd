"""Objections to doing something with an object at hand, by the object's attributes."""

from collections.abc import Callable, Iterable

from game_interface.language import GrammarLine, Language, Scene, TokenKind

Rule = Callable[[int, Scene], str | None]
"""Returns why the object will not do, as the end of a sentence that begins with its name; None if it may."""
TokenMeaning = tuple[TokenKind, tuple[str, ...], frozenset[int] | str | None]
"""A token's kind, the words that fill it, and the objects that they mean: or why there are none, or None if unknown."""

_PICKING_UP = (TokenKind.IN_REACH, TokenKind.PICKED_UP)


def objection(
    line: GrammarLine, kind: TokenKind, phrase: Iterable[str], meant: Iterable[int], language: Language, scene: Scene
) -> str | None:
    """Return why none of the objects that are meant will do; None if one may, or if nothing is known."""
    for rule in (_BY_KIND.get(kind), _BY_VERB.get(_standard_verb(line, language))):
        if rule is None:
            continue
        found = [rule(number, scene) for number in meant]
        if found and all(found):
            return f"The {' '.join(phrase)} {found[0]}."
    return None


def missing(line: GrammarLine, scene: Scene) -> str | None:
    """Return why the parser can't infer the object that the command leaves out; None if it may."""
    # Having found the first, the parser may do without the second.
    for implied in line.implied[:1]:
        if not any(implied.attribute in is_set for is_set in scene.set_attributes.values()):
            return "Something is missing in that sentence, and nothing here fits: name the other thing too."
    return None


def picks_up(line: GrammarLine, meanings: Iterable[TokenMeaning], scene: Scene) -> bool:
    """Return whether the game may take something implicitly before it refuses the rest, which is an effect."""
    wanted: set[int] = set()
    for kind, _, meant in meanings:
        if kind in _PICKING_UP and isinstance(meant, frozenset):
            wanted |= meant
    for implied in line.implied:
        if implied.kind in _PICKING_UP:
            wanted |= {number for number, is_set in scene.set_attributes.items() if implied.attribute in is_set}
    return any(number not in scene.carried and not _is(number, "fixed", scene) for number in wanted)


def _standard_verb(line: GrammarLine, language: Language) -> tuple[str, ...] | None:
    """Return the verb of `_BY_VERB` that does the same as this line with one object; None if there is none."""
    if sum(token.kind is not TokenKind.WORD for token in line.tokens) != 1:
        return None
    return next((verb for verb in _BY_VERB if verb and line.action in _actions(verb, language)), None)


def _actions(verb: tuple[str, ...], language: Language) -> set[int]:
    """Return the action numbers of these words followed by one object."""
    first, *words = verb
    return {line.action for line in language.verbs.get(first) or () if _is_words_and_object(line, words)}


def _is_words_and_object(line: GrammarLine, words: list[str]) -> bool:
    if not line.tokens or line.tokens[-1].kind is TokenKind.WORD or len(line.tokens) != len(words) + 1:
        return False
    return all(word in token.words for word, token in zip(words, line.tokens[:-1], strict=True))


def _is(number: int, attribute: str, scene: Scene) -> bool | None:
    return scene.attributes.get(number, {}).get(attribute)


def _take(number: int, scene: Scene) -> str | None:
    if number in scene.held:
        return "is already in your hands"
    return "can't be taken" if number in scene.here and _is(number, "fixed", scene) else None


def _is_ordinary(number: int, scene: Scene) -> bool:
    """Return whether it is portable or fixed; anything else has an action routine of its own."""
    return bool(_is(number, "portable", scene) or _is(number, "fixed", scene))


def _open(number: int, scene: Scene) -> str | None:
    if not _is_ordinary(number, scene):
        return None
    if _is(number, "openable", scene) is False:
        return "can't be opened"
    return "is already open" if _is(number, "open", scene) else None


def _close(number: int, scene: Scene) -> str | None:
    if not _is_ordinary(number, scene):
        return None
    if _is(number, "openable", scene) is False:
        return "can't be closed"
    return "is already closed" if _is(number, "open", scene) is False else None


def _switch(number: int, scene: Scene) -> str | None:
    return "can't be switched on or off" if _is(number, "switchable", scene) is False else None


def _hold(number: int, scene: Scene) -> str | None:
    return "is not in your hands" if number in scene.here and _is_ordinary(number, scene) else None


def _reach(number: int, scene: Scene) -> str | None:
    fixed = number in scene.here and _is(number, "fixed", scene)
    return "is not in your hands, and can't be taken" if fixed else None


def _person(number: int, scene: Scene) -> str | None:
    lifeless = _is(number, "animate", scene) is False and not _is(number, "talkable", scene)
    return "is nobody to do that to" if lifeless else None


_BY_KIND: dict[TokenKind, Rule] = {TokenKind.HELD: _hold, TokenKind.IN_REACH: _reach, TokenKind.PERSON: _person}
_BY_VERB: dict[tuple[str, ...] | None, Rule] = {
    ("take",): _take,
    ("open",): _open,
    ("close",): _close,
    ("drop",): _hold,
    ("turn", "on"): _switch,
    ("turn", "off"): _switch,
}
