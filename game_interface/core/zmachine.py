"""A read-only view of a story's memory: header, object tree, names, globals, dictionary.

Section numbers are those of the Z-Machine Standard 1.1. Nothing here runs the story, and nothing here trusts it: lists
that run in a circle end, numbers out of range read as nothing.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from game_interface.core.zstring import ZText

LENGTH_UNIT = {3: 2, 4: 4, 5: 4, 6: 8, 7: 8, 8: 8}
"""Bytes that one unit of the header's file length stands for (11.1.6)."""
_MAX_OBJECTS = {3: 255}


@dataclass(frozen=True, slots=True)
class Header:
    """What a story says of itself (11.1)."""

    version: int
    release: int
    serial: str
    objects: int
    globals: int
    static: int
    """Where memory that can change ends."""
    dictionary: int
    start: int
    length: int
    """Of the file, in bytes; 0 where the header does not say."""
    checksum: int
    timed: bool
    """The status line shows a time: globals 1 and 2 are hours and minutes, not score and moves."""
    compiler: str
    """Inform's version ("6.41") where it compiled the story, else ""."""

    @classmethod
    def of(cls, story: bytes) -> "Header":
        def word(address: int) -> int:
            return int.from_bytes(story[address : address + 2], "big")

        compiler = story[0x3C:0x40].decode("latin-1")
        by_inform = compiler[0].isdigit() and compiler[1] == "." and compiler[2:].isdigit()
        return cls(
            version=story[0],
            release=word(0x02),
            serial=story[0x12:0x18].decode("latin-1"),
            objects=word(0x0A),
            globals=word(0x0C),
            static=word(0x0E),
            dictionary=word(0x08),
            start=word(0x06),
            length=word(0x1A) * LENGTH_UNIT.get(story[0], 2),
            checksum=word(0x1C),
            timed=story[0] <= 3 and bool(story[1] & 2),
            compiler=compiler if by_inform else "",
        )


@dataclass(frozen=True, slots=True)
class DictionaryEntry:
    """A word that the story's parser knows, cut to six or nine letters, with the bytes that say what it is."""

    text: str
    flags: bytes


