"""The things that the agent itself has moved and changed in this episode, by the object tree."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import ZMachineContext

_ATTRIBUTE_OF = {
    Relation.OPEN: ("open", True),
    Relation.CLOSED: ("open", False),
    Relation.LOCKED: ("locked", True),
    Relation.UNLOCKED: ("locked", False),
    Relation.LIT: ("on", True),
    Relation.UNLIT: ("on", False),
}
"""The attribute that a state is told by, and its value in this state."""
_CLAIMABLE = frozenset(attribute for attribute, _ in _ATTRIBUTE_OF.values())
_LOCATION_RELATIONS = (Relation.HERE, Relation.IN, Relation.ON, Relation.CARRIED)


@dataclass(frozen=True, slots=True)
class HandledThing:
    """One thing that the agent moved or changed in this episode."""

    name: str
    found_at: int | None
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


class HandledThings:
    """The things that the agent has moved or changed in this episode, by their object numbers."""

    def __init__(self) -> None:
        self._things: dict[int, HandledThing] = {}

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
        for move in turn.moved:
            known = self._things.get(move.number)
            if known is None and move.by_itself:
                continue
            known = known or HandledThing(move.name, turn.location_before)
            if not known.moved:
                known = replace(known, moved=True, origin=move.origin_number)
            carried = move.name in turn.inventory_after
            self._things[move.number] = replace(known, holder=move.destination_number, carried=carried)
        for change in turn.changed:
            known = self._things.get(change.number)
            if change.attribute not in _CLAIMABLE or (known is None and change.by_itself):
                continue
            known = known or HandledThing(change.name, turn.location_before)
            self._things[change.number] = replace(
                known,
                began={change.attribute: not change.value} | known.began,
                now=known.now | {change.attribute: change.value},
            )

    def owed_to_the_agent(self, location_id: int, claims: Iterable[Claim]) -> Claim | None:
        """Return a claim, kept at this location, that is true by the agent's doing only; None: there is none."""
        return next((claim for claim in claims if self._is_owed(location_id, claim)), None)

    def denies(self, location_id: int, claim: Claim) -> bool:
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

    def was_so_before(self, location_id: int, claim: Claim) -> bool:
        """Return whether the claim says how a thing was before the agent moved or changed it."""
        thing = self._things.get(claim.number) if claim.number is not None else None
        if thing is None:
            return False
        if claim.relation in _LOCATION_RELATIONS:
            return thing.moved and self._lay_there(thing, location_id, claim)
        attribute, value = _ATTRIBUTE_OF.get(claim.relation, ("", False))
        return thing.began.get(attribute) is value

    def _is_owed(self, location_id: int, claim: Claim) -> bool:
        thing = self._things.get(claim.number) if claim.number is not None else None
        if thing is None:
            return False
        if claim.relation in _LOCATION_RELATIONS:
            is_back = thing.holder == thing.origin and not thing.carried
            return thing.moved and not is_back and not self._lay_there(thing, location_id, claim)
        attribute, value = _ATTRIBUTE_OF.get(claim.relation, ("", False))
        return attribute in thing.began and thing.began[attribute] is not value

    @staticmethod
    def _lay_there(thing: HandledThing, location_id: int, claim: Claim) -> bool:
        if thing.found_at != location_id or claim.relation is Relation.CARRIED:
            return False
        return thing.origin == (location_id if claim.relation is Relation.HERE else claim.other)

    def clear(self) -> None:
        self._things.clear()

    def to_list(self) -> list[list[Any]]:
        return [[number, asdict(thing)] for number, thing in self._things.items()]

    def restore(self, things: list[list[Any]]) -> None:
        self._things = {int(number): HandledThing(**fields) for number, fields in things}
