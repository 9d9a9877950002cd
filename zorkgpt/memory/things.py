"""The ledger of things: where each one starts, where the player last saw it, and what the player did with it.

This is the only source for whereabouts and states. It records what the player has seen: a thing that moves out of sight
stays where it was last seen until the player looks there again.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from zorkgpt.memory.claims import OPPOSITE, STATES, Claim, Relation
from zorkgpt.memory.models import Memory, MemoryKind, PlaceKey, SubjectKey, Thing, ZMachineContext
from zorkgpt.memory.objects import ObjectMove, ThingState
from zorkgpt.memory.places import is_place
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.text import sentence_case, with_article

if TYPE_CHECKING:
    from pydantic import TypeAdapter

STARTS_HERE = "Starts here"
NOW_HERE = "Now here"
TRIED = "Tried without effect"
"""The titles of the entries of a place."""

_KIND_OF = {STARTS_HERE: MemoryKind.LOCATION, NOW_HERE: MemoryKind.LOCATION, TRIED: MemoryKind.INSIGHT}

_ATTRIBUTE_OF = {
    relation: (attribute, value)
    for attribute, pair in STATES.items()
    for relation, value in zip(pair, (False, True), strict=True)
}
"""State → its attribute and value."""
_FOUND_AT = (Relation.HERE, Relation.IN, Relation.ON)
_WHEREABOUTS = (*_FOUND_AT, Relation.CARRIED)
_LONGEST_NAME = 80
_MAX_NAMED = 20
"""Maximum number of things in an entry."""


@dataclass(frozen=True, slots=True)
class ThingRecord:
    """One thing in this episode."""

    name: str
    where: Claim | None = None
    """Where it was last seen. None if unknown or gone."""
    place: PlaceKey | None = None
    """The location where it was last seen. None if unknown or carried."""
    states: tuple[str, ...] = ()
    """Its states when it was last seen, as in `ThingState`."""
    alive: bool = False
    fixed: bool = False
    """It can't be taken, as far as known."""
    moved: bool = False
    """The player has moved it."""
    start_place: PlaceKey | None = None
    """The location of its first move."""
    start_holder: int | None = None
    """Its holder before the first move: the location, a container or a creature."""
    began: Mapping[str, bool] = field(default_factory=dict)
    """The original values of the attributes that the player has changed."""

    @property
    def is_carried(self) -> bool:
        return self.where is not None and self.where.relation is Relation.CARRIED

    @property
    def is_listed(self) -> bool:
        """Whether entries list it: things that can be taken or have states. Creatures may have moved since."""
        return not self.alive and (not self.fixed or bool(self.states))

    def is_back_at(self, place: PlaceKey) -> bool:
        """Return whether the player has put it back where it started."""
        return self.moved and self.holder == self.start_holder and place == self.start_place

    @property
    def holder(self) -> PlaceKey | None:
        """The object or location that directly holds it. None if unknown or carried."""
        if self.where is None:
            return None
        return self.place if self.where.relation is Relation.HERE else self.where.other

    def claims(self) -> tuple[Claim, ...]:
        """Return its whereabouts and states when it was last seen."""
        if self.where is None:
            return ()
        states = (Claim(Relation(state), self.where.number, self.name) for state in self.states)
        return (self.where, *states)


