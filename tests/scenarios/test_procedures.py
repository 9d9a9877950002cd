"""Tests of lessons that take several turns."""

from dataclasses import replace

import pytest

from tests.fixtures.scenarios import GARDEN, INTO_THE_HOUSE, LANDING, Model, kept, lesson, places_of, play, story
from tests.fixtures.walkthrough import get_bundled_walkthrough

WAY_IN = lesson("Way into the house", "Examine the window, then open it, then go south.", "permanent", "SUCCESS")


def sees_what_led_here(question):
    """Learn how the house is entered if earlier steps are in the prompt."""
    steps = all(f'"action": "{step}"' in question.history for step in ("examine window", "open window"))
    went_in = question.action == "south" and not question.arrival and 'to "Kitchen"' in question.text
    return WAY_IN if went_in and steps else None


def without_history(question):
    return sees_what_led_here(replace(question, text=question.text.replace(question.history, "")))


@pytest.mark.slow
def test_procedure_is_learned_and_kept_where_it_starts(tmp_path):
    model = Model(sees_what_led_here)
    with story(tmp_path, model) as game:
        play(game, *INTO_THE_HOUSE)
        assert places_of(game, "Way into the house") == [GARDEN]
        assert kept(game, GARDEN) == [("Way into the house", "permanent", "ACTIVE")]
        game.reset_episode()
        shown = game.simple_memory.get_location_memory(GARDEN)
    assert shown.splitlines()[1:] == ["[SUCCESS] Way into the house: Examine the window, then open it, then go south."]
    (question,) = [one for one, answer in model.said if answer == WAY_IN]
    assert '"turn": 6' in question.history
    assert '"place": "Back Garden"' in question.history


@pytest.mark.slow
def test_procedure_needs_the_preceding_turns(tmp_path):
    with story(tmp_path, Model(without_history)) as game:
        play(game, *INTO_THE_HOUSE)
        assert places_of(game, "Way into the house") == []


def notes_each_sight(question):
    """Remember visible things at the place of the question."""
    sight = "A short sword hangs above the fireplace."
    return lesson("Sword above the fireplace", sight, "core") if sight in question.response else None


def test_contents_of_a_new_room_are_kept_there(tmp_path):
    with story(tmp_path, Model(lambda question: notes_each_sight(question) if question.arrival else None)) as game:
        play(game, *INTO_THE_HOUSE, "south")
        (hall,) = places_of(game, "Sword above the fireplace")
        assert kept(game, hall) == [("Sword above the fireplace", "core", "ACTIVE")]
        assert game.game_state.current_room_id == hall
        assert " [spawn]" in game.simple_memory.get_location_memory(hall)


def tries_keys(question):
    wrong = lesson("Iron key is the wrong one", "The iron key turns an eighth and no further.", "permanent", "FAILURE")
    if "It is the wrong key" in question.response:
        return wrong
    if question.action == "unlock oak door with brass key":
        known = wrong["memory_title"] in question.memories
        return lesson(
            "Brass key opens the oak door",
            "The brass key unlocks the oak door; the iron key does not.",
            "permanent",
            "SUCCESS",
            supersedes_memory_titles=[wrong["memory_title"]] if known else [],
        )
    return None


@pytest.mark.slow
def test_right_key_supersedes_the_wrong_one(tmp_path):
    commands = get_bundled_walkthrough()
    kitchen = commands.index("take lamp")
    landing = commands.index("unlock oak door with brass key")
    tried = ["unlock oak door with iron key"]
    commands = [*commands[:kitchen], "take iron key", *commands[kitchen:landing], *tried, *commands[landing:]]
    with story(tmp_path, Model(tries_keys)) as game:
        play(game, *commands[: landing + 1])
        game.process_turn("unlock oak door with iron key")
        assert kept(game, LANDING) == [("Iron key is the wrong one", "permanent", "ACTIVE")]
        game.process_turn("unlock oak door with brass key")
        assert kept(game, LANDING) == [
            ("Iron key is the wrong one", "permanent", "SUPERSEDED"),
            ("Brass key opens the oak door", "permanent", "ACTIVE"),
        ]
    text = (tmp_path / "Memories.md").read_text()
    assert 'by "Brass key opens the oak door"]\n~~The iron key turns an eighth and no further.~~' in text


GIFT = ("take lamp", "take bread", "south", "west", "open trap door", "turn on lamp", "down", "north", "north")


def learns_of_the_troll(question):
    if question.action == "give bread to troll":
        return lesson(
            "Troll takes gifts", "It took the bread gratefully; what follows is open.", "permanent", "NOTE"
        ) | {"status": "TENTATIVE"}
    if "You died on this turn" in question.text:
        given = "Troll takes gifts" in question.memories and "give bread" in question.history
        return lesson(
            "A gift to the troll kills later",
            "Who gave it something is killed at the next attempt to pass.",
            "permanent",
            "DANGER",
            supersedes_memory_titles=["Troll takes gifts"] if given else [],
            invalidate_memory_titles=["The arch is safe"] if "The arch is safe" in question.memories else [],
            invalidation_reason="The troll killed the player here",
        )
    if question.arrival and question.place == "Toll Arch":
        return lesson("The arch is safe", "The troll only sits there.", "permanent", "NOTE")
    return None


@pytest.fixture
def after_the_gift(tmp_path):
    with story(tmp_path, Model(learns_of_the_troll)) as game:
        play(game, *INTO_THE_HOUSE, *GIFT)
        arch = game.game_state.current_room_id
        game.process_turn("give bread to troll")
        yield game, arch


@pytest.mark.slow
def test_tentative_memories_are_shown_separately(after_the_gift):
    game, arch = after_the_gift
    assert game.simple_memory.get_location_memory(arch) == (
        "[DISCOVERY] Starts here: Troll. [spawn]\n"
        "[NOTE] The arch is safe: The troll only sits there.\n\n"
        "⚠️  TENTATIVE MEMORIES (unconfirmed, may be invalidated):\n"
        "  [NOTE] Troll takes gifts: It took the bread gratefully; what follows is open."
    )
    assert game.simple_memory.get_status()["metrics"]["open_tentative"] == 1


@pytest.mark.slow
def test_late_death_supersedes_tentative_memories(after_the_gift, tmp_path):
    game, arch = after_the_gift
    died = game.process_turn("north")
    assert died.transition.died
    assert kept(game, arch) == [
        ("The arch is safe", "permanent", "SUPERSEDED"),
        ("Troll takes gifts", "permanent", "SUPERSEDED"),
        ("A gift to the troll kills later", "permanent", "ACTIVE"),
    ]
    turn = died.turn
    text = (tmp_path / "Memories.md").read_text()
    assert f'[Invalidated at T{turn}: "The troll killed the player here"]' in text
    assert f'[Superseded at T{turn} by "A gift to the troll kills later"]' in text
    game.reset_episode()
    assert (
        game.simple_memory.get_location_memory(arch)
        .splitlines()[1]
        .startswith("[DANGER] A gift to the troll kills later")
    )