class ZMachine:
    """What never changes while a story runs; `view` adds the memory of one moment."""

    def __init__(self, story: bytes) -> None:
        self.story = story
        self.header = Header.of(story)
        self.text = ZText(story)
        small = self.header.version <= 3
        self.link_size = 1 if small else 2
        self.attribute_bytes = 4 if small else 6
        self.entry_size = 9 if small else 14
        self.property_defaults = 31 if small else 63
        self.first_entry = self.header.objects + 2 * self.property_defaults
        self.names: dict[bytes, str] = {}

    def view(self, memory: bytes) -> "View":
        """The story with its changeable memory as given."""
        return View(self, memory)

    @cached_property
    def object_count(self) -> int:
        """How many objects there are: the table ends where the first property list begins."""
        limit = _MAX_OBJECTS.get(self.header.version, 65535)
        end = len(self.story)
        address, count = self.first_entry, 0
        while count < limit and address + self.entry_size <= end:
            properties = int.from_bytes(self.story[address + self.entry_size - 2 : address + self.entry_size], "big")
            if properties > address:
                end = min(end, properties)
            address, count = address + self.entry_size, count + 1
        return count

    @cached_property
    def table(self) -> slice:
        """Where in memory the object entries are."""
        return slice(self.first_entry, self.first_entry + self.object_count * self.entry_size)

    def links(self, table: bytes) -> tuple[Sequence[int], ...]:
        """Each object's parent, sibling and child by its number, out of a moment's table of objects."""
        begin, size = self.attribute_bytes, self.entry_size
        if self.link_size == 1:
            return tuple(b"\0" + table[begin + which :: size] for which in range(3))
        words = bytearray(2 * self.object_count)
        found = []
        for which in range(3):
            words[::2], words[1::2] = table[begin + 2 * which :: size], table[begin + 2 * which + 1 :: size]
            found.append((0, *struct.unpack(f">{self.object_count}H", words)))
        return tuple(found)

    @cached_property
    def dictionary(self) -> tuple[DictionaryEntry, ...]:
        """All words, in the story's order (13)."""
        story, start = self.story, self.header.dictionary
        at = start + 1 + story[start]
        size, count = story[at], abs(int.from_bytes(story[at + 1 : at + 3], "big", signed=True))
        letters = 4 if self.header.version <= 3 else 6
        if size < letters:
            return ()
        entries = (story[at + 3 + index * size : at + 3 + (index + 1) * size] for index in range(count))
        return tuple(
            DictionaryEntry(self.text.decode(entry, 0, words=letters // 2), entry[letters:])
            for entry in entries
            if len(entry) == size
        )


class View:
    """The story at one moment. Objects are numbers from 1; 0 is no object."""

    __slots__ = ("_links", "data", "machine")

    def __init__(self, machine: ZMachine, memory: bytes) -> None:
        self.machine = machine
        self.data = memory + machine.story[len(memory) :]
        self._links = machine.links(self.data[machine.table])

    def _word(self, address: int) -> int:
        return int.from_bytes(self.data[address : address + 2], "big")

    def _entry(self, number: int) -> int:
        return self.machine.first_entry + (number - 1) * self.machine.entry_size

    def exists(self, number: int) -> bool:
        return 1 <= number <= self.machine.object_count

    def _link(self, number: int, which: int) -> int:
        links = self._links[which]
        linked = links[number] if 0 < number < len(links) else 0
        return linked if linked < len(links) else 0

    def parent(self, number: int) -> int:
        return self._link(number, 0)

    def sibling(self, number: int) -> int:
        return self._link(number, 1)

    def child(self, number: int) -> int:
        return self._link(number, 2)

    def children(self, number: int) -> tuple[int, ...]:
        """What is directly inside, in the story's order."""
        first = self.child(number)
        return tuple(self._chain(first, self.sibling)) if first else ()

    def ancestors(self, number: int) -> tuple[int, ...]:
        """What it is in, nearest first."""
        return tuple(self._chain(self.parent(number), self.parent))

    @staticmethod
    def _chain(first: int, follow) -> Iterator[int]:
        seen: set[int] = set()
        while first and first not in seen:
            seen.add(first)
            yield first
            first = follow(first)

    def attribute(self, number: int, attribute: int) -> bool:
        if not self.exists(number) or not 0 <= attribute < 8 * self.machine.attribute_bytes:
            return False
        return bool(self.data[self._entry(number) + attribute // 8] & 0x80 >> attribute % 8)

    def attributes(self, number: int) -> frozenset[int]:
        machine = self.machine
        if not 1 <= number <= machine.object_count:
            return frozenset()
        at = machine.first_entry + (number - 1) * machine.entry_size
        return _set_in(self.data[at : at + machine.attribute_bytes])

    def _properties_at(self, number: int) -> int:
        return self._word(self._entry(number) + self.machine.entry_size - 2) if self.exists(number) else 0

    def name(self, number: int) -> str:
        """The object's short name as the story's own text has it; "" for none."""
        address = self._properties_at(number)
        if not 0 < address < len(self.data):
            return ""
        words = self.data[address]
        raw = self.data[address + 1 : address + 1 + 2 * words]
        names = self.machine.names
        if raw not in names:
            names[raw] = self.machine.text.decode(raw, 0, words=words)
        return names[raw]

    def properties(self, number: int) -> dict[int, bytes]:
        """The object's own properties, without the defaults (12.4)."""
        found: dict[int, bytes] = {}
        at = self._properties_at(number)
        if not 0 < at < len(self.data):
            return found
        at += 1 + 2 * self.data[at]
        while at < len(self.data) and self.data[at]:
            size_byte = self.data[at]
            if self.machine.header.version <= 3:
                key, size, at = size_byte & 31, (size_byte >> 5) + 1, at + 1
            elif size_byte & 0x80:
                key, size, at = size_byte & 63, self.data[at + 1] & 63 or 64, at + 2
            else:
                key, size, at = size_byte & 63, 2 if size_byte & 0x40 else 1, at + 1
            if key in found:  # numbers only descend: this list is damaged
                break
            found[key] = self.data[at : at + size]
            at += size
        return found

    def global_value(self, index: int) -> int:
        """Global variable 0-239, as an unsigned word."""
        return self._word(self.machine.header.globals + 2 * index)

    def signed_global(self, index: int) -> int:
        value = self.global_value(index)
        return value - 0x10000 if value & 0x8000 else value

    def fingerprint(self) -> bytes:
        """A digest of every object's parent and attributes; the order among siblings is left out."""
        machine = self.machine
        table = self.data[machine.table]
        kept = machine.attribute_bytes + machine.link_size
        columns = b"".join(table[column :: machine.entry_size] for column in range(kept))
        return hashlib.blake2b(columns, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class TreeChanges:
    """What differs between two moments."""

    moved: tuple[tuple[int, int, int], ...]
    """(object, parent before, parent after)"""
    flipped: tuple[tuple[int, int, bool], ...]
    """(object, attribute, value after)"""


def changes(before: View, after: View) -> TreeChanges:
    """Every object with another parent or another attribute."""
    machine = before.machine
    old, new = before.data[machine.table], after.data[machine.table]
    if old == new:
        return TreeChanges((), ())
    moved, flipped = [], []
    for number in _differing(old, new, machine.entry_size):
        if before.parent(number) != after.parent(number):
            moved.append((number, before.parent(number), after.parent(number)))
        is_now = after.attributes(number)
        flipped += ((number, attribute, attribute in is_now) for attribute in before.attributes(number) ^ is_now)
    return TreeChanges(tuple(moved), tuple(sorted(flipped)))


def _differing(old: bytes, new: bytes, size: int) -> Iterator[int]:
    """The entries of this size that differ between two tables of one length, counted from 1."""
    difference, length = int.from_bytes(old, "big") ^ int.from_bytes(new, "big"), len(old)
    while difference:
        first = length - (difference.bit_length() + 7) // 8
        number = first // size + 1
        yield number
        # What follows that entry.
        difference &= (1 << 8 * (length - number * size)) - 1


@lru_cache(maxsize=4096)
def _set_in(flags: bytes) -> frozenset[int]:
    """The numbers of the bits that are set, from the left."""
    bits, last = int.from_bytes(flags, "big"), 8 * len(flags) - 1
    return frozenset(index for index in range(last + 1) if bits >> (last - index) & 1)
