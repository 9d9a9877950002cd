"""A read-only view of a story's memory: header, object tree, short names, global variables, dictionary, Z-strings.

Section numbers are those of the Z-Machine Standard 1.1. Nothing here runs the story or trusts it: cycles in the object
tree end, and numbers out of range read as nothing.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

LENGTH_UNIT = {3: 2, 4: 4, 5: 4, 6: 8, 7: 8, 8: 8}
"""Bytes that one unit of the header's file length stands for (11.1.6)."""
_MAX_OBJECTS = {3: 255}

_A0 = "abcdefghijklmnopqrstuvwxyz"
_A1 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_A2 = " \n0123456789.,!?_#'\"/\\-:()"
_SHIFTS = {4: 1, 5: 2}
_DEFAULT_UNICODE = "äöüÄÖÜß»«ëïÿËÏáéíóúýÁÉÍÓÚÝàèìòùÀÈÌÒÙâêîôûÂÊÎÔÛåÅøØãñõÃÑÕæÆçÇþðÞÐ£œŒ¡¿"  # ZSCII 155 on (3.8.5.3)
_FIRST_EXTRA = 155
_MAX_WORDS = 2048  # a damaged Z-string never ends; no real one is near this long


def word_at(data: bytes, address: int) -> int:
    """Return the 16-bit word at a byte address."""
    return int.from_bytes(data[address : address + 2], "big")


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a story file (11.1)."""

    version: int
    release: int
    serial: str
    objects: int
    globals: int
    static: int
    """The end of dynamic memory."""
    dictionary: int
    start: int
    length: int
    """Length of the file in bytes; 0 where the header does not say."""
    checksum: int
    timed: bool
    """The status line shows a time: globals 1 and 2 are hours and minutes, not score and moves."""
    compiler: str
    """The version of Inform ("6.41") that compiled the story; "" for another compiler."""

    @classmethod
    def of(cls, story: bytes) -> "Header":
        """Read the header of a story file."""
        compiler = story[0x3C:0x40].decode("latin-1")
        by_inform = compiler[0].isdigit() and compiler[1] == "." and compiler[2:].isdigit()
        return cls(
            version=story[0],
            release=word_at(story, 0x02),
            serial=story[0x12:0x18].decode("latin-1"),
            objects=word_at(story, 0x0A),
            globals=word_at(story, 0x0C),
            static=word_at(story, 0x0E),
            dictionary=word_at(story, 0x08),
            start=word_at(story, 0x06),
            length=word_at(story, 0x1A) * LENGTH_UNIT.get(story[0], 2),
            checksum=word_at(story, 0x1C),
            timed=story[0] <= 3 and bool(story[1] & 2),
            compiler=compiler if by_inform else "",
        )


@dataclass(frozen=True, slots=True)
class DictionaryEntry:
    """A word of the dictionary, truncated to six or nine letters."""

    text: str
    flags: bytes
    """The data bytes behind it, at least three."""


class ZMachine:
    """The parts of a story that never change while it runs; `view` adds the dynamic memory of one moment."""

    def __init__(self, story: bytes) -> None:
        self.story = story
        self.header = Header.of(story)
        self.text = ZStringDecoder(story)
        small = self.header.version <= 3
        self.link_size = 1 if small else 2
        self.attribute_bytes = 4 if small else 6
        self.entry_size = 9 if small else 14
        self.property_defaults = 31 if small else 63
        self.first_entry = self.header.objects + 2 * self.property_defaults
        self.first_link = self.first_entry - self.entry_size + self.attribute_bytes
        """Where the parent of object 0 would be, if there were one."""
        self.names: dict[bytes, str] = {}
        """Decoded short names, by their encoded form."""
        self._last: tuple[bytes, View] | None = None

    def view(self, memory: bytes) -> "View":
        """Return the story with this dynamic memory."""
        # Whoever looks at one state after the other asks for the same one several times.
        if self._last is None or self._last[0] is not memory:
            self._last = memory, View(self, memory)
        return self._last[1]

    @cached_property
    def object_count(self) -> int:
        """The number of objects: the object table ends where the first property table begins."""
        limit = _MAX_OBJECTS.get(self.header.version, 65535)
        end = len(self.story)
        address, count = self.first_entry, 0
        while count < limit and address + self.entry_size <= end:
            properties = word_at(self.story, address + self.entry_size - 2)
            if properties > address:
                end = min(end, properties)
            address, count = address + self.entry_size, count + 1
        return count

    @cached_property
    def table(self) -> slice:
        """Where the object entries are in memory."""
        return slice(self.first_entry, self.first_entry + self.object_count * self.entry_size)

    @cached_property
    def dictionary(self) -> tuple[DictionaryEntry, ...]:
        """All words, in the story's order (13)."""
        story, start = self.story, self.header.dictionary
        at = start + 1 + story[start]
        size, count = word_at(story, at) >> 8, abs(int.from_bytes(story[at + 1 : at + 3], "big", signed=True))
        letters = 4 if self.header.version <= 3 else 6
        if size < letters:
            return ()
        entries = (story[at + 3 + index * size : at + 3 + (index + 1) * size] for index in range(count))
        return tuple(
            DictionaryEntry(self.text.decode(entry, 0, words=letters // 2), entry[letters:].ljust(3, b"\0"))
            for entry in entries
            if len(entry) == size
        )


class View:
    """The memory of a story at one moment. Objects are numbers from 1; 0 is no object."""

    __slots__ = ("data", "machine")

    def __init__(self, machine: ZMachine, memory: bytes) -> None:
        self.machine = machine
        self.data = memory + machine.story[len(memory) :]

    def _entry(self, number: int) -> int:
        return self.machine.first_entry + (number - 1) * self.machine.entry_size

    def exists(self, number: int) -> bool:
        """Return whether there is an object of this number."""
        return 1 <= number <= self.machine.object_count

    def _link(self, number: int, which: int) -> int:
        machine = self.machine
        if not 0 < number <= machine.object_count:
            return 0
        at = machine.first_link + number * machine.entry_size
        if machine.link_size == 1:
            linked = self.data[at + which]
        else:
            at += 2 * which
            linked = self.data[at] << 8 | self.data[at + 1]
        return linked if linked <= machine.object_count else 0

    def parent(self, number: int) -> int:
        """Return what holds the object; 0 for nothing."""
        return self._link(number, 0)

    def sibling(self, number: int) -> int:
        """Return the next object with the same parent; 0 for none."""
        return self._link(number, 1)

    def child(self, number: int) -> int:
        """Return the first object that it holds; 0 for none."""
        return self._link(number, 2)

    def children(self, number: int) -> tuple[int, ...]:
        """Return the objects that it holds directly, in the story's order."""
        first = self.child(number)
        return self._chain(first, 1) if first else ()

    def ancestors(self, number: int) -> tuple[int, ...]:
        """Return the parent, the parent's parent and so on, nearest first."""
        return self._chain(self._link(number, 0), 0)

    def _chain(self, number: int, which: int) -> tuple[int, ...]:
        found: dict[int, None] = {}
        while number and number not in found:
            found[number] = None
            number = self._link(number, which)
        return tuple(found)

    def attribute(self, number: int, attribute: int) -> bool:
        """Return whether the object has the attribute."""
        if not self.exists(number) or not 0 <= attribute < 8 * self.machine.attribute_bytes:
            return False
        return bool(self.data[self._entry(number) + attribute // 8] & 0x80 >> attribute % 8)

    def attributes(self, number: int) -> frozenset[int]:
        """Return the numbers of the attributes that are set."""
        machine = self.machine
        if not 1 <= number <= machine.object_count:
            return frozenset()
        at = machine.first_entry + (number - 1) * machine.entry_size
        return _set_bits(self.data[at : at + machine.attribute_bytes])

    def _properties_at(self, number: int) -> int:
        return word_at(self.data, self._entry(number) + self.machine.entry_size - 2) if self.exists(number) else 0

    def name(self, number: int) -> str:
        """Return the object's short name, with abbreviations expanded; "" for none."""
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
        """Return the object's own properties, without the defaults (12.4)."""
        found: dict[int, bytes] = {}
        at = self._properties_at(number)
        if not 0 < at < len(self.data):
            return found
        at += 1 + 2 * self.data[at]
        while at + 1 < len(self.data) and self.data[at]:
            size_byte = self.data[at]
            if self.machine.header.version <= 3:
                key, size, at = size_byte & 31, (size_byte >> 5) + 1, at + 1
            elif size_byte & 0x80:
                key, size, at = size_byte & 63, self.data[at + 1] & 63 or 64, at + 2
            else:
                key, size, at = size_byte & 63, 2 if size_byte & 0x40 else 1, at + 1
            if key in found:  # property numbers only descend: this table is damaged
                break
            found[key] = self.data[at : at + size]
            at += size
        return found

    def global_value(self, index: int) -> int:
        """Return global variable 0-239 as an unsigned word."""
        return word_at(self.data, self.machine.header.globals + 2 * index)

    def signed_global(self, index: int) -> int:
        """Return global variable 0-239 as a signed word."""
        value = self.global_value(index)
        return value - 0x10000 if value & 0x8000 else value

    def fingerprint(self) -> bytes:
        """Return a digest of every object's parent and attributes; the order of siblings is left out."""
        machine = self.machine
        table = self.data[machine.table]
        kept = machine.attribute_bytes + machine.link_size
        columns = b"".join(table[column :: machine.entry_size] for column in range(kept))
        return hashlib.blake2b(columns, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class TreeChanges:
    """The differences between two object trees."""

    moved: tuple[tuple[int, int, int], ...]
    """(object, parent before, parent after)"""
    flipped: tuple[tuple[int, int, bool], ...]
    """(object, attribute, value after)"""


@lru_cache(maxsize=8)
def changes(before: View, after: View) -> TreeChanges:
    """Return every object with another parent and every attribute that was set or cleared."""
    machine = before.machine
    old, new = before.data[machine.table], after.data[machine.table]
    if old == new:
        return TreeChanges((), ())
    moved: list[tuple[int, int, int]] = []
    flipped: list[tuple[int, int, bool]] = []
    for number in _differing_entries(old, new, machine.entry_size):
        if before.parent(number) != after.parent(number):
            moved.append((number, before.parent(number), after.parent(number)))
        is_now = after.attributes(number)
        flipped += ((number, attribute, attribute in is_now) for attribute in before.attributes(number) ^ is_now)
    return TreeChanges(tuple(moved), tuple(sorted(flipped)))


def _differing_entries(old: bytes, new: bytes, size: int) -> Iterator[int]:
    """Yield the numbers, from 1, of the entries of this size that differ between two tables of equal length."""
    difference, length = int.from_bytes(old, "big") ^ int.from_bytes(new, "big"), len(old)
    while difference:
        first = length - (difference.bit_length() + 7) // 8
        number = first // size + 1
        yield number
        # Only what follows that entry.
        difference &= (1 << 8 * (length - number * size)) - 1


@lru_cache(maxsize=4096)
def _set_bits(flags: bytes) -> frozenset[int]:
    """Return the numbers of the bits that are set, counted from the left."""
    bits, last = int.from_bytes(flags, "big"), 8 * len(flags) - 1
    return frozenset(index for index in range(last + 1) if bits >> (last - index) & 1)


# Z-strings (3)


class ZStringDecoder:
    """Decodes the Z-strings of one story: its alphabets, its Unicode table and its abbreviations."""

    def __init__(self, story: bytes) -> None:
        self._story = story
        self._abbreviations = word_at(story, 0x18)
        self._unicode = self._read_unicode_table()
        self._alphabets = self._read_alphabets(word_at(story, 0x34) if story[0] >= 5 else 0)
        self._expanded: dict[int, str] = {}

    def _read_alphabets(self, table: int) -> tuple[str, str, str]:
        if not table or table + 78 > len(self._story):
            return _A0, _A1, _A2
        letters = [self.zscii(code) or " " for code in self._story[table : table + 78]]
        # The first two of the third alphabet are fixed: an escape and a newline.
        return "".join(letters[:26]), "".join(letters[26:52]), " \n" + "".join(letters[54:])

    def _read_unicode_table(self) -> str:
        extension = word_at(self._story, 0x36) if self._story[0] >= 5 else 0
        if not extension or word_at(self._story, extension) < 3:
            return _DEFAULT_UNICODE
        table = word_at(self._story, extension + 6)
        if not table or table >= len(self._story):
            return _DEFAULT_UNICODE
        codes = (word_at(self._story, table + 1 + 2 * index) for index in range(self._story[table]))
        # A surrogate has no UTF-8.
        return "".join("\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code) for code in codes)

    def zscii(self, code: int) -> str:
        """Return the character of a ZSCII code; "" for none."""
        if 32 <= code <= 126:
            return chr(code)
        if code == 13:
            return "\n"
        extra = code - _FIRST_EXTRA
        return self._unicode[extra] if 0 <= extra < len(self._unicode) else ""

    def decode(self, data: bytes, address: int, *, words: int = _MAX_WORDS) -> str:
        """Return the Z-string at a byte address of `data`, at most `words` 16-bit words of it."""
        return self._text(_z_characters(data, address, words=words), expand=True)

    def _text(self, codes: list[int], *, expand: bool) -> str:
        out: list[str] = []
        alphabet, at = 0, 0
        while at < len(codes):
            code, shift, alphabet = codes[at], alphabet, 0
            at += 1
            if code == 0:
                out.append(" ")
            elif code <= 3:
                if expand and at < len(codes):
                    out.append(self._abbreviation(32 * (code - 1) + codes[at]))
                at += 1
            elif code in _SHIFTS:
                alphabet = _SHIFTS[code]
            elif code == 6 and shift == 2:
                if at + 1 < len(codes):
                    out.append(self.zscii(codes[at] << 5 | codes[at + 1]))
                at += 2
            else:
                out.append(self._alphabets[shift][code - 6])
        return "".join(out)

    def _abbreviation(self, index: int) -> str:
        if index not in self._expanded:
            address = 2 * word_at(self._story, self._abbreviations + 2 * index)
            # An abbreviation never holds another (3.3.1).
            self._expanded[index] = self._text(_z_characters(self._story, address), expand=False)
        return self._expanded[index]


def _z_characters(data: bytes, address: int, *, words: int = _MAX_WORDS) -> list[int]:
    """Return the five-bit codes of the Z-string at a byte address, up to its end bit or the end of the data."""
    codes: list[int] = []
    for at in range(address, min(address + 2 * words, len(data) - 1), 2):
        word = word_at(data, at)
        codes += (word >> 10 & 31, word >> 5 & 31, word & 31)
        if word & 0x8000:
            break
    return codes
