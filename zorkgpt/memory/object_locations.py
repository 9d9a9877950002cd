"""The things that the agent itself has moved and changed in this episode, and those at hand, by the object tree."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from zorkgpt.memory.claims import OPPOSITE, STATES, Claim, Relation, claims_in
from zorkgpt.memory.models import PlaceKey, SubjectKey, ZMachineContext
from zorkgpt.memory.objects import ThingState

_ATTRIBUTE_OF = {
    relation: (attribute, value)
    for attribute, pair in STATES.items()
    for relation, value in zip(pair, (False, True), strict=True)
}
"""State → the attribute that shows it, and its value."""
_FOUND_AT = (Relation.HERE, Relation.IN, Relation.ON)
_LOCATION_RELATIONS = (*_FOUND_AT, Relation.CARRIED)


@dataclass(frozen=True, slots=True)
class HandledThing:
    """One thing that the agent moved or changed in this episode."""

    name: str
    found_at: PlaceKey | None
    """The location where the agent first moved or changed it: until then it was without the agent's doing."""
    moved: bool = False
    origin: int | None = None
    """What held it before it was moved first."""
    holder: int | None = None
    """What holds it now."""
    carried: bool = False
    began: dict[str, bool] = field(default_factory=dict)
    """The attributes that the agent changed, with the values that they had before."""
    now: dict[str, bool] = field(default_factory=dict)
    seen: bool = True
    """The last of this was the agent's doing, or at hand."""


