"""Check and clean every command before it reaches the interpreter."""

import re
import unicodedata
from typing import Literal

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
_META_TAIL = frozenset({"on", "off", "game", "the", "now", "please"})
_SIGNIFICANT = 6  # version 3 parsers compare no more letters

# A full stop ends a command, but not in "mr. smith"; "then" always does.
_TITLES = ("mr", "mrs", "ms", "dr", "st", "prof", "sgt", "lt", "capt", "rev", "jr", "sr")
_QUOTED = re.compile(r'"[^"]*"?')
_SEPARATOR = re.compile(
    "".join(rf"(?<!\b{title})" for title in _TITLES) + r"[.;]+|,?\s+then\s+(?=\S)|^then\s+", re.IGNORECASE
)


def clean_command(text: str, *, several: SeveralCommands = "refuse") -> str:
    """Return the command as it may be sent: one line of printable ASCII, one command, at most 80 characters.

    Curly quotes, dashes and accents become their plain forms; runs of blanks become one.

    Raises:
        CommandRefused: it may not be sent. The message is written for the player and says what to do instead.
    """
    if not isinstance(text, str):
        raise CommandRefused(f"A command is text, not {type(text).__name__}. Send a short phrase such as: look")
    line = _one_line(text.strip(), several)
    plain = _ascii(line)
    command = _one_command(" ".join(plain.split()), several)
    if len(command) > MAX_LENGTH:
        raise CommandRefused(
            f"That command has {len(command)} characters; the game reads at most {MAX_LENGTH}. Send a shorter one."
        )
    if not any(character.isalnum() or character == "?" for character in command):
        raise CommandRefused("The command is empty. Send a short phrase such as: look")
    _refuse_meta(command)
    return command


def _one_line(text: str, several: SeveralCommands) -> str:
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
    if len(lines) > 1 and several == "refuse":
        raise CommandRefused(f"That was {len(lines)} lines. Send one command a turn, on one line.")
    return lines[0] if lines else ""


def _ascii(line: str) -> str:
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


def _refuse_meta(command: str) -> None:
    if command[0] in "#$":
        raise CommandRefused(
            f'"{command}" speaks to the story\'s debugger, not to the game. Try something in the game.'
        )
    for part in re.split(r'[,."!?]', command.lower()):
        words = part.split()
        if words and is_meta(words[0]) and _META_TAIL.issuperset(words[1:]):
            raise CommandRefused(
                f'"{command}" is not part of the game: saving, restoring, quitting and settings are taken care of. '
                "Try something in the game."
            )


def is_meta(word: str) -> bool:
    """Return whether a word alone is a meta command: one to the interpreter rather than to the game."""
    return word in _META or any(
        len(meta) >= _SIGNIFICANT and word[:_SIGNIFICANT] == meta[:_SIGNIFICANT] for meta in _META
    )
