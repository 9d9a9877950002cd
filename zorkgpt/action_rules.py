"""What stands against doing something to a thing that is at hand, by the thing's attributes."""

from collections.abc import Callable, Iterable

from game_interface.language import Form, Language, Place, Scene

Rule = Callable[[int, Scene], str | None]
"""Why this object will not do, as the end of a sentence that begins with its name; None if it may."""


_PICKING_UP = (Place.IN_REACH, Place.PICKED_UP)


def objection(
    form: Form, place: Place, phrase: Iterable[str], meant: Iterable[int], language: Language, scene: Scene
) -> str | None:
    """Why none of the objects that are meant will do; None if one may, or if nothing is known of it."""
    for rule in (_BY_PLACE.get(place), _BY_ACTION.get(_deed(form, language))):
        if rule is None:
            continue
        found = [rule(number, scene) for number in meant]
        if found and all(found):
            return f"The {' '.join(phrase)} {found[0]}."
    return None


def missing(form: Form, scene: Scene) -> str | None:
    """Why the game can't guess what the form leaves out; None if it may."""
    # Having found the first, the game may do without the second.
    for guess in form.left_out[:1]:
        if not any(guess.attribute in marks for marks in scene.marks.values()):
            return "Something is missing in that sentence, and nothing here fits: name the other thing too."
    return None


def picks_up(form: Form, meanings: Iterable[tuple], scene: Scene) -> bool:
    """Whether the game might pick something up before it refuses the rest: then it is not without effect."""
    wanted = {number for place, _, meant in meanings if place in _PICKING_UP and _known(meant) for number in meant}
    for guess in form.left_out:
        if guess.place in _PICKING_UP:
            wanted |= {number for number, marks in scene.marks.items() if guess.attribute in marks}
    return any(number not in scene.carried and not _is(number, "fixed", scene) for number in wanted)


def _known(meant: object) -> bool:
    return isinstance(meant, frozenset)


def _deed(form: Form, language: Language) -> tuple[str, ...] | None:
    """The deed that everybody knows and that is the same as this form's, on one thing alone."""
    if sum(part.place is not Place.WORD for part in form.parts) != 1:
        return None
    return next((deed for deed in _BY_ACTION if deed and form.action in _actions(deed, language)), None)


def _actions(deed: tuple[str, ...], language: Language) -> set[int]:
    """What is done if nothing but the name of a thing follows these words."""
    verb, *words = deed
    return {form.action for form in language.verbs.get(verb) or () if _is_said_with(form, words)}


def _is_said_with(form: Form, words: list[str]) -> bool:
    *before, thing = form.parts or (None,)
    if thing is None or thing.place is Place.WORD or len(before) != len(words):
        return False
    return all(word in part.words for word, part in zip(words, before, strict=True))


def _is(number: int, attribute: str, scene: Scene) -> bool | None:
    return scene.attributes.get(number, {}).get(attribute)


def _take(number: int, scene: Scene) -> str | None:
    if number in scene.held:
        return "is already in your hands"
    return "can't be taken" if number in scene.here and _is(number, "fixed", scene) else None


def _ordinary(number: int, scene: Scene) -> bool:
    """It can be taken, or surely can't: what is neither answers in a way of its own."""
    return bool(_is(number, "portable", scene) or _is(number, "fixed", scene))


def _open(number: int, scene: Scene) -> str | None:
    if not _ordinary(number, scene):
        return None
    if _is(number, "openable", scene) is False:
        return "can't be opened"
    return "is already open" if _is(number, "open", scene) else None


def _close(number: int, scene: Scene) -> str | None:
    if not _ordinary(number, scene):
        return None
    if _is(number, "openable", scene) is False:
        return "can't be closed"
    return "is already closed" if _is(number, "open", scene) is False else None


def _switch(number: int, scene: Scene) -> str | None:
    return "can't be switched on or off" if _is(number, "switchable", scene) is False else None


def _hold(number: int, scene: Scene) -> str | None:
    return "is not in your hands" if number in scene.here and _ordinary(number, scene) else None


def _reach(number: int, scene: Scene) -> str | None:
    fixed = number in scene.here and _is(number, "fixed", scene)
    return "is not in your hands, and can't be taken" if fixed else None


def _person(number: int, scene: Scene) -> str | None:
    lifeless = _is(number, "animate", scene) is False and not _is(number, "talkable", scene)
    return "is nobody to do that to" if lifeless else None


_BY_PLACE: dict[Place, Rule] = {Place.HELD: _hold, Place.IN_REACH: _reach, Place.PERSON: _person}
_BY_ACTION: dict[tuple[str, ...] | None, Rule] = {
    ("take",): _take,
    ("open",): _open,
    ("close",): _close,
    ("drop",): _hold,
    ("turn", "on"): _switch,
    ("turn", "off"): _switch,
}
