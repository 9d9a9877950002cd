"""Reads from a story file how its parser's verbs may be used.

Two layouts are known: Infocom's, with eight bytes a line, and the second one of Inform (Technical Manual, section 8.6).
Both keep a table of addresses where static memory begins, one for each verb; the last verb has number 255 minus the
count. Whatever does not add up in every byte is taken for neither, and its forms are not known.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from game_interface.core.zmachine import ZMachine
from game_interface.language import Form, Guess, Part, Place

_INFOCOM_PREPOSITION = 0x08
_INFOCOM_LINE = 8
_HAVE, _TAKE = 0x02, 0x08
_INFORM_END = 15
_INFORM_ELEMENTARY = {0: Place.NOUN, 1: Place.IN_REACH, 2: Place.NOUN, 3: Place.NOUN, 4: Place.NOUN, 5: Place.NOUN} | {
    6: Place.PERSON
}
_MOST_LINES = 120

Forms = tuple[Form, ...]


def forms_of_verbs(machine: ZMachine) -> dict[int, Forms]:
    """A verb's number → every form that it has; empty if the story keeps its grammar in another way."""
    return _inform(machine) if machine.header.compiler else _infocom(machine)


def _word(story: bytes, address: int) -> int:
    return int.from_bytes(story[address : address + 2], "big")


def _addresses(machine: ZMachine) -> list[int]:
    """Where each verb's forms begin; the first of them begin where the table of addresses ends."""
    story, table = machine.story, machine.header.static
    end = _word(story, table)
    if not table < end <= table + 512 or (end - table) % 2:
        return []
    found = [_word(story, at) for at in range(table, end, 2)]
    return found if all(end <= address < machine.header.dictionary for address in found) else []


# Infocom


def value_of(flags: bytes, kind: int) -> int:
    """The number that a word has as one part of speech: the two low bits say whose number comes first."""
    return flags[1] if flags[0] & 3 == kind else flags[2]


def _infocom(machine: ZMachine) -> dict[int, Forms]:
    if machine.header.version > 3:
        return {}
    addresses = sorted(set(_addresses(machine)))
    story = machine.story
    for address, following in pairwise(addresses):
        # A byte of nothing may stand between two of them.
        if following - (address + 1 + story[address] * _INFOCOM_LINE) not in (0, 1):
            return {}
    prepositions = _infocom_prepositions(machine)
    forms = {address: tuple(_infocom_forms(story, address, prepositions)) for address in addresses}
    return {255 - index: forms[address] for index, address in enumerate(_addresses(machine))}


def _infocom_prepositions(machine: ZMachine) -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for entry in machine.dictionary:
        if entry.flags[0] & _INFOCOM_PREPOSITION:
            found[value_of(entry.flags, 0)].add(entry.text)
    return {number: frozenset(words) for number, words in found.items()}


def _infocom_forms(story: bytes, address: int, prepositions: dict[int, frozenset[str]]) -> Iterator[Form]:
    for line in range(story[address]):
        at = address + 1 + line * _INFOCOM_LINE
        count, first_word, second_word, finds_first, finds_second, first, second, action = story[at : at + 8]
        one, other = (
            (Part(Place.WORD, prepositions.get(word, frozenset())),) if word else ()
            for word in (first_word, second_word)
        )
        thing, with_it = Part(_infocom_place(first)), Part(_infocom_place(second))
        guess_first, guess_second = Guess(thing.place, finds_first), Guess(with_it.place, finds_second)
        if count == 0:
            yield Form(one, action)
        if count == 1 and finds_first:
            yield Form(one, action, (guess_first,))
        if count == 2 and finds_first and finds_second:
            yield Form(one, action, (guess_first, guess_second))
        if count == 1 or (count == 2 and finds_second):
            guesses = (guess_second,) if count == 2 else ()
            yield Form((*one, thing), action, guesses)
            if one:
                yield Form((thing, *one), action, guesses)
        if count == 2:
            yield Form((*one, thing, *other, with_it), action)


def _infocom_place(where: int) -> Place:
    if where & _HAVE:
        return Place.IN_REACH if where & _TAKE else Place.HELD
    return Place.PICKED_UP if where & _TAKE else Place.NOUN


# Inform


def _inform(machine: ZMachine) -> dict[int, Forms]:
    words = word_addresses(machine)
    found: dict[int, Forms] = {}
    for index, address in enumerate(_addresses(machine)):
        forms = _inform_forms(machine.story, address, words)
        if forms is None:
            return {}
        found[255 - index] = forms
    return found


def word_addresses(machine: ZMachine) -> dict[int, str]:
    """Where in memory each word of the dictionary is."""
    story, start = machine.story, machine.header.dictionary
    at = start + 1 + story[start]
    return {at + 3 + index * story[at]: entry.text for index, entry in enumerate(machine.dictionary)}


def _inform_forms(story: bytes, address: int, words: dict[int, str]) -> Forms | None:
    forms, at = [], address + 1
    if story[address] > _MOST_LINES:
        return None
    for _ in range(story[address]):
        action, at = _word(story, at) & 0x3FF, at + 2
        parts: list[Part] = []
        while story[at] != _INFORM_END:
            kind, value, at = story[at], _word(story, at + 1), at + 3
            part = _inform_part(kind & 15, value, words)
            if part is None or len(parts) > 32:
                return None
            if kind & 0x10 and parts and parts[-1].place == part.place == Place.WORD:  # "in" / "into"
                parts[-1] = Part(Place.WORD, parts[-1].words | part.words)
            elif kind & 0x10:
                parts[-1:] = [Part(Place.FREE)]
            else:
                parts.append(part)
        forms.append(Form(tuple(parts), action))
        at += 1
    return tuple(forms)


def _inform_part(kind: int, value: int, words: dict[int, str]) -> Part | None:
    if kind == 1:
        return Part(_INFORM_ELEMENTARY.get(value, Place.FREE))
    if kind == 2:
        return Part(Place.WORD, frozenset({words[value]})) if value in words else None
    if kind in (3, 4):  # a thing that a routine, or an attribute, lets pass
        return Part(Place.NOUN)
    return Part(Place.FREE) if kind in (5, 6) else None
