"""Tests of sanitizing commands."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.sanitize import MAX_LENGTH, clean_command
from game_interface.models import GrammarLine, GrammarToken, Language, TokenKind
from tests.fixtures import own_stories
from zorkgpt.errors import CommandRefused


@pytest.mark.parametrize(
    ("given_text", "sent"),
    [
        ("look", "look"),
        ("  Open   Window \n", "Open Window"),
        ("look.", "look"),
        ("go north...", "go north"),
        ("say “hello”", 'say "hello"'),
        ("examine the troll’s axe", "examine the troll's axe"),
        ("café – au lait", "cafe - au lait"),
        ("take lamp, sword and rope", "take lamp, sword and rope"),
        ('say "hello. you"', 'say "hello. you"'),
        ('say "go north then wait"', 'say "go north then wait"'),
        ("ask mr. smith about mrs. jones", "ask mr. smith about mrs. jones"),
        ("tell dr. grey about the well", "tell dr. grey about the well"),
        ("save the princess", "save the princess"),
        ("quit smoking", "quit smoking"),
        ("put the script in the bag", "put the script in the bag"),
        ("score", "score"),
        ("again", "again"),
        ("wait, then", "wait, then"),
        ("then then wait", "wait"),
        ("strengthen rope", "strengthen rope"),
        ("?", "?"),
        ("x" * MAX_LENGTH, "x" * MAX_LENGTH),
    ],
)
def test_legal_command_is_normalized(given_text, sent):
    assert clean_command(given_text) == sent


@pytest.mark.parametrize(
    ("given_text", "reason"),
    [
        ("", "empty"),
        (" \t\n ", "empty"),
        ("...", "empty"),
        ("x" * 10_000, "10000 characters; the game reads at most 80"),
        (r"\w", "backslash"),
        (r"\x", "backslash"),
        (r"\help", "backslash"),
        (r"look \N", "backslash"),
        (r"\U", "backslash"),
        ("look\0", r"U\+0000"),
        ("look\x1b[2J", r"U\+001B"),
        ("look\x7f", r"U\+007F"),
        ("take 🗡", r"can't read the character '🗡' \(DAGGER KNIFE\)"),
        ("смотреть", "CYRILLIC"),
        ("look\nnorth", "2 lines"),
        ("look\rnorth", "2 lines"),
        ("look\x0bnorth", "can't read the character"),
        ("open door. north. east", r"3 commands\. Send one command per turn, for example only: \"open door\"$"),
        ("open door.north", "2 commands"),
        ("open door then go north", "2 commands"),
        ("open door, then go north", "2 commands"),
        ("wait. wait.", "2 commands"),
        ("#rand 5", "debugger"),
        ("$verify", "debugger"),
        (None, "not NoneType"),
        (b"look", "not bytes"),
    ],
)
def test_illegal_command_is_refused_with_a_reason(given_text, reason):
    with pytest.raises(CommandRefused, match=reason):
        clean_command(given_text)


THING, AT = GrammarToken(TokenKind.NOUN), GrammarToken(TokenKind.WORD, frozenset({"at"}))
LANGUAGE = Language(
    word_length=9,
    words=frozenset({"take", "lamp", "look", "at", "north"}),
    verbs={"take": (GrammarLine((THING,), 1),), "look": (GrammarLine((), 2), GrammarLine((AT, THING), 3))},
    names={},
    directions=frozenset({"north"}),
)


def test_refusal_of_several_commands_offers_the_first():
    with pytest.raises(CommandRefused) as refused:
        clean_command("take lamp. north", language=LANGUAGE)
    assert str(refused.value) == 'That is 2 commands. Send one command per turn, for example only: "take lamp"'


PLAIN = ("save", "SAVE", "restore", "restor", "script", "unscript", "quit", "q", "Q.", "restart", "verbose", "brief")
OTHER_FORMS = (
    *("please restart", "quit yes", "restore game please", "now save", "superbrief", "superb", "undo", "version"),
    *("verify", "script on", "quit game", "quit now", "save.", "troll, save"),
)
DISGUISED = ('tell troll "quit"', 'say "restart', "transcript off", "notify off", "save!")


@pytest.mark.parametrize("command", [*PLAIN, *OTHER_FORMS, *DISGUISED])
def test_interpreter_commands_are_refused(command):
    with pytest.raises(CommandRefused, match="not part of the game"):
        clean_command(command)


@given(st.text())
@example("a\x85b")
@example("ﬃ" * 40)
@example('say "a. b')
def test_accepted_text_is_one_short_ascii_line(text):
    try:
        command = clean_command(text)
    except CommandRefused:
        return
    assert all(" " <= character <= "~" and character != "\\" for character in command)
    assert 1 <= len(command) <= MAX_LENGTH
    assert clean_command(command) == command


@pytest.mark.parametrize(
    ("command", "passes"),
    [
        ("save foo", False),
        ("restart everything at once", False),
        ("bob, go north then take it", False),
        ("captain, go north then take safe", True),
        ("captain, restart", False),
        ("take safe, then go north", False),
        ('tell captain "go north then south"', True),
        ("record tape", True),
    ],
)
def test_grammar_of_the_story_decides_ambiguous_commands(command, passes):
    with JerichoInterface(own_stories.compiled("refusals")) as game:
        assert (game.act(command).refused is None) == passes
