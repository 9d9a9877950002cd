"""Tests of rejecting commands by words, grammar and objects, but never commands that the game would accept."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.critic import Tally, sort_out, trials
from game_interface.core.grammar import read_language
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.zmachine import ZMachine
from game_interface.models import GrammarLine, GrammarToken, Language, Scene, TokenKind
from tests.fixtures.scenes import HELD, LANGUAGE, NOUN, SCENE
from tests.fixtures.stories import LIBRARY_STORY, bare_story, build
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.action_check import CONFIDENCE, PASSED, ValidationResult, check_action


def reason(action: str, scene: Scene | None = SCENE, **more) -> str:
    return check_action(action, LANGUAGE, scene, **more).reason


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("frobnicate lamp", 'The game does not know the word "frobnicate".'),
        ("take wombat", 'The game does not know the word "wombat".'),
        ("bell", 'The game does not know the verb "bell". Begin with a verb or a direction.'),
        ("take bell", 'There is no "bell" here, and you carry none.'),
        ("take the brass bell", 'There is no "brass bell" here, and you carry none.'),
        ("take lamp", "The lamp is already in your hands."),
        ("OPEN  STATUE.", "The statue can't be opened."),
        ("open the statue", "The statue can't be opened."),
        # The parser reads six letters. The message quotes what was typed.
        ("open statuette", "The statuette can't be opened."),
        ("close box", "The box is already closed."),
        ("open box with statue", "The statue is not in your hands."),
        ("give lamp to statue", "The statue is not alive."),
        ("hit statue", 'The game does not understand "hit" used like this. It knows: hit ... with ....'),
        ("sing lamp", 'The game does not understand "sing" used like this. It knows: sing.'),
        ("take", 'The game does not understand "take" used like this. It knows: take ....'),
    ],
)
def test_command_that_the_game_refuses_is_rejected(action, why):
    assert check_action(action, LANGUAGE, SCENE) == ValidationResult(False, why, CONFIDENCE)


@pytest.mark.parametrize(
    "action",
    [
        "take statue",
        *("take box", "open box", "give lamp to rat", "hit rat with lamp", "sing", "north", "go north", "take north"),
        *(
            "look at the lamp",
            "take it",
            "take all",
            "take lamp and box",
            "take lamp, box",
            'say "wombat"',
            "rat, sing",
        ),
        *("turn dial to 23", "g", "take brass", "", "  ", "\N{SNOWMAN}"),
        # A grammar line of many phrases could be matched in too many ways.
        "take" + " wombat" * 12,
    ],
)
def test_possible_command_is_accepted(action):
    words = LANGUAGE.words | {"go", "turn", "at", "dial", "g"}
    verbs = {**LANGUAGE.verbs, "go": (GrammarLine((NOUN,), 7),), "turn": None}
    assert check_action(action, replace(LANGUAGE, words=words, verbs=verbs), SCENE) == PASSED


def test_bare_name_can_answer_a_question():
    assert reason("bell", answering=True) == ""


def test_without_a_scene_only_words_and_grammar_count():
    assert [reason(action, None) for action in ("take bell", "take lamp", "open statue")] == ["", "", ""]
    assert reason("take wombat", None) != ""
    assert check_action("take wombat", None, None) == PASSED


def test_one_suitable_thing_among_several_is_enough():
    assert check_action("take box", replace(LANGUAGE, names={"box": frozenset({2, 5})}), SCENE) == PASSED


def test_thing_with_its_own_response_is_left_to_the_game():
    odd = replace(SCENE, attributes={5: {"takeable": False, "fixed": False}})
    assert [reason(action, odd) for action in ("take statue", "open statue")] == ["", ""]


def test_missing_objects_are_left_to_a_guessing_parser():
    language = replace(LANGUAGE, infers_omitted=True)
    assert check_action("hit statue", language, SCENE) == check_action("take", language, SCENE) == PASSED


@given(st.text() | st.lists(st.sampled_from([*LANGUAGE.words, "wombat", ",", '"', "7"])).map(" ".join), st.booleans())
def test_any_text_gets_a_verdict_with_a_reason(action, answering):
    verdict = check_action(action, LANGUAGE, SCENE, answering=answering)
    assert (verdict.reason == "", verdict.confidence) == (verdict.valid, 0.0 if verdict.valid else CONFIDENCE)


@pytest.mark.parametrize(
    ("letters", "word", "kept"), [(6, "Lantern", "lanter"), (9, "commission", "commissio"), (6, "air-pump", "air-p")]
)
def test_words_are_truncated_like_in_the_dictionary(letters, word, kept):
    assert Language(letters, frozenset(), {}, {}).truncate(word) == kept


STORIES = [
    pytest.param("bundled_story", BUNDLED_SEED, get_bundled_walkthrough, id="bundled"),
    pytest.param("zork1", ZORK1_SEED, get_zork1_walkthrough, id="zork1"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("story", "seed", "walkthrough"), STORIES)
def test_no_step_of_a_walkthrough_is_rejected(story, seed, walkthrough, request):
    rejected = []
    with JerichoInterface(request.getfixturevalue(story), seed=seed) as game:
        text = game.reset()
        for action in walkthrough():
            verdict = check_action(action, game.language, game.scene(), answering="?" in text)
            if not verdict.valid:
                rejected.append((action, verdict.reason))
            text = game.act(action).response
    assert rejected == []


@pytest.mark.slow
@pytest.mark.parametrize(("story", "seed", "walkthrough"), STORIES)
def test_most_refused_commands_are_rejected_and_no_effective_one(story, seed, walkthrough, request):
    tally, dice = Tally(), random.Random(11)
    with JerichoInterface(request.getfixturevalue(story), seed=seed) as game:
        text = game.reset()
        for index, action in enumerate(walkthrough()):
            if index % 10 == 0:
                sort_out(trials(game, 40, dice, "?" in text), tally)
            text = game.act(action).response
    counts = tally.counts
    assert counts["effect", True] == 0
    assert counts["refused", True] >= 0.8 * (counts["refused", True] + counts["refused", False])


def test_infocom_grammar_and_names_are_read(zork1):
    with JerichoInterface(zork1) as game:
        language, scene = game.language, game.scene()
        assert all(language.verbs.values())
        assert (
            GrammarLine((HELD, GrammarToken(TokenKind.WORD, frozenset({"d", "down"})), NOUN), 18)
            in language.verbs["drop"]
        )
        tried = ("open mailbox", "take mailbox", "take sword", "examine house")
        passed = [action for action in tried if check_action(action, language, scene).valid]
        assert passed == ["open mailbox", "take mailbox", "examine house"]


def test_inform_grammar_and_names_are_read(bundled_story):
    with JerichoInterface(bundled_story) as game:
        language = game.language
        into = GrammarToken(TokenKind.WORD, frozenset({"in", "inside", "into"}))
        assert all(language.verbs.values())
        assert language.infers_omitted
        assert (NOUN, into, NOUN) in {form.tokens for form in language.verbs["put"]}


def test_inconsistent_grammar_is_unknown(bundled_story):
    story = bytearray(bundled_story.read_bytes())
    static = ZMachine(bytes(story)).header.static
    story[static : static + 2] = b"\xff\xff"
    language = read_language(ZMachine(bytes(story)))
    assert set(language.verbs.values()) == {None}
    assert check_action("take moon", language, None) == PASSED


@pytest.mark.parametrize("version", [3, 5, 8])
def test_bare_story_rejects_no_effective_command(version, inform, tmp_path):
    with JerichoInterface(build(inform, tmp_path, bare_story(version), version)) as game:
        for action in ("look", "north", "take hat", "south", "frobnicate"):
            assert check_action(action, game.language, game.scene()) == PASSED
            game.act(action)


@pytest.mark.slow
@pytest.mark.parametrize("version", [5, 8])
def test_unknown_inform_story_is_checked(version, inform, tmp_path):
    with JerichoInterface(build(inform, tmp_path, LIBRARY_STORY, version)) as game:
        tried = ("take coin", "open coin", "open crate", "take shelf", "take vase", "take wire", "enter cart", "go up")
        passed = [action for action in tried if check_action(action, game.language, game.scene()).valid]
        assert passed == ["open crate", "take shelf", "take vase", "take wire", "enter cart", "go up"]
        game.act("open crate")
        assert check_action("take gold coin", game.language, game.scene()) == PASSED


def test_missing_thing_is_named_as_typed():
    gone = replace(SCENE, here=frozenset({2, 4}), in_scope=frozenset({1, 2, 4, 9}))
    assert reason("take statuette", gone) == 'There is no "statuette" here, and you carry none.'