@dataclass
class ThingsLedger:
    """The things of one episode by their object numbers.

    Claims are checked against what was so when the player last saw a thing (`contradicting_state`), also against what
    the player sees now (`correction`), and against what was so before the player changed it (`temporary_claim`,
    `confirms`).
    """

    _records: dict[int, ThingRecord] = field(default_factory=dict)
    _strayed: dict[int, int | None] = field(default_factory=dict)
    """Things that moved by themselves, seen or not → the holder of each when the episode began. Never shown."""
    _at_hand: tuple[int, ...] = ()
    """The things that are present and visible."""
    _in_sight: PlaceKey | None = None
    """The current location, if all its visible things are known to be in `_at_hand`; otherwise None."""
    _here: PlaceKey | None = None
    """The current location. None if unknown."""
    _surveyed: set[PlaceKey] = field(default_factory=set)
    """Locations that the player has seen in full."""
    is_first_look: bool = False
    """Whether the last turn was the first to show all visible things of the current location."""
    _new: tuple[Claim, ...] = ()
    """Claims about the unmoved things that the last turn showed for the first time."""

    def things_at(self, place: PlaceKey, starting: Iterable[Claim]) -> tuple[Thing, ...]:
        """Return the things at the current location; for another one, those that start there and haven't moved.

        Args:
            starting: The claims of the things that start at the place.
        """
        if place == self._here:
            return tuple(map(Thing, self._at_hand))
        still_there = (
            claim for claim in starting if claim.relation in _WHEREABOUTS and not self._contradiction(place, claim)
        )
        numbers = dict.fromkeys(claim.number for claim in still_there)
        return tuple(Thing(number) for number in numbers if number is not None)

    # A turn

    def record(self, turn: ZMachineContext, place: PlaceKey) -> None:
        """Record the moves and changes of a turn, and what the player sees after it.

        Args:
            place: The location of the player after the turn.
        """
        known = frozenset(self._records)
        here = [thing for thing in turn.things if not thing.out_of_sight]
        self.note_moves(turn)
        if not turn.things and not turn.all_in_sight:
            self._at_hand, self._in_sight, self._here, self._new = (), None, place, ()
            self.is_first_look = False
            return
        self._here, self._in_sight = place, place if turn.all_in_sight else None
        self._at_hand = tuple(sorted(thing.number for thing in here))
        self.is_first_look = turn.all_in_sight and place not in self._surveyed
        self._new = self._first_seen(here, turn, known)
        for thing in turn.things:
            self._see(thing, turn.location_before if thing.out_of_sight else place)
        self._mark_missing(here)
        if turn.all_in_sight:
            self._surveyed.add(place)

    def note_moves(self, turn: ZMachineContext) -> None:
        """Record only the moves and changes of a turn."""
        if turn.location_before is None:
            # While the story waits for an answer, the game state has no location.
            turn = replace(turn, location_before=self._here)
        for move in turn.moved:
            self._note_move(move, turn)
        for change in turn.changed:
            self._note_change(change.number, change.name, change.attribute, change.value, by_itself=change.by_itself)

    def _note_move(self, move: ObjectMove, turn: ZMachineContext) -> None:
        record = self._records.get(move.number, ThingRecord(move.name))
        if move.by_itself and not record.moved:
            self._strayed.setdefault(move.number, move.origin_number)
            return
        if not record.moved:
            start: tuple[PlaceKey | None, int | None] = (turn.location_before, move.origin_number)
            if move.number in self._strayed:
                first = self._strayed.pop(move.number)
                start = (first, first)
            record = replace(record, moved=True, start_place=start[0], start_holder=start[1])
        if not move.by_itself:
            record = replace(record, where=_destination(move, turn), place=_place_after(move, turn))
        self._records[move.number] = record

    def _note_change(self, number: int, name: str, attribute: str, value: bool, *, by_itself: bool) -> None:
        record = self._records.get(number, ThingRecord(name))
        if attribute not in STATES or (by_itself and attribute not in record.began):
            return
        pair = STATES[attribute]
        states = tuple(pair[value].value if state in pair else state for state in record.states) or (pair[value].value,)
        if by_itself and number not in self._at_hand:
            states = record.states
        self._records[number] = replace(record, began={attribute: not value} | dict(record.began), states=states)

    def _see(self, thing: ThingState, place: PlaceKey | None) -> None:
        where = thing.claims()[0]
        self._records[thing.number] = replace(
            self._records.get(thing.number, ThingRecord(thing.name)),
            name=thing.name,
            where=where,
            place=None if thing.carried else place,
            states=thing.states,
            alive=thing.alive,
            fixed=thing.fixed,
        )

    def _mark_missing(self, here: Sequence[ThingState]) -> None:
        """Clear the whereabouts of things that the player would see if they were still there."""
        open_holders = {thing.number for thing in here if Relation.OPEN.value in thing.states}
        open_holders |= {thing.holder_number for thing in here if thing.holder_number is not None}
        for number, record in self._records.items():
            if number in self._at_hand or record.where is None or (record.place is None and not record.is_carried):
                continue
            was_in_view = (
                record.where.relation is Relation.HERE and record.place == self._in_sight and self._in_sight is not None
            )
            was_in_open_holder = record.place == self._here and record.where.other in open_holders
            if record.is_carried or was_in_view or was_in_open_holder:
                self._records[number] = replace(record, where=None, place=None)

    # Entries of places

    def _first_seen(
        self, here: Sequence[ThingState], turn: ZMachineContext, known: frozenset[int]
    ) -> tuple[Claim, ...]:
        """Return the claims of things that start here: those not seen before that nothing has moved."""
        changed = {change.number for change in turn.changed if change.attribute in STATES}
        touched = {move.number for move in turn.moved} | changed | set(self._strayed)
        moved = {number for number, record in self._records.items() if record.moved}
        claims: list[Claim] = []
        for thing in here:
            # A door belongs to both of its sides.
            is_new = thing.number not in known or (thing.fixed and not self._records[thing.number].began)
            is_new = is_new and not thing.carried and thing.number not in touched
            is_listed = not thing.fixed or bool(thing.states) or thing.alive
            # After the first look, an unmoved thing can only appear from inside something else.
            can_appear = (
                self.is_first_look
                or not turn.all_in_sight
                or (thing.holder_number in known and thing.number not in known)
            )
            if is_new and is_listed and can_appear and thing.holder_number not in moved:
                claims += thing.claims()
        return tuple(claims)

    def start_claims(self, known: Sequence[Claim]) -> tuple[Claim, ...]:
        """Return the claims of what starts at the current location, given those from earlier looks.

        A visible thing from an earlier episode that is missing at the first look is dropped: it doesn't always start
        there.
        """
        new = {claim.number for claim in self._new}
        missing = {
            claim.number
            for claim in known
            if self.is_first_look
            and claim.relation is Relation.HERE
            and claim.number not in self._at_hand
            and claim.number not in self._records
            and claim.number not in self._strayed
        }
        old = [self._with_names(claim) for claim in known if claim.number not in new | missing]
        numbers = dict.fromkeys(claim.number for claim in (*old, *self._new))
        listed = frozenset(list(numbers)[:_MAX_NAMED])
        return tuple(claim for claim in (*old, *self._new) if claim.number in listed and claim.name)

    def now_here(self, starting: Callable[[PlaceKey], Sequence[Claim]]) -> dict[PlaceKey, tuple[Claim, ...]]:
        """Return the claims of things that are at each place, as last seen, but don't start there.

        Args:
            starting: Returns the claims of the things that start at a place.
        """
        by_place: dict[PlaceKey, tuple[Claim, ...]] = {}
        for record in self._records.values():
            if record.where is None or record.is_carried or not record.name or not (record.moved or record.is_listed):
                continue
            place = self._place_of(record)
            if place is None or record.is_back_at(place):
                continue
            if record.moved or all(claim.number != record.where.number for claim in starting(place)):
                by_place[place] = (*by_place.get(place, ()), *record.claims())
        return by_place

    def _place_of(self, record: ThingRecord) -> PlaceKey | None:
        """Return the location of a thing. None if unknown, or if it is inside a carried thing."""
        visited = set()
        holder = record
        while (number := holder.where and holder.where.other) is not None and number in self._records:
            if number in visited:
                return None
            visited.add(number)
            holder = self._records[number]
        return holder.place

    def unseen(self, memory: Memory) -> Memory | None:
        """Return an entry without the things that are visible or that the player has moved.

        Returns:
            None if no thing remains. Other memories, and entries that a person edited, are returned unchanged.
        """
        if not memory.claims or not is_ledger_entry(memory) or memory.is_settled_by_person:
            return memory
        moved = {number for number, record in self._records.items() if record.moved and memory.title == STARTS_HERE}
        claims = tuple(claim for claim in memory.claims if claim.number not in {*self._at_hand, *moved})
        return replace(memory, claims=claims, text=self.described(claims)) if claims else None

    def described(self, claims: Iterable[Claim]) -> str:
        """Return the text of an entry, grouped by holder: `Lamp (unlit). On the table: book.`"""
        things: dict[int, tuple[Claim, list[str]]] = {}
        for claim in claims:
            if claim.number is None:
                continue
            if claim.relation in _WHEREABOUTS:
                things[claim.number] = (claim, things.get(claim.number, (claim, []))[1])
            else:
                things.setdefault(claim.number, (claim, []))[1].append(claim.relation.value)
        groups: dict[str, list[str]] = {"": []}
        for where, states in things.values():
            name = textwrap.shorten(where.name, _LONGEST_NAME, placeholder="…")
            groups.setdefault(self._holder_in_words(where), []).append(
                f"{name} ({', '.join(states)})" if states else name
            )
        return " ".join(f"{sentence_case(holder + ', '.join(names))}." for holder, names in groups.items() if names)

    def _holder_in_words(self, where: Claim) -> str:
        if where.other is None:
            return ""
        holder = self._record(where.other)
        relation = "carried by" if holder is not None and holder.alive else where.relation.value
        return f"{relation} {with_article(' '.join(where.other_name.split()))}: "

    def _record(self, number: int | None) -> ThingRecord | None:
        return None if number is None else self._records.get(number)

    def _with_names(self, claim: Claim) -> Claim:
        """Return a claim with the known names of its things."""
        thing, other = self._record(claim.number), self._record(claim.other)
        return replace(
            claim,
            name=claim.name or (thing.name if thing else ""),
            other_name=claim.other_name or (other.name if other else ""),
        )

    # Checks of claims

    def temporary_claim(self, location_id: SubjectKey, claims: Iterable[Claim]) -> Claim | None:
        """Return the first claim that holds in this episode only. None if there is none.

        These are claims that the player made true. If all claims are about things that moved by themselves, the first
        one is returned.
        """
        claims = tuple(claims)
        for claim in claims:
            if self._held_at_start(location_id, claim) is False and not self._is_put_back(claim):
                return claim
        is_strayed = bool(claims) and all(
            claim.number in self._strayed
            and claim.relation in _WHEREABOUTS
            and self._strayed[claim.number] != _holder_in(claim, location_id)
            for claim in claims
        )
        return claims[0] if is_strayed else None

    def confirms(self, location_id: SubjectKey, memory: Memory, things: Iterable[ThingState]) -> bool:
        """Return whether all claims of a memory are true.

        A claim is true if it holds now and the player hasn't touched the thing. For a lasting memory, it is also true
        if it held before the player touched the thing.

        Args:
            things: The things that are present.
        """
        now = {claim.short for thing in things for claim in thing.claims()}
        touched = {number for number, record in self._records.items() if record.moved or record.began}
        return bool(memory.claims) and all(
            (memory.persistence.outlives_episode and self._held_at_start(location_id, claim))
            or (claim.short in now and claim.number not in touched)
            for claim in memory.claims
        )

    def correction(self, location_id: SubjectKey, memory: Memory, claim: Claim) -> str:
        """Return the state in the game that contradicts a memory's claim; "" if the claim may be true.

        For a lasting memory, the claim may also have been true before the player changed the thing. The whereabouts and
        states of visible things are certain, so claims about them are checked more strictly than by `_contradiction`.
        """
        if memory.persistence.outlives_episode and self._held_at_start(location_id, claim):
            return ""
        if claim.relation is Relation.DARK:
            return Relation.LIGHT.value if location_id == self._in_sight else ""
        record = self._record(claim.number)
        is_visible = location_id == self._here and claim.number in self._at_hand
        if record is None or record.where is None or not is_visible:
            return self._contradiction(location_id, claim)
        if claim.relation in _ATTRIBUTE_OF and claim.relation.value not in record.states:
            opposite = OPPOSITE[claim.relation].value
            return opposite if opposite in record.states else f"not {claim.relation}"
        if claim.relation in _WHEREABOUTS:
            # A thing inside or on another one is "here" too.
            is_here = claim.relation is Relation.HERE and not record.is_carried
            is_true = is_here or (claim.relation, claim.other) == (record.where.relation, record.where.other)
            return "" if is_true else record.where.in_words()
        return ""

    def valid_claims(self, location_id: SubjectKey, memory: Memory) -> tuple[Claim, ...]:
        """Return the claims that stay true for as long as the memory."""
        lasting = memory.persistence.outlives_episode
        return tuple(
            claim
            for claim in memory.claims
            if not self.correction(location_id, memory, claim)
            and not (lasting and self.temporary_claim(location_id, [claim]))
        )

    def contradicting_state(self, location_id: SubjectKey, claims: Iterable[Claim]) -> str:
        """Return the state that contradicts claims at this location, such as `brass key carried`; "" if none is known.

        States that the player can't have seen are omitted.
        """
        things = [claim for claim in claims if claim.number is not None]
        states: dict[str, dict[str, None]] = {}
        for claim in things:
            if word := self._contradiction(location_id, claim):
                record = self._record(claim.number)
                name = " ".join(((record.name if record else "") or claim.name).split())
                states.setdefault(name, {})[word] = None
        if any(claim.number != things[0].number for claim in things):
            # Among several things, a state without a name would be ambiguous.
            states.pop("", None)
        return ", ".join(f"{name} {' and '.join(words)}".strip() for name, words in states.items())

    def _contradiction(self, location_id: SubjectKey, claim: Claim) -> str:
        """Return a word for the last seen state that contradicts a claim; "" if none does."""
        record = self._record(claim.number)
        if claim.relation in _ATTRIBUTE_OF:
            opposite = OPPOSITE[claim.relation].value
            return opposite if record is not None and opposite in record.states else ""
        if claim.relation is Relation.CARRIED:
            if record is None or not record.moved or record.is_carried:
                return ""
            # It may be in something that is carried.
            return "gone" if record.where is None else "put down" if self._place_of(record) is not None else ""
        if claim.relation not in _FOUND_AT:
            return ""
        is_missed = claim.relation is Relation.HERE and location_id == self._in_sight
        is_missed = is_missed and claim.number not in self._at_hand
        if record is None:
            return "gone" if is_missed else ""
        if record.is_carried:
            return Relation.CARRIED.value
        if record.where is None:
            # A thing without a place may never have been seen.
            return "gone" if record.moved or is_missed or claim.number in self._strayed else ""
        if not record.moved and claim.number not in self._strayed:
            return "gone" if is_missed else self._elsewhere(location_id, claim, record)
        return "moved" if record.holder != _holder_in(claim, location_id) else ""

    def _elsewhere(self, location_id: SubjectKey, claim: Claim, record: ThingRecord) -> str:
        """Return "elsewhere" if an unmoved thing was last seen at another place or in another holder, otherwise ""."""
        place = self._place_of(record)
        # Several locations can share scenery.
        if record.fixed or record.alive or place is None or not is_place(location_id):
            return ""
        if claim.relation is Relation.HERE:
            return "" if place == location_id else "elsewhere"
        holders = []
        while record.where is not None and (holder := record.where.other) is not None and holder not in holders:
            holders.append(holder)
            record = self._records.get(holder, ThingRecord(""))
        return "" if claim.other in holders else "elsewhere"

    def _held_at_start(self, location_id: SubjectKey, claim: Claim) -> bool | None:
        """Return whether a claim was true before the player moved or changed the thing. None if it didn't."""
        record = self._record(claim.number)
        if record is None:
            return None
        if claim.relation in _WHEREABOUTS:
            is_there = record.start_place == location_id and record.start_holder == _holder_in(claim, location_id)
            return is_there and claim.relation is not Relation.CARRIED if record.moved else None
        attribute, value = _ATTRIBUTE_OF.get(claim.relation, ("", False))
        return record.began[attribute] is value if attribute in record.began else None

    def _is_put_back(self, claim: Claim) -> bool:
        """Return whether a claim says where a thing is that the player moved, but that is back in its first holder."""
        record = self._record(claim.number)
        if record is None or claim.relation not in _WHEREABOUTS:
            return False
        return record.holder == record.start_holder and not record.is_carried

    # Interruptions

    def snapshot(self) -> dict[str, Any]:
        """Return the ledger as plain values for JSON."""
        plain: dict[str, Any] = _format().dump_python(self, mode="json")
        return plain

    @staticmethod
    def restored(saved: Mapping[str, Any]) -> "ThingsLedger":
        """Return the ledger from the value of `snapshot`."""
        return _format().validate_python(saved)


