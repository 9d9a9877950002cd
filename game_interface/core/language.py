"""What a story file tells of its parser's language: dictionary, grammar, and the names that its objects bear."""

from collections import Counter, defaultdict

from game_interface.core.grammar import forms_of_verbs, value_of, word_addresses
from game_interface.core.zmachine import View, ZMachine
from game_interface.language import Language

_INFORM_NAME = 1
_INFORM_VERB = 0x01
_VERB, _ADJECTIVE, _DIRECTION, _FILLER = 0x40, 0x20, 0x10, 0x04
_PREPOSITION = 0x08  # of both
_VERB_FIRST = 1


def language_of(machine: ZMachine) -> Language:
    """Everything that can be known of the parser without running the story."""
    inform = bool(machine.header.compiler)
    forms = forms_of_verbs(machine)
    bit = _INFORM_VERB if inform else _VERB
    words = [entry for entry in machine.dictionary if entry.text and len(entry.flags) >= 2]
    verbs = {
        entry.text: forms.get(entry.flags[1] if inform else value_of(entry.flags, _VERB_FIRST))
        for entry in words
        if entry.flags[0] & bit
    }

    def marked(flag: int) -> frozenset[str]:
        return frozenset(entry.text for entry in words if entry.flags[0] & flag)

    return Language(
        letters=6 if machine.header.version <= 3 else 9,
        words=frozenset(entry.text for entry in words),
        verbs=verbs,
        names=_names(machine),
        adjectives=frozenset() if inform else marked(_ADJECTIVE),
        directions=frozenset() if inform else marked(_DIRECTION),
        prepositions=marked(_PREPOSITION),
        fillers=frozenset() if inform else marked(_FILLER),
        # Inform's parser may take any text as a topic; Infocom's looks up every word first.
        every_word_counts=not inform,
        guesses=inform,
    )


def _names(machine: ZMachine) -> dict[str, frozenset[int]]:
    words, opening = word_addresses(machine), machine.view(b"")
    key = _INFORM_NAME if machine.header.compiler else _names_property(opening, words)
    found: dict[str, set[int]] = defaultdict(set)
    for number in range(1, machine.object_count + 1):
        for address in pairs(opening.properties(number).get(key, b"")):
            if address in words:
                found[words[address]].add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _names_property(opening: View, words: dict[int, str]) -> int:
    """The property that holds nothing but words, in most of the objects that have it; 0 if there is none."""
    fitting: Counter[int] = Counter()
    for number in range(1, opening.machine.object_count + 1):
        for key, value in opening.properties(number).items():
            only_words = len(value) % 2 == 0 and all(address in words for address in pairs(value))
            # One exception weighs more than any agreement: the property is another one.
            fitting[key] += 1 if only_words else -opening.machine.object_count
    key, count = max(fitting.items(), key=lambda one: one[1], default=(0, 0))
    return key if count > 0 else 0


def pairs(value: bytes) -> list[int]:
    """The words of two bytes that a property's value is made of."""
    return [value[at] << 8 | value[at + 1] for at in range(0, len(value) - 1, 2)]
