"""The actions that a place offers: each function yields those of one kind, and `OFFERS` lists them all."""

from collections.abc import Iterator, Mapping

from zorkgpt.directions import directions_in
from zorkgpt.offline.grammar_tries import commands
from zorkgpt.offline.nouns import words_of
from zorkgpt.offline.view import Offer, OfferSource, PlaceView, TurnView

NAMED_EXIT_COST = 2.0
_BARE_EXIT_COST = 5.0
"""The cost of a direction at a place whose text mentions no exit."""
_STEEP_EXIT_COST = 12.0
"""Texts often mention up, down, in and out indirectly."""
_OTHER_EXIT_COST = 30.0
_STEEP = ("up", "down", "in", "out")
_TEXT_COST = 1.0
"""The cost of reading what is known to have a text."""
GRAMMAR_COST = 75.0

# Verb, cost, needed attributes: if the meaning of any of these is known, the thing must have one of them, or not have
# it ("!").
_Forms = tuple[tuple[str, float, tuple[str, ...]], ...]
_SEEN: _Forms = (
    ("take", 0.5, ("takeable",)),
    ("open", 1.5, ("openable",)),
    ("read", 10, ("readable",)),
    ("examine", 10, ("!takeable",)),
    ("enter", 8, ("enterable", "vehicle", "door")),
    ("push", 8, ("!takeable",)),
    ("climb", 30, ()),
    ("pull", 30, ("!takeable",)),
    ("turn", 30, ("!takeable",)),
)
_CARRIED: _Forms = (
    ("turn on", 0.5, ("switchable", "light")),
    ("open", 1.5, ("openable",)),
    ("read", 10, ("readable",)),
    ("examine", 10, ()),
)
_MENTIONED: _Forms = (
    ("examine", 20, ()),
    ("open", 8, ("openable",)),
    ("enter", 20, ("enterable", "vehicle", "door")),
    ("push", 40, ()),
    ("climb", 40, ()),
)
_LIVING: _Forms = (("examine", 10, ()),)


def exits(turn: TurnView, place: PlaceView) -> Iterator[Offer]:
    """Exits lead to new places, especially those that the text names."""
    # Not in the dark, where the text names none and a step may be deadly.
    if not turn.is_dark(place.room):
        yield from directions(turn, place)


def directions(turn: TurnView, place: PlaceView) -> Iterator[Offer]:
    """Yield the directions that were not walked at a place."""
    room, named = turn.graph.rooms.get(place.room), set[str]()
    if room is not None:
        named |= room.exits
    is_here = place.room == turn.here
    if is_here:
        text = turn.text.replace(turn.context.observation.location_name, "")
        named.update(directions_in(text), {"up", "down"}.intersection(text.lower().split()))
    walked = turn.graph.connections.of(place.room)
    for way in turn.nouns.directions:
        if way in walked:
            continue
        if way in named:
            yield Offer(NAMED_EXIT_COST, way, "an exit")
        elif is_here and not named:
            yield Offer(_BARE_EXIT_COST, way, "a direction, since the text mentions none")
        else:
            # From afar, the text of a place is unknown. It would be in vain to go there for what it may not offer.
            cost = _STEEP_EXIT_COST if way in _STEEP else _OTHER_EXIT_COST
            yield Offer(cost, way, "a direction that the text does not mention")


def usual_verbs(turn: TurnView, place: PlaceView) -> Iterator[Offer]:
    """A few verbs cover most uses of things: take, open, read, push."""
    if place.room != turn.here:
        for item in place.things:
            if noun := turn.nouns.name(item):
                yield from _of_thing(turn, noun, item.num, _SEEN)
        return
    now = turn.context.observation
    held = {item.num for item in now.inventory or ()}
    inside = [item for item in now.carried or () if item.num not in held]
    for items, forms in ((now.visible, _SEEN), (now.inventory, _CARRIED), (inside, _SEEN[:1])):
        for item in items or ():
            # What a creature holds is guarded.
            is_guarded = forms is _SEEN and turn.attributes(item.parent).get("animate")
            if (noun := turn.nouns.name(item)) and not is_guarded:
                yield from _of_thing(turn, noun, item.num, forms)
    for noun in _mentioned(turn):
        in_scope = turn.scene.in_scope if turn.scene else frozenset[int]()
        number = min(turn.nouns.numbers(noun) & in_scope, default=0)
        yield from _of_thing(turn, noun, number, _SEEN if turn.attributes(number).get("takeable") else _MENTIONED)


def grammar(turn: TurnView, place: PlaceView) -> Iterator[Offer]:
    """Any other command of the story's grammar may have an effect, so try these when nothing else is left."""
    if turn.language is None or turn.is_dark(place.room) or place.room != turn.here:
        return
    now = turn.context.observation
    seen, held = turn.nouns.names(now.visible), turn.nouns.names(now.inventory)
    here = [name for name in dict.fromkeys((*seen, *_mentioned(turn))) if name not in held]
    set_attributes = turn.scene.set_attributes if turn.scene else {}
    traits = {name: set_attributes.get(number, frozenset()) for name, number in {**seen, **held}.items()}
    for command in commands(turn.language, here, list(held), traits):
        yield Offer(GRAMMAR_COST - turn.promise(command), command, "another command of the story's grammar")


OFFERS: tuple[OfferSource, ...] = (exits, usual_verbs, grammar)


def _mentioned(turn: TurnView) -> list[str]:
    """Return the words for scenery: in the description of the place, or in the response for what is here."""
    at_hand, context = turn.context.observation.at_hand, turn.context
    named = turn.nouns.mentioned(turn.text, turn.scene, at_hand)
    described = {*words_of(context.room_description or "")}
    here = turn.scene.here if turn.scene else frozenset[int]()
    return [word for word in named if word in described or turn.nouns.numbers(word) & here]


def _of_thing(turn: TurnView, noun: str, number: int, forms: _Forms) -> Iterator[Offer]:
    attributes = turn.attributes(number)
    if forms is _SEEN and attributes.get("animate"):
        forms = _LIVING
    for verb, cost, needed in forms:
        action = f"{verb} {noun}"
        # Another place has the same result, except for taking and opening another thing of this name.
        is_repeated = action in turn.tried and (forms is _CARRIED or verb not in ("take", "open"))
        is_repeated |= verb == "read" and f"examine {noun}" in turn.tried and turn.nouns.reading_is_examining
        if turn.nouns.known(verb.split()[0]) and not is_repeated and _may(attributes, needed):
            is_text = verb == "read" and attributes.get("readable")
            yield Offer(_TEXT_COST if is_text else cost, action, "a usual verb")


def _may(attributes: Mapping[str, bool], needed: tuple[str, ...]) -> bool:
    known = [attributes[bare] is (bare == name) for name in needed if (bare := name.removeprefix("!")) in attributes]
    return not known or any(known)