class HandledThings:
    """The things that the agent has moved or changed in this episode, and what is at hand, by their object numbers."""

    def __init__(self) -> None:
        self._things: dict[int, HandledThing] = {}
        self._strayed: dict[int, int | None] = {}
        """Things that something else moved before the agent did → what held each when the episode began."""
        self._at_hand: dict[int, list[Claim]] = {}
        """All that can be claimed of each thing at hand; first where it is."""
        self._in_sight: PlaceKey | None = None
        """The place at which whatever is not at hand does not lie openly; None: that is not known of any."""

    def __contains__(self, number: object) -> bool:
        return number in self._things

    def numbers(self) -> frozenset[int]:
        return frozenset(self._things)

    def name_of(self, number: int | None) -> str:
        """The name of a thing that was handled; "" for any other."""
        return self._things[number].name if number in self._things else ""

    def moved(self) -> frozenset[int]:
        """Return the things that were moved, and not only opened or lit."""
        return frozenset(number for number, thing in self._things.items() if thing.moved)

    def note(self, turn: ZMachineContext) -> None:
        """Take over what an action moved and changed; where a thing goes that was handled before is followed."""
        at_hand = {thing.number for thing in turn.things}
        for move in turn.moved:
            known = self._things.get(move.number)
            if known is None and move.by_itself:
                self._strayed.setdefault(move.number, move.origin_number)
                continue
            known = known or HandledThing(move.name, turn.location_before)
            if not known.moved:
                known = replace(known, moved=True, origin=move.origin_number)
            if move.number in self._strayed:
                first = self._strayed.pop(move.number)
                known = replace(known, found_at=first, origin=first)
            carried = move.name in turn.inventory_after
            seen = not move.by_itself or move.number in at_hand
            self._things[move.number] = replace(known, holder=move.destination_number, carried=carried, seen=seen)
        for change in turn.changed:
            known = self._things.get(change.number)
            if change.attribute not in STATES or (known is None and change.by_itself):
                continue
            known = known or HandledThing(change.name, turn.location_before)
            self._things[change.number] = replace(
                known,
                began={change.attribute: not change.value} | known.began,
                now=known.now | {change.attribute: change.value},
                seen=not change.by_itself or change.number in at_hand,
            )

    def see(self, things: Iterable[ThingState], in_sight: PlaceKey | None = None) -> None:
        """Take over what is at hand now.

        Args:
            in_sight: the place, if these are all the things that lie openly there.
        """
        self._see(claim for thing in things if not thing.left_behind for claim in thing.claims())
        self._in_sight = in_sight

    def _see(self, claims: Iterable[Claim]) -> None:
        found: dict[int, list[Claim]] = {}
        for claim in claims:
            if claim.number is not None:
                found.setdefault(claim.number, []).append(claim)
        self._at_hand = found

    def of_this_episode(self, location_id: PlaceKey, claims: Iterable[Claim]) -> Claim | None:
        """Return a claim, kept at this location, that is true of this episode only; None: there is none.

        It is true by the agent's doing; or all of them say where things are that somebody else has moved.
        """
        claims = tuple(claims)
        owed = next((claim for claim in claims if self._is_owed(location_id, claim)), None)
        if owed is None and claims and all(self._has_strayed(location_id, claim) for claim in claims):
            return claims[0]
        return owed

    def denies(self, location_id: SubjectKey, claim: Claim) -> bool:
        """Return whether a thing that the agent moved or changed is known to be otherwise than the claim says."""
        thing = self._things.get(claim.number) if claim.number is not None else None
        if thing is None:
            return False
        if claim.relation is Relation.CARRIED:
            return thing.moved and not thing.carried
        if claim.relation in _LOCATION_RELATIONS:
            wanted = location_id if claim.relation is Relation.HERE else claim.other
            return thing.moved and (thing.carried or thing.holder != wanted)
        attribute, value = _ATTRIBUTE_OF.get(claim.relation, ("", False))
        return attribute in thing.now and thing.now[attribute] is not value

    def contradicting_state(self, location_id: PlaceKey, claims: Iterable[Claim]) -> str:
        """Return the state that contradicts claims at this location, such as `brass key carried`; "" if none is known.

        States that the agent can't have seen are left out.
        """
        things = [claim for claim in claims if claim.number is not None]
        found: dict[str, dict[str, None]] = {}
        for claim in things:
            if word := self._instead(location_id, claim):
                found.setdefault(self._name(claim), {})[word] = None
        if any(claim.number != things[0].number for claim in things):
            # The text of the memory speaks of several things: which one is meant is said, or nothing is.
            found.pop("", None)
        return ", ".join(f"{name} {' and '.join(words)}".strip() for name, words in found.items())

    def _name(self, claim: Claim) -> str:
        at_hand = self._at_hand.get(claim.number or 0)
        name = at_hand[0].name if at_hand else self.name_of(claim.number) or claim.name
        return " ".join(name.split())

    def _instead(self, location_id: PlaceKey, claim: Claim) -> str:
        thing = self._things.get(claim.number or 0)
        told = self._at_hand.get(claim.number or 0)
        if claim.relation in _ATTRIBUTE_OF:
            opposite = OPPOSITE[claim.relation]
            if told is not None:
                return opposite.value if any(one.relation is opposite for one in told) else ""
            attribute, value = _ATTRIBUTE_OF[claim.relation]
            is_otherwise = thing is not None and thing.seen and thing.now.get(attribute) is (not value)
            return opposite.value if is_otherwise else ""
        if claim.relation not in _FOUND_AT:
            return ""
        if told is not None and told[0].relation is Relation.CARRIED:
            return Relation.CARRIED.value
        if thing is None or not thing.moved or not thing.seen:
            is_missed = told is None and claim.relation is Relation.HERE and location_id == self._in_sight
            return "gone" if is_missed else ""
        if thing.holder is None:
            return "gone"
        return "moved" if thing.holder != (location_id if claim.relation is Relation.HERE else claim.other) else ""

    def was_so_before(self, location_id: SubjectKey, claim: Claim) -> bool:
        """Return whether the claim says how a thing was before the agent moved or changed it."""
        thing = self._things.get(claim.number) if claim.number is not None else None
        if thing is None:
            return False
        if claim.relation in _LOCATION_RELATIONS:
            return thing.moved and self._lay_there(thing, location_id, claim)
        attribute, value = _ATTRIBUTE_OF.get(claim.relation, ("", False))
        return thing.began.get(attribute) is value

    def _has_strayed(self, location_id: PlaceKey, claim: Claim) -> bool:
        if claim.number not in self._strayed or claim.relation not in _LOCATION_RELATIONS:
            return False
        return self._strayed[claim.number] != (location_id if claim.relation is Relation.HERE else claim.other)

    def _is_owed(self, location_id: PlaceKey, claim: Claim) -> bool:
        thing = self._things.get(claim.number) if claim.number is not None else None
        if thing is None:
            return False
        if claim.relation in _LOCATION_RELATIONS:
            is_back = thing.holder == thing.origin and not thing.carried
            return thing.moved and not is_back and not self._lay_there(thing, location_id, claim)
        attribute, value = _ATTRIBUTE_OF.get(claim.relation, ("", False))
        return attribute in thing.began and thing.began[attribute] is not value

    @staticmethod
    def _lay_there(thing: HandledThing, location_id: SubjectKey, claim: Claim) -> bool:
        if thing.found_at != location_id or claim.relation is Relation.CARRIED:
            return False
        return thing.origin == (location_id if claim.relation is Relation.HERE else claim.other)

    def clear(self) -> None:
        self._things.clear()
        self._strayed.clear()
        self.see(())

    def to_list(self) -> list[list[Any]]:
        return [[number, asdict(thing)] for number, thing in self._things.items()]

    def strayed(self) -> list[list[int | None]]:
        """Return what something else has moved, as plain values: [number, what held it first]."""
        return [[number, origin] for number, origin in self._strayed.items()]

    def at_hand(self) -> list[str]:
        """Return what `see` has taken over, as plain values."""
        return [str(claim) for claims in self._at_hand.values() for claim in claims]

    @property
    def in_sight(self) -> PlaceKey | None:
        """The place of which all that lies openly is at hand."""
        return self._in_sight

    def restore(
        self,
        things: list[list[Any]],
        at_hand: Iterable[str] = (),
        in_sight: PlaceKey | None = None,
        strayed: Iterable[tuple[int, int | None]] = (),
    ) -> None:
        self._things = {int(number): HandledThing(**fields) for number, fields in things}
        self._strayed = dict(strayed)
        self._see(claims_in(at_hand))
        self._in_sight = in_sight