@lru_cache
def _format() -> "TypeAdapter[ThingsLedger]":
    # pydantic is slow to load, and is needed only here.
    from pydantic import TypeAdapter

    return TypeAdapter(ThingsLedger)


def is_ledger_entry(memory: Memory) -> bool:
    """Return whether a memory is an entry derived from the game state, in this episode or an earlier one."""
    return memory.kind is not None and memory.kind is _KIND_OF.get(memory.title)


def is_attempts_entry(memory: Memory) -> bool:
    """Return whether a memory is the entry that lists the actions without effect at a place."""
    return memory.title == TRIED and is_ledger_entry(memory)


def ledger_entry(memories: Iterable[Memory], title: str) -> Memory | None:
    """Return the current entry with this title. None if there is none."""
    for memory in memories:
        if memory.title == title and is_ledger_entry(memory) and is_current(memory):
            return memory
    return None


def _destination(move: ObjectMove, turn: ZMachineContext) -> Claim | None:
    """Return where the player moved a thing. None if the player can't see where it went."""
    if move.name in turn.inventory_after and move.name not in turn.inventory_before:
        return Claim(Relation.CARRIED, move.number, move.name)
    if move.destination_number is None or turn.loses_sight_of(move):
        return None
    if move.destination_number in (turn.location_before, turn.location_after):
        return Claim(Relation.HERE, move.number, move.name)
    if not turn.things and move.name in turn.inventory_after:
        return Claim(Relation.CARRIED, move.number, move.name)
    return Claim(Relation.IN, move.number, move.name, move.destination_number, move.destination)


def _place_after(move: ObjectMove, turn: ZMachineContext) -> PlaceKey | None:
    where = _destination(move, turn)
    if where is None or where.relation is Relation.CARRIED:
        return None
    return move.destination_number if where.relation is Relation.HERE else turn.location_before


def _holder_in(claim: Claim, location_id: SubjectKey) -> SubjectKey | None:
    """Return what holds the thing according to a claim of a memory at this location."""
    return location_id if claim.relation is Relation.HERE else claim.other
