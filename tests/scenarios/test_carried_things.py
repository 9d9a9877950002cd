"""Tests that carried things are not expected at their places in the next episode."""

import re
from dataclasses import dataclass

import pytest

from tests.fixtures.scenarios import HALL, INTO_THE_HOUSE, KITCHEN, Model, kept, lesson, play, story
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory

CARRIED = ("short sword", "storm lamp", "stale bread", "iron key")
# Each thing is moved, seen again, and moved on.
EPISODES = (
    "take bread.south.take sword.north.drop sword.look.south.drop bread.look.north.south.north.take sword.north."
    "drop sword.look.south.north",
    "take lamp.take iron key.south.drop lamp.look.up.drop iron key.look.down.take sword.up.drop sword.down.up."
    "take iron key.look.down.look",
    "south.take sword.west.drop sword.look.east.west",
)
_TITLE = re.compile(r"\] ([a-z ]+) is at (\d+):")


def careless(persistence):
    """Return a model that remembers where things are, always with the same persistence."""

    def mind(question):
        if "You went from" in question.text and not question.arrival:
            return None
        dropped = question.action.removeprefix("drop ") if question.action.startswith("drop ") else ""
        for thing in CARRIED:
            seen = f"see a {thing} here" in question.response or f"see some {thing} here" in question.response
            if seen or f" {thing} hangs" in question.response or (dropped and thing.endswith(dropped)):
                at = f"{thing} is at {question.location}"
                if at not in question.memories:
                    text = f"The {thing} is here, in the {question.place}."
                    return lesson(at, text, persistence, claims=[question.here(thing)])
        return None

    return mind


@dataclass
class Shown:
    """What the memories of all places say at the start of an episode about positions of things."""

    right: int
    wrong: list[str]


def shown_at_the_start(memory, game) -> Shown:
    where = {thing.name: thing.room for thing in game.services.game.all_objects()}
    lines = [memory.get_location_memory(place) for place in sorted(memory.memory_cache)]
    positions = [(thing, int(place)) for text in lines for thing, place in _TITLE.findall(text)]
    return Shown(
        right=sum(where[thing] == place for thing, place in positions),
        wrong=[f"{thing} at {place}" for thing, place in positions if where[thing] != place],
    )


def unguarded(model: Model, path) -> SimpleMemoryManager:
    """Return a memory with the same answers, without ephemeral memories and guards."""
    plain = SimpleMemoryManager.open(path)
    for question, answer in model.said:
        if answer["should_remember"]:
            title, text = answer["memory_title"], answer["memory_text"]
            plain.add_memory(question.location, question.place, Memory("NOTE", title, 1, "1", 0, text, "permanent"))
    return plain


@pytest.mark.slow
@pytest.mark.parametrize("persistence", ["core", "permanent", "ephemeral"])
def test_shown_positions_are_true_in_a_new_game(tmp_path, persistence):
    model = Model(careless(persistence))
    would_be_wrong = []
    with story(tmp_path / "guarded", model) as game:
        for commands in EPISODES:
            game.reset_episode()
            assert shown_at_the_start(game.simple_memory, game).wrong == []
            with unguarded(model, tmp_path / f"plain-{len(model.said)}.md") as plain:
                would_be_wrong.append(len(shown_at_the_start(plain, game).wrong))
            for command in (*INTO_THE_HOUSE, *commands.split(".")):
                game.process_turn(command)
        game.reset_episode()
        final = shown_at_the_start(game.simple_memory, game)
        with unguarded(model, tmp_path / "plain.md") as plain:
            would_be_wrong.append(len(shown_at_the_start(plain, game).wrong))
    assert final.wrong == []
    # True positions are kept, unless the model called them ephemeral.
    assert final.right == (0 if persistence == "ephemeral" else 3)
    # Shows the effect of guards and ephemeral memories.
    assert would_be_wrong == WOULD_BE_WRONG


WOULD_BE_WRONG = [0, 3, 6, 7]
"""At the start of episodes 1 to 4, without guard and ephemeral memories."""


def test_start_and_current_position_of_a_thing_are_remembered(tmp_path):
    begins = "A short sword hangs above the fireplace."

    def mind(question):
        if question.arrival and begins in question.response:
            return lesson("Sword above the fireplace", begins, "core", claims=[question.here("short sword")])
        if question.action == "drop sword":
            claims = [question.here("short sword")]
            return lesson("Sword left here", "I left the sword here.", "permanent", claims=claims)
        return None

    with story(tmp_path, Model(mind)) as game:
        play(game, *INTO_THE_HOUSE, "south", "take sword", "north", "drop sword")
        assert kept(game, HALL) == [("Sword above the fireplace", "core", "ACTIVE")]
        assert kept(game, KITCHEN) == [("Sword left here", "ephemeral", "ACTIVE")]
        assert game.simple_memory.get_status()["metrics"]["persistence_corrected"] == 1
        assert "left" not in (tmp_path / "Memories.md").read_text()
        game.reset_episode()
        assert "sword" not in game.simple_memory.get_location_memory(KITCHEN)
        assert game.simple_memory.get_location_memory(HALL) == (
            "[DISCOVERY] Starts here: Front door (closed), short sword, sea chest (closed). [spawn]\n"
            "[DISCOVERY] Sword above the fireplace: A short sword hangs above the fireplace. [spawn]"
        )


def test_audit_invalidates_errors_of_an_older_memory(tmp_path):
    with story(tmp_path, Model(lambda question: None)) as game:
        game.reset_episode()
        number = next(thing.number for thing in game.services.game.all_objects() if thing.name == "short sword")
        here = (Claim(Relation.HERE, number, "short sword"),)
        wrong = Memory("NOTE", "Sword", 1, "3", 0, "The short sword lies here.", "core", claims=here)
        right = Memory("NOTE", "Sword", 1, "3", 0, "A short sword hangs here.", "core", claims=here)
        game.simple_memory.add_memory(KITCHEN, "Kitchen", wrong)
        game.simple_memory.add_memory(HALL, "Hall", right)
        game.reset_episode()
        assert kept(game, KITCHEN) == [("Sword", "core", "SUPERSEDED")]
        assert kept(game, HALL) == [("Sword", "core", "ACTIVE")]
        assert game.simple_memory.get_status()["metrics"]["audit"] == {
            "confirmed": 2,
            "contradicted": 1,
            "not checkable": 0,
        }
