"""Check and clean commands before they reach the interpreter."""

import re
import unicodedata

from game_interface.models import Language, spelled_direction
from zorkgpt.errors import CommandRefused

MAX_LENGTH = 80
"""Longer commands overflow the story's input buffer (100 bytes for Infocom, 120 for Inform)."""

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
_WALKING_VERBS = ("go", "walk", "run", "head")
_SIGNIFICANT = 6  # parsers of version 3 ignore further letters
_META_TRUNCATED = frozenset(word[:_SIGNIFICANT] for word in _META if len(word) >= _SIGNIFICANT)

# A period separates commands, except in "mr. smith". "then" always does.
_TITLES = ("mr", "mrs", "ms", "dr", "st", "prof", "sgt", "lt", "capt", "rev", "jr", "sr")
_QUOTED = re.compile(r'"[^"]*"?')
_SEPARATOR = re.compile(
    "".join(rf"(?<!\b{title})" for title in _TITLES) + r"[.;]+|,?\s+then\s+(?=\S)|^(?:then\s+)+", re.IGNORECASE
)


def clean_command(text: str, *, language: Language | None = None) -> str:
    """Return a command that is safe to send: one command of at most 80 printable ASCII characters.

    Curly quotes, dashes and letters with accents are replaced by plain ones. Whitespace is collapsed.

    Args:
        language: The story's grammar. It distinguishes "save the whale" from a meta command, and an order to a person
            ("bob, go north then wait") from several commands. None if unknown.

    Raises:
        CommandRefused: If the command is not allowed. The message tells the player what to do instead.
    """
    if not isinstance(text, str):
        raise CommandRefused(f"A command is text, not {type(text).__name__}. Send a short phrase such as: look")
    lines = _lines(text.strip())
    if len(lines) > 1:
        raise CommandRefused(f"The command has {len(lines)} lines. Send one command per turn, on one line.")
    line = " ".join(_ascii("".join(lines)).split())
    command = line if _is_order(line, language) else _one_command(line)
    if len(command) > MAX_LENGTH:
        raise CommandRefused(
            f"The command has {len(command)} characters; the game reads at most {MAX_LENGTH}. Send a shorter command."
        )
    if not any(character.isalnum() or character == "?" for character in command):
        raise CommandRefused("The command is empty. Send a short phrase such as: look")
    _refuse_meta(command, language)
    return command


def clean_key(text: str) -> str:
    """Return a safe input for a story that reads a single key: the name of a key, or a text with the key first.

    Raises:
        CommandRefused: If the input is not allowed.
    """
    if not isinstance(text, str):
        raise CommandRefused(f"A key is text, not {type(text).__name__}. Send a letter, a digit, enter or escape.")
    first = next(iter(_lines(text.strip("\r\n"))), "")
    return _ascii(first.strip() or "enter")[:MAX_LENGTH]


def _lines(text: str) -> list[str]:
    return [line for line in re.split(r"\r\n|\r|\n", text) if line.strip()]


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
        raise CommandRefused("The game can't read a backslash. Use plain words.")
    return plain


def _named(character: str) -> str:
    name = unicodedata.name(character, f"U+{ord(character):04X}")
    return f"{character!r} ({name})" if character.isprintable() else name


def _one_command(line: str) -> str:
    commands = _split(line)
    if len(commands) > 1:
        example = f'for example only: "{commands[0][:MAX_LENGTH]}"'
        raise CommandRefused(f"That is {len(commands)} commands. Send one command per turn, {example}")
    return commands[0] if commands else ""


def _split(line: str) -> list[str]:
    """Return the commands in a line. Text in double quotes is not split."""
    quotes = [match.span() for match in _QUOTED.finditer(line)]
    commands, start = [], 0
    for separator in _SEPARATOR.finditer(line):
        if not any(begin <= separator.start() < end for begin, end in quotes):
            commands.append(line[start : separator.start()])
            start = separator.end()
    commands.append(line[start:])
    return [command for each in commands if (command := each.strip(" ,"))]


def _is_order(line: str, language: Language | None) -> bool:
    """Return whether the line is an order to a person, which may have several steps: "bob, go north then take it"."""
    if language is None or not language.verbs or re.search(r"[.;\"]", line):
        return False
    addressee, _, order = line.lower().partition(",")
    words = [language.truncate(word) for word in addressee.split()]
    return bool(order.strip() and words) and words[0] not in language.verbs and words[-1] in language.names


def _refuse_meta(command: str, language: Language | None) -> None:
    if command[0] in "#$":
        raise CommandRefused(f'"{command}" is a command for the story\'s debugger. Try something in the game.')
    for part in re.split(r'[,."!?]', command.lower()):
        words = part.split()
        while words and words[0] in _POLITE:
            words = words[1:]
        if words and is_meta(words[0]) and (_META_TAIL.issuperset(words[1:]) or _takes_nothing(words[0], language)):
            raise CommandRefused(
                f'"{command}" is not part of the game: saving, restoring, quitting and settings are not available. '
                "Try something in the game."
            )


def _takes_nothing(verb: str, language: Language | None) -> bool:
    """Return whether the grammar is known and allows nothing after the verb."""
    lines = language.verbs.get(language.truncate(verb)) if language else None
    return bool(lines) and not any(line.tokens for line in lines or ())


def is_meta(word: str) -> bool:
    """Return whether a word is a meta command, which controls the interpreter and not the game."""
    return word in _META or word[:_SIGNIFICANT] in _META_TRUNCATED


def spelled_walk(command: str, language: Language) -> str:
    """Return a walk with the direction in the spelling of the dictionary. Other commands are unchanged."""
    *verb, direction = command.split(" ")
    if len(verb) > 1 or (verb and verb[0].lower() not in _WALKING_VERBS):
        return command
    return " ".join((*verb, spelled_direction(direction, language.knows)))
