"""Read a story's dictionary and grammar: the words that its parser knows, and the syntax of its verbs.

Two grammar formats are supported: Infocom's, with eight bytes per line, and Inform's version 2 (Technical Manual,
section 8.6). In both, static memory starts with a table of addresses, one per verb. The verbs are numbered from 255
downwards. If a table does not match its format exactly, the grammar is unknown.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from game_interface.core.sanitize import is_meta
from game_interface.core.zmachine import DictionaryEntry, View, ZMachine, word_at
from game_interface.models import GrammarLine, GrammarToken, ImpliedObject, Language, TokenKind

# Part-of-speech flags, in a dictionary entry's first data byte: Infocom's and Inform's (Technical Manual, section 5).
_VERB, _ADJECTIVE, _DIRECTION, _BUZZWORD = 0x40, 0x20, 0x10, 0x04
_INFORM_VERB, _INFORM_META = 0x01, 0x02
_PREPOSITION = 0x08  # in both
# Infocom: the two low bits are the part of speech that the first of two values belongs to.
_PREPOSITION_FIRST, _VERB_FIRST = 0, 1
_INFORM_NAME_PROPERTY = 1

_INFOCOM_LINE_BYTES = 8
_HAVE, _TAKE = 0x02, 0x08
_INFORM_END_OF_LINE = 15
_INFORM_ELEMENTARY = {
    0: TokenKind.NOUN,
    1: TokenKind.IN_REACH,
    2: TokenKind.NOUN,
    3: TokenKind.NOUN,
    4: TokenKind.NOUN,
    5: TokenKind.NOUN,
    6: TokenKind.PERSON,
}
_MAX_LINES, _MAX_TOKENS = 120, 32

Syntax = dict[int, tuple[GrammarLine, ...]]
"""Verb number → its grammar lines."""


def read_language(machine: ZMachine) -> Language:
    """Return the dictionary and grammar in the story file, without running the story."""
    inform = bool(machine.header.compiler)
    try:
        syntax = _inform_syntax(machine) if inform else _infocom_syntax(machine)
    except (IndexError, ValueError):  # an address outside the file
        syntax = {}
    entries = [entry for entry in machine.dictionary if entry.text]

    def number_of(verb: DictionaryEntry) -> int:
        return verb.flags[1] if inform else _infocom_value(verb.flags, _VERB_FIRST)

    def flagged(flag: int) -> frozenset[str]:
        return frozenset(entry.text for entry in entries if entry.flags[0] & flag)

    return Language(
        word_length=6 if machine.header.version <= 3 else 9,
        words=frozenset(entry.text for entry in entries),
        verbs={
            entry.text: syntax.get(number_of(entry))
            for entry in entries
            if entry.flags[0] & (_INFORM_VERB if inform else _VERB)
        },
        names=_object_names(machine),
        adjectives=frozenset() if inform else flagged(_ADJECTIVE),
        directions=frozenset() if inform else flagged(_DIRECTION),
        prepositions=flagged(_PREPOSITION),
        buzzwords=frozenset() if inform else flagged(_BUZZWORD),
        # Inform's parser accepts any text as a topic. Infocom's looks up all words first.
        rejects_unknown_words=not inform,
        infers_omitted=inform,
    )


# Dictionary


def verbs(machine: ZMachine) -> tuple[str, ...]:
    """Return the verbs, without the meta verbs that `clean_command` refuses."""
    if machine.header.compiler:
        mask, expected = _INFORM_VERB | _INFORM_META, _INFORM_VERB
    else:
        mask, expected = _VERB, _VERB
    return tuple(
        entry.text
        for entry in machine.dictionary
        if entry.flags[0] & mask == expected and entry.text[:1].isalpha() and not is_meta(entry.text)
    )


def word_addresses(machine: ZMachine) -> dict[int, str]:
    """Return address → word for the dictionary."""
    story, start = machine.story, machine.header.dictionary
    at = start + 1 + story[start]
    return {at + 3 + index * story[at]: entry.text for index, entry in enumerate(machine.dictionary)}


def words_by_object(machine: ZMachine) -> dict[int, tuple[str, ...]]:
    """Return object → the words that name it, in the order of the story."""
    words, opening = word_addresses(machine), machine.view(b"")
    key = _INFORM_NAME_PROPERTY if machine.header.compiler else _name_property(opening, words)
    names: dict[int, tuple[str, ...]] = {}
    for number in range(1, machine.object_count + 1):
        addresses = property_words(opening.properties(number).get(key, b""))
        names[number] = tuple(words[address] for address in addresses if address in words)
    return names


def _object_names(machine: ZMachine) -> dict[str, frozenset[int]]:
    names: dict[str, set[int]] = defaultdict(set)
    for number, words in words_by_object(machine).items():
        for word in words:
            names[word].add(number)
    return {word: frozenset(numbers) for word, numbers in names.items()}


def _name_property(opening: View, words: dict[int, str]) -> int:
    """Return the most frequent property that contains only dictionary addresses. 0 if there is none."""
    counts: Counter[int] = Counter()
    for number in range(1, opening.machine.object_count + 1):
        for key, value in opening.properties(number).items():
            only_words = len(value) % 2 == 0 and all(address in words for address in property_words(value))
            # A single other value rules the property out.
            counts[key] += 1 if only_words else -opening.machine.object_count
    key, count = max(counts.items(), key=lambda item: item[1], default=(0, 0))
    return key if count > 0 else 0


def property_words(value: bytes) -> list[int]:
    """Return a property's value as 16-bit words."""
    return [value[at] << 8 | value[at + 1] for at in range(0, len(value) - 1, 2)]


