"""Check and clean every command before it reaches the interpreter."""

import re
import unicodedata
from typing import Literal

from game_interface.models import Language, spelled_direction
from zorkgpt.errors import CommandRefused

MAX_LENGTH = 80
"""Longer commands overflow the story's input buffer (100 bytes for Infocom, 120 for Inform)."""

SeveralCommands = Literal["refuse", "first"]
"""What becomes of "open door. go north": it is refused, or only its first command is played."""

_PLAIN = str.maketrans(
    {"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "–": "-", "—": "-", "−": "-"}
    | {"…": ".", "\N{NO-BREAK SPACE}": " ", "ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O"}
)

_META = frozenset(
    {"save", "restore", "restart", "quit", "q", "undo", "script", "unscript", "noscript", "transcript", "recording"}
    | {"unrecord", "replay", "verbose", "brief", "superbrief", "normal", "version", "verify", "random", "notify"}
    | {"pronouns", "objects", "places", "commands", "actions", "changes", "trace"}
)
_META_TAIL = frozenset({"on", "off", "game", "the", "now", "please", "yes", "y"})
_POLITE = ("please", "now", "then")
_GOING = ("go", "walk", "run", "head")
_SIGNIFICANT = 6  # version 3 parsers compare no more letters
_META_TRUNCATED = frozenset(word[:_SIGNIFICANT] for word in _META if len(word) >= _SIGNIFICANT)

# A full stop ends a command, but not in "mr. smith"; "then" always does.
_TITLES = ("mr", "mrs", "ms", "dr", "st", "prof", "sgt", "lt", "capt", "rev", "jr", "sr")
_QUOTED = re.compile(r'"[^"]*"?')
_SEPARATOR = re.compile(
    "".join(rf"(?<!\b{title})" for title in _TITLES) + r"[.;]+|,?\s+then\s+(?=\S)|^(?:then\s+)+", re.IGNORECASE
)


def clean_command(text: str, *, several: SeveralCommands = "refuse", language: Language | None = None) -> str:
    """Return the command as it may be sent: one line of printable ASCII, one command, at most 80 characters.

    Curly quotes, dashes and accents become their plain forms; runs of blanks become one.

    Args:
        several: What becomes of several commands.
        language: The story's own grammar, which tells "save the whale" from a saved game where "save" takes a noun, and
            a person who is addressed from a verb; None if unknown.

    Raises:
        CommandRefused: If it may not be sent. The message is written for the player and says what to do instead.
    """
    if not isinstance(text, str):
        raise CommandRefused(f"A command is text, not {type(text).__name__}. Send a short phrase such as: look")
    line = _one_line(text.strip(), several)
    plain = _ascii(line)
    joined = " ".join(plain.split())
    command = joined if _is_order(joined, language) else _one_command(joined, several)
    if len(command) > MAX_LENGTH:
        raise CommandRefused(
            f"That command has {len(command)} characters; the game reads at most {MAX_LENGTH}. Send a shorter one."
        )
    if not any(character.isalnum() or character == "?" for character in command):
        raise CommandRefused("The command is empty. Send a short phrase such as: look")
    _refuse_meta(command, language)
    return command


def clean_key(text: str) -> str:
    """Return what a player types where the story reads a single key: a key's name or a text whose first letter counts.

    Raises:
        CommandRefused: If the game can't read it.
    """
    if not isinstance(text, str):
        raise CommandRefused(f"A key is text, not {type(text).__name__}. Send a letter, a digit, enter or escape.")
    line = _ascii(_one_line(text.strip("\r\n"), "first").strip() or "enter")
    return line[:MAX_LENGTH]


def _one_line(text: str, several: SeveralCommands) -> str:
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
    if len(lines) > 1 and several == "refuse":
        raise CommandRefused(f"That was {len(lines)} lines. Send one command a turn, on one line.")
    return lines[0] if lines else ""


def _ascii(line: str) -> str:
    if line.isascii() and line.isprintable() and "\\" not in line:
        return line
    decomposed = unicodedata.normalize("NFKD", line.translate(_PLAIN).replace("\t", " "))
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    for character in plain:
        if not " " <= character <= "~":
            raise CommandRefused(
                f"The game can't read the character {_named(character)}. Use plain letters, digits and punctuation."
            )
    if "\\" in plain:
        raise CommandRefused("The game can't read a backslash. Say it in plain words.")
    return plain


def _named(character: str) -> str:
    name = unicodedata.name(character, f"U+{ord(character):04X}")
    return f"{character!r} ({name})" if character.isprintable() else name


def _one_command(line: str, several: SeveralCommands) -> str:
    commands = _split(line)
    if len(commands) > 1 and several == "refuse":
        raise CommandRefused(f'That was {len(commands)} commands. Send one a turn, for example only: "{commands[0]}"')
    return commands[0] if commands else ""


def _split(line: str) -> list[str]:
    """Return the commands in a line; text in double quotes is never split."""
    quotes = [match.span() for match in _QUOTED.finditer(line)]
    cuts = [m.span() for m in _SEPARATOR.finditer(line) if not any(a <= m.start() < b for a, b in quotes)]
    ends = [begin for begin, _ in cuts] + [len(line)]
    begins = [0] + [end for _, end in cuts]
    parts = (line[begin:end].strip(" ,") for begin, end in zip(begins, ends, strict=True))
    return [part for part in parts if part]


def _is_order(line: str, language: Language | None) -> bool:
    """Return whether it is one order of several steps to somebody: "bob, go north then take it"."""
    if language is None or not language.verbs or re.search(r"[.;\"]", line):
        return False
    addressee, comma, order = line.lower().partition(",")
    words = addressee.split()
    return bool(comma and order.strip() and words) and _names_something(words, language)


def _names_something(words: list[str], language: Language) -> bool:
    truncated = [language.truncate(word) for word in words]
    return truncated[0] not in language.verbs and truncated[-1] in language.names


def _refuse_meta(command: str, language: Language | None) -> None:
    if command[0] in "#$":
        raise CommandRefused(
            f'"{command}" speaks to the story\'s debugger, not to the game. Try something in the game.'
        )
    for part in re.split(r'[,."!?]', command.lower()):
        words = part.split()
        while words and words[0] in _POLITE:
            words = words[1:]
        if words and is_meta(words[0]) and (_META_TAIL.issuperset(words[1:]) or _takes_nothing(words[0], language)):
            raise CommandRefused(
                f'"{command}" is not part of the game: saving, restoring, quitting and settings are taken care of. '
                "Try something in the game."
            )


def _takes_nothing(verb: str, language: Language | None) -> bool:
    """Return whether the story's grammar knows a verb and lets nothing follow it."""
    lines = language.verbs.get(language.truncate(verb)) if language else None
    return bool(lines) and not any(line.tokens for line in lines or ())


def is_meta(word: str) -> bool:
    """Return whether a word alone is a meta command: one to the interpreter rather than to the game."""
    return word in _META or word[:_SIGNIFICANT] in _META_TRUNCATED


def spelled_walk(command: str, language: Language) -> str:
    """Return a walk with its direction in the spelling of the dictionary. Other commands are unchanged."""
    *verb, direction = command.split(" ")
    if len(verb) > 1 or (verb and verb[0].lower() not in _GOING):
        return command
    return " ".join((*verb, spelled_direction(direction, language.knows)))
