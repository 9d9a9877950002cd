"""Tests of the current state that is shown beside an outdated memory."""

import pytest

from tests.fixtures import small_world
from tests.fixtures.memory import Answers, memory
from tests.fixtures.runs import a_walkthrough
from tests.fixtures.slackwater import WALKTHROUGH
from tests.fixtures.small_world import SmallWorld
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.synthesis import prompt_for

KEY = Claim(Relation.HERE, small_world.KEY, "brass key")
BOX = Claim(Relation.CLOSED, small_world.BOX, "tin box")
LOCKED, SHUT = (Claim(relation, small_world.DOOR, "oak door") for relation in (Relation.LOCKED, Relation.CLOSED))


def test_current_state_is_shown_and_not_stored(tmp_path):
    commands = ("north", "south", "take key", "north", "east", "open box", "west")
    with a_walkthrough(tmp_path, *commands, game=SmallWorld()) as run:
        run.reset_episode()
        kept = run.simple_memory
        here = memory("Key", "core", text="A key lies here.", claims=(KEY,))
        shut = memory("Box", "core", category="DANGER", text="A shut box.", claims=(BOX,))
        kept.add_memory(small_world.JETTY, "Jetty", here)
        kept.add_memory(small_world.PANTRY, "Pantry", shut)
        shown = []
        for _ in commands[:-1]:
            run.process_turn()
            shown.append(
                [kept.contradicting_state(small_world.JETTY, here), kept.contradicting_state(small_world.PANTRY, shut)]
            )
        assert shown == [
            ["", ""],
            ["", ""],
            ["brass key carried", ""],
            ["brass key carried", ""],
            ["brass key carried", ""],
            ["brass key carried", "tin box open"],
        ]
        shown = kept.get_location_memory(small_world.PANTRY)
        assert "A shut box." in shown
        assert "(now: tin box open)" in shown
        run.process_turn()
        (ahead,) = run.managers.context.player_context(run.services.game.observe(), "").dangers
        assert ahead.text == "Box: A shut box. (now: tin box open)"
        assert "now:" not in (tmp_path / "Memories.md").read_text("utf-8")
        run.reset_episode()
        assert "(now:" not in kept.get_location_memory(small_world.PANTRY)


def test_question_contains_the_state_after_the_turn(tmp_path):
    answers = Answers()
    with SimpleMemoryManager.open(tmp_path, synthesizer=answers) as kept:
        kept.add_memory(small_world.JETTY, "Jetty", memory("Key", "core", text="A key lies here.", claims=(KEY,)))
        key = ThingState(small_world.KEY, "brass key", carried=True)
        took = ObjectMove(small_world.KEY, "brass key", small_world.JETTY, "Jetty", small_world.PLAYER, "you")
        turn = ZMachineContext(turn=1, score_delta=5, moved=(took,), things=(key,), inventory_after=("brass key",))
        kept.record_action_outcome(small_world.JETTY, "Jetty", "take key", "Taken.", turn)
    assert answers.requests[0].now == {"Key": "brass key carried"}
    prompt = prompt_for(answers.requests[0], history_window=3)[1].content
    assert '"text": "A key lies here.", ' in prompt
    assert '"now": "brass key carried"' in prompt


@pytest.mark.parametrize(
    ("status", "claimed", "brought_up", "disproved"),
    [
        ("TENTATIVE", LOCKED, True, True),
        # True before the door was opened.
        ("TENTATIVE", SHUT, True, False),
        ("ACTIVE", LOCKED, False, False),
        ("TENTATIVE", BOX, False, False),
    ],
)
def test_tentative_memory_elsewhere_is_asked_about_when_its_thing_is_used(
    tmp_path, status, claimed, brought_up, disproved
):
    wrong = MemorySynthesisResponse(
        should_remember=False, invalidate_memory_titles={"Door"}, invalidation_reason="It opens from below."
    )
    answers = Answers(wrong)
    with SimpleMemoryManager.open(tmp_path, synthesizer=answers) as kept:
        maybe = memory("Door", text="The door may be stuck for good.", status=status, claims=(claimed,))
        kept.add_memory(small_world.LAMP_ROOM, "Lamp Room", maybe)
        opened = AttributeChange(small_world.DOOR, "oak door", "open", True)
        turn = ZMachineContext(turn=40, changed=(opened,))
        kept.record_action_outcome(small_world.COTTAGE, "Cottage", "open door", "It swings open.", turn)
        (now,) = kept.memory_cache[small_world.LAMP_ROOM]
    prompt = prompt_for(answers.requests[0], history_window=3)[1].content
    line = '"title": "Door", "text": "The door may be stuck for good.", "status": "TENTATIVE"}'
    assert (f'{{"about": "Lamp Room ({small_world.LAMP_ROOM})", {line}' in prompt) is brought_up
    assert ("unconfirmed ones of other places" in prompt) is brought_up
    assert (now.status == "SUPERSEDED") is disproved


@pytest.mark.slow
def test_bundled_story_shows_correct_states(tmp_path):
    found = set()
    with a_walkthrough(tmp_path, *WALKTHROUGH, turns=len(WALKTHROUGH)) as run:
        game, kept = run.services.game, run.simple_memory
        run.play_episode()
        run.reset_episode()
        for _ in WALKTHROUGH:
            now = game.observe()
            things = {placed.number: placed for placed in game.all_objects()}
            carried = {item.num for item in now.carried or ()}
            text = kept.get_location_memory(now.location.num)
            for one in kept.memory_cache.get(now.location.num, ()):
                for claim in one.claims:
                    state = kept.contradicting_state(now.location.num, memory(claims=(claim,)))
                    if not state:
                        continue
                    name, word = state.rsplit(" ", 1)
                    found.add(word)
                    notes = [line.partition("(now: ")[2] for line in text.splitlines()]
                    assert any(name in line and word in line for line in notes)
                    if word == "carried":
                        assert claim.number in carried
                    elif word == "gone":
                        assert things[claim.number].room is None
                    elif word == "moved":
                        assert things[claim.number].holder != claim.other or claim.relation is Relation.HERE
                    else:
                        assert word in things[claim.number].states
            run.process_turn()
    assert {"carried", "gone", "open"} <= found