# Grammar


def _grammar_addresses(machine: ZMachine) -> list[int]:
    """Return the address of each verb's lines. [] if there is no grammar table.

    The lines follow the table of addresses.
    """
    story, table = machine.story, machine.header.static
    end = word_at(story, table)
    if not table < end <= table + 512 or (end - table) % 2:
        return []
    addresses = [word_at(story, at) for at in range(table, end, 2)]
    return addresses if all(end <= address < machine.header.dictionary for address in addresses) else []


def _infocom_value(flags: bytes, part_of_speech: int) -> int:
    """Return the number that a word has as a part of speech."""
    return flags[1] if flags[0] & 3 == part_of_speech else flags[2]


def _infocom_syntax(machine: ZMachine) -> Syntax:
    if machine.header.version > 3:
        return {}
    story, by_verb = machine.story, _grammar_addresses(machine)
    addresses = sorted(set(by_verb))
    for address, following in pairwise(addresses):
        # One byte of padding is allowed between two verbs.
        if following - (address + 1 + story[address] * _INFOCOM_LINE_BYTES) not in (0, 1):
            return {}
    prepositions = _infocom_prepositions(machine)
    lines = {address: tuple(_infocom_lines(story, address, prepositions)) for address in addresses}
    return {255 - index: lines[address] for index, address in enumerate(by_verb)}


def _infocom_prepositions(machine: ZMachine) -> dict[int, frozenset[str]]:
    prepositions: dict[int, set[str]] = defaultdict(set)
    for entry in machine.dictionary:
        if entry.flags[0] & _PREPOSITION:
            prepositions[_infocom_value(entry.flags, _PREPOSITION_FIRST)].add(entry.text)
    return {number: frozenset(words) for number, words in prepositions.items()}


def _infocom_lines(story: bytes, address: int, prepositions: dict[int, frozenset[str]]) -> Iterator[GrammarLine]:
    for line in range(story[address]):
        at = address + 1 + line * _INFOCOM_LINE_BYTES
        objects, word1, word2, implied1, implied2, options1, options2, action = story[at : at + _INFOCOM_LINE_BYTES]
        before_first, before_second = (
            (GrammarToken(TokenKind.WORD, prepositions.get(word, frozenset())),) if word else ()
            for word in (word1, word2)
        )
        first = GrammarToken(_infocom_kind(options1), attribute=implied1 or None)
        second = GrammarToken(_infocom_kind(options2), attribute=implied2 or None)
        no_first = ImpliedObject(first.kind, implied1)
        no_second = ImpliedObject(second.kind, implied2)
        if objects == 0:
            yield GrammarLine(before_first, action)
        if objects == 1 and implied1:
            yield GrammarLine(before_first, action, (no_first,))
        if objects == 2 and implied1 and implied2:
            yield GrammarLine(before_first, action, (no_first, no_second))
        if objects == 1 or (objects == 2 and implied2):
            implied = (no_second,) if objects == 2 else ()
            yield GrammarLine((*before_first, first), action, implied)
            if before_first:  # "turn on lamp", "turn lamp on"
                yield GrammarLine((first, *before_first), action, implied)
        if objects == 2:
            yield GrammarLine((*before_first, first, *before_second, second), action)


def _infocom_kind(options: int) -> TokenKind:
    if options & _HAVE:
        return TokenKind.IN_REACH if options & _TAKE else TokenKind.HELD
    return TokenKind.PICKED_UP if options & _TAKE else TokenKind.NOUN


def _inform_syntax(machine: ZMachine) -> Syntax:
    words = word_addresses(machine)
    syntax: Syntax = {}
    for index, address in enumerate(_grammar_addresses(machine)):
        lines = _inform_lines(machine.story, address, words)
        if lines is None:
            return {}
        syntax[255 - index] = lines
    return syntax


def _inform_lines(story: bytes, address: int, words: dict[int, str]) -> tuple[GrammarLine, ...] | None:
    lines, at = [], address + 1
    if story[address] > _MAX_LINES:
        return None
    for _ in range(story[address]):
        action, at = word_at(story, at) & 0x3FF, at + 2
        tokens: list[GrammarToken] = []
        while story[at] != _INFORM_END_OF_LINE:
            kind, value, at = story[at], word_at(story, at + 1), at + 3
            token = _inform_token(kind & 15, value, words)
            if token is None or len(tokens) > _MAX_TOKENS:
                return None
            is_alternative = kind & 0x10  # "in" / "into"
            if is_alternative and tokens and tokens[-1].kind == token.kind == TokenKind.WORD:
                tokens[-1] = GrammarToken(TokenKind.WORD, tokens[-1].words | token.words)
            elif is_alternative:
                tokens[-1:] = [GrammarToken(TokenKind.FREE)]
            else:
                tokens.append(token)
        lines.append(GrammarLine(tuple(tokens), action))
        at += 1
    return tuple(lines)


def _inform_token(kind: int, value: int, words: dict[int, str]) -> GrammarToken | None:
    if kind == 1:
        return GrammarToken(_INFORM_ELEMENTARY.get(value, TokenKind.FREE))
    if kind == 2:
        return GrammarToken(TokenKind.WORD, frozenset({words[value]})) if value in words else None
    if kind in (3, 4):  # a noun that a routine or an attribute filters
        return GrammarToken(TokenKind.NOUN, attribute=value if kind == 4 else None)
    return GrammarToken(TokenKind.FREE) if kind in (5, 6) else None
