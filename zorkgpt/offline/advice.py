"""Find commands that a text suggests: "You should get out of bed first", or a command in quotation marks."""

import re
from collections.abc import Iterator
from itertools import islice

from game_interface.models import Language, Scene
from zorkgpt.action_check import check_action

_OPENS_A_MENU = frozenset({"help", "hint", "hints", "info", "about"})
"""Commands that open a menu in many stories."""
_URGED = re.compile(
    r"\b(?:should|must|could|might|need to|needs to|have to|has to|had to|ought to|better|try to|try)\s+(?=[a-z])"
)
_QUOTED = re.compile(r"[\"“]([a-zA-Z][a-zA-Z' -]{0,40})[.,!?]?[\"”]")
_CLAUSE = re.compile(r"[a-z' -]+")
_ENDS_A_CLAUSE = frozenset({"first", "before", "until", "if", "when", "so", "but", "then", "again", "now", "and", "or"})
_UNFINISHED = frozenset({"the", "a", "an", "some", "your", "my", "this", "that"})
"""A command that ends with one of these lacks its noun."""
_MOST_WORDS = 6
_MOST_ADVICE = 4
"""Maximum commands per text."""


def opens_a_menu(action: str) -> bool:
    """Return whether an action may open a menu that reads keys instead of commands."""
    return not _OPENS_A_MENU.isdisjoint(action.lower().split()[:1])


def advice_in(text: str, language: Language | None, scene: Scene | None) -> tuple[str, ...]:
    """Return the commands that a text suggests and that the story's grammar accepts. They may be misunderstood."""
    if language is None:
        return ()
    commands = (command for phrase in _phrases(text) if (command := _longest_command(phrase, language, scene)))
    return tuple(islice(dict.fromkeys(commands), _MOST_ADVICE))


def _phrases(text: str) -> Iterator[list[str]]:
    one_line = " ".join(text.replace("’", "'").split())
    for quoted in _QUOTED.finditer(one_line):
        yield quoted[1].lower().split()
    lower = one_line.lower()
    for urged in _URGED.finditer(lower):
        clause = _CLAUSE.match(lower, urged.end())
        words = clause[0].split() if clause else []
        ends = (at for at, word in enumerate(words) if word in _ENDS_A_CLAUSE)
        yield words[: next(ends, len(words))]


def _longest_command(words: list[str], language: Language, scene: Scene | None) -> str | None:
    """Return as many of the first words as form a command; None if none do."""
    # "Me" is the program: "Tell me what to do with it."
    if not words or "me" in words or language.truncate(words[0]) not in language.verbs:
        return None
    lines = language.verbs[language.truncate(words[0])]
    shortest = 1 if lines and any(not line.tokens for line in lines) else 2
    commands = (" ".join(words[:size]) for size in range(min(len(words), _MOST_WORDS), shortest - 1, -1))
    complete = (command for command in commands if command.rsplit(maxsplit=1)[-1] not in _UNFINISHED)
    return next((command for command in complete if check_action(command, language, scene).valid), None)
