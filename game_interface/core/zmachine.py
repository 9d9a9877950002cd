"""A read-only view of a story's memory: header, object tree, short names, global variables, dictionary, Z-strings.

Section numbers refer to the Z-Machine Standard 1.1. Damaged stories do no harm: a cycle in the object tree is cut, and
a number out of range reads as 0 or empty.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

LENGTH_UNIT = {3: 2, 4: 4, 5: 4, 6: 8, 7: 8, 8: 8}
"""Version → bytes per unit of the file length in the header (11.1.6)."""
_MAX_OBJECTS = {3: 255}

_A0 = "abcdefghijklmnopqrstuvwxyz"
_A1 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_A2 = " \n0123456789.,!?_#'\"/\\-:()"
_SHIFTS = {4: 1, 5: 2}
_DEFAULT_UNICODE = "äöüÄÖÜß»«ëïÿËÏáéíóúýÁÉÍÓÚÝàèìòùÀÈÌÒÙâêîôûÂÊÎÔÛåÅøØãñõÃÑÕæÆçÇþðÞÐ£œŒ¡¿"  # ZSCII 155 on (3.8.5.3)
_FIRST_EXTRA = 155
_MAX_WORDS = 2048  # a damaged Z-string may have no end; real ones are much shorter


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
    """The size of the file in bytes. 0 if unknown."""
    checksum: int
    timed: bool
    """Whether the status line shows a time. Globals 1 and 2 are then hours and minutes, not score and moves."""
    compiler: str
    """The version of Inform that compiled the story ("6.41"). "" for other compilers."""

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
    """The data bytes of the word, at least three."""


class ZMachine:
    """The constant parts of a story. `view` adds the dynamic memory of one state."""

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
        """The address of the parent of object 0, if it existed."""
        self.names: dict[bytes, str] = {}
        """Encoded short name → decoded short name."""
        self._last: tuple[bytes, View] | None = None
        """The last memory and its view."""

    def view(self, memory: bytes) -> "View":
        """Return a view of the story with this dynamic memory."""
        if self._last is None or self._last[0] is not memory:
            self._last = memory, View(self, memory)
        return self._last[1]

    @cached_property
    def object_count(self) -> int:
        """The number of objects. The object table ends at the first property table."""
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
        """The part of the memory that contains the object entries."""
        return slice(self.first_entry, self.first_entry + self.object_count * self.entry_size)

    @cached_property
    def dictionary(self) -> tuple[DictionaryEntry, ...]:
        """All words in the order of the story (13)."""
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
    """The memory of a story in one state. Object numbers start at 1, and 0 means no object."""

    __slots__ = ("data", "machine")

    def __init__(self, machine: ZMachine, memory: bytes) -> None:
        self.machine = machine
        self.data = memory + machine.story[len(memory) :]

    def _entry(self, number: int) -> int:
        return self.machine.first_entry + (number - 1) * self.machine.entry_size

    def exists(self, number: int) -> bool:
        """Return whether an object has this number."""
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
        """Return the object's parent. 0 if none."""
        return self._link(number, 0)

    def child(self, number: int) -> int:
        """Return the object's first child. 0 if none."""
        return self._link(number, 2)

    def children(self, number: int) -> tuple[int, ...]:
        """Return the object's direct children in the order of the story."""
        first = self.child(number)
        return self._chain(first, 1) if first else ()

    def ancestors(self, number: int) -> tuple[int, ...]:
        """Return the object's parent, the parent's parent and so on."""
        return self._chain(self._link(number, 0), 0)

    def _chain(self, number: int, which: int) -> tuple[int, ...]:
        chain: dict[int, None] = {}
        while number and number not in chain:
            chain[number] = None
            number = self._link(number, which)
        return tuple(chain)

    def attribute(self, number: int, attribute: int) -> bool:
        """Return whether the object has the attribute."""
        return attribute in self.attributes(number)

    def attributes(self, number: int) -> frozenset[int]:
        """Return the numbers of the attributes that are set."""
        machine = self.machine
        if not 1 <= number <= machine.object_count:
            return frozenset()
        at = machine.first_entry + (number - 1) * machine.entry_size
        return _set_bits(self.data[at : at + machine.attribute_bytes])

    def _properties_at(self, number: int) -> int:
        """Return the address of the object's property table. 0 if there is no such object."""
        return word_at(self.data, self._entry(number + 1) - 2) if self.exists(number) else 0

    def name(self, number: int) -> str:
        """Return the object's short name with abbreviations expanded. "" if none."""
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
        properties: dict[int, bytes] = {}
        at = self._properties_at(number)
        if not 0 < at < len(self.data):
            return properties
        at += 1 + 2 * self.data[at]
        while at + 1 < len(self.data) and self.data[at]:
            size_byte = self.data[at]
            if self.machine.header.version <= 3:
                key, size, at = size_byte & 31, (size_byte >> 5) + 1, at + 1
            elif size_byte & 0x80:
                key, size, at = size_byte & 63, self.data[at + 1] & 63 or 64, at + 2
            else:
                key, size, at = size_byte & 63, 2 if size_byte & 0x40 else 1, at + 1
            if key in properties:  # the table is damaged
                break
            properties[key] = self.data[at : at + size]
            at += size
        return properties

    def global_value(self, index: int) -> int:
        """Return global variable 0-239 as an unsigned word."""
        return word_at(self.data, self.machine.header.globals + 2 * index)

    def signed_global(self, index: int) -> int:
        """Return global variable 0-239 as a signed word."""
        value = self.global_value(index)
        return value - 0x10000 if value & 0x8000 else value

    def fingerprint(self) -> bytes:
        """Return a digest of the parents and attributes of all objects. The order of siblings is ignored."""
        machine = self.machine
        table = self.data[machine.table]
        width = machine.attribute_bytes + machine.link_size
        columns = b"".join(table[column :: machine.entry_size] for column in range(width))
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
    """Return the objects whose parent changed and the attributes that were set or cleared."""
    machine = before.machine
    old, new = before.data[machine.table], after.data[machine.table]
    if old == new:
        return TreeChanges((), ())
    moved: list[tuple[int, int, int]] = []
    flipped: list[tuple[int, int, bool]] = []
    for number in _differing_entries(old, new, machine.entry_size):
        if before.parent(number) != after.parent(number):
            moved.append((number, before.parent(number), after.parent(number)))
        set_after = after.attributes(number)
        flipped += ((number, attribute, attribute in set_after) for attribute in before.attributes(number) ^ set_after)
    return TreeChanges(tuple(moved), tuple(sorted(flipped)))


