"""What a story's dictionary says of its words."""

from game_interface.core.sanitize import is_meta
from game_interface.core.zmachine import ZMachine

# The first byte behind a word: Infocom's part-of-speech bits, and those of Inform (Technical Manual, section 5).
_INFOCOM_VERB = 0x40
_INFORM_VERB, _INFORM_META = 0x01, 0x02


def vocabulary(machine: ZMachine) -> tuple[str, ...]:
    """Every word that the parser knows, cut to six letters (version 3) or nine."""
    return tuple(entry.text for entry in machine.dictionary if entry.text)


def verbs(machine: ZMachine) -> tuple[str, ...]:
    """The words that begin a command, without those that the gate refuses."""
    is_verb = _inform_verb if machine.header.compiler else _infocom_verb
    return tuple(
        entry.text
        for entry in machine.dictionary
        if entry.flags and is_verb(entry.flags[0]) and entry.text[:1].isalpha() and not is_meta(entry.text)
    )


def _inform_verb(flags: int) -> bool:
    return bool(flags & _INFORM_VERB) and not flags & _INFORM_META


def _infocom_verb(flags: int) -> bool:
    return bool(flags & _INFOCOM_VERB)