def _differing_entries(old: bytes, new: bytes, size: int) -> Iterator[int]:
    """Yield the numbers of the entries that differ between two tables of equal length, starting at 1.

    Args:
        size: The size of an entry in bytes.
    """
    difference, length = int.from_bytes(old, "big") ^ int.from_bytes(new, "big"), len(old)
    while difference:
        first_differing = length - (difference.bit_length() + 7) // 8
        number = first_differing // size + 1
        yield number
        # Clear the bits up to the end of this entry.
        difference &= (1 << 8 * (length - number * size)) - 1


@lru_cache(maxsize=4096)
def _set_bits(flags: bytes) -> frozenset[int]:
    """Return the numbers of the set bits, counted from the left."""
    bits, last = int.from_bytes(flags, "big"), 8 * len(flags) - 1
    return frozenset(index for index in range(last + 1) if bits >> (last - index) & 1)


# Z-strings (3)


class ZStringDecoder:
    """Decodes Z-strings with the alphabets, the Unicode table and the abbreviations of a story."""

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
        # The third alphabet always starts with an escape code and a newline.
        return "".join(letters[:26]), "".join(letters[26:52]), " \n" + "".join(letters[54:])

    def _read_unicode_table(self) -> str:
        extension = word_at(self._story, 0x36) if self._story[0] >= 5 else 0
        if not extension or word_at(self._story, extension) < 3:
            return _DEFAULT_UNICODE
        table = word_at(self._story, extension + 6)
        if not table or table >= len(self._story):
            return _DEFAULT_UNICODE
        codes = (word_at(self._story, table + 1 + 2 * index) for index in range(self._story[table]))
        # Surrogates can't be encoded as UTF-8.
        return "".join("\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code) for code in codes)

    def zscii(self, code: int) -> str:
        """Return the character with a ZSCII code. "" if none."""
        if 32 <= code <= 126:
            return chr(code)
        if code == 13:
            return "\n"
        extra = code - _FIRST_EXTRA
        return self._unicode[extra] if 0 <= extra < len(self._unicode) else ""

    def decode(self, data: bytes, address: int, *, words: int = _MAX_WORDS) -> str:
        """Return the Z-string at a byte address, up to a maximum length in 16-bit words."""
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
            # Abbreviations can't contain abbreviations (3.3.1).
            self._expanded[index] = self._text(_z_characters(self._story, address), expand=False)
        return self._expanded[index]


def _z_characters(data: bytes, address: int, *, words: int = _MAX_WORDS) -> list[int]:
    """Return the five-bit codes of the Z-string at a byte address."""
    codes: list[int] = []
    for at in range(address, min(address + 2 * words, len(data) - 1), 2):
        word = word_at(data, at)
        codes += (word >> 10 & 31, word >> 5 & 31, word & 31)
        if word & 0x8000:
            break
    return codes
