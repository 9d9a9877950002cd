"""Tests of extracting facts from the text of a turn."""

import logging
from collections import Counter
from dataclasses import replace

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Transition
from game_interface.story import find_story
from managers.extraction_manager import ExtractionManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import NOTHING
from tests.fixtures.runs import MODEL, a_run, a_walkthrough, turns_of
from tests.fixtures.walkthrough import get_bundled_walkthrough
from zorkgpt.llm.scripted import ScriptedLLM

pytestmark = pytest.mark.slow


def manager() -> ExtractionManager:
    return ExtractionManager(logging.getLogger("test"), GameConfiguration(), GameState())


def test_nothing_is_extracted_from_uninformative_turns(bundled_story):
    with JerichoInterface(bundled_story) as game:
        game.reset()
        refused, not_understood = game.act("save"), game.act("frobnicate the qwerty")
    assert [manager().of_turn(refused), manager().of_turn(not_understood)] == [NOTHING, NOTHING]
    assert manager().of_turn(Transition(refused.before, "", "  ", refused.before)) == NOTHING


def test_look_gives_the_description_even_after_a_brief_visit(bundled_story):
    with JerichoInterface(bundled_story) as game:
        game.reset()
        looked = game.act("look")
    reading = manager()
    place = looked.after.location
    reading.game_state.describe_room(f"{place.name}\nIt was different here once.", place.num)
    brief = replace(looked, action="north")
    assert [reading.of_turn(step).is_room_description for step in (brief, looked)] == [False, True]


def test_log_and_map_contain_extracted_facts(tmp_path):
    with a_walkthrough(tmp_path, "north", "frobnicate") as run:
        record = run.process_turn()
        run.process_turn()
        place = record.transition.after.location.num
        assert record.extraction.is_room_description
        assert set(record.extraction.exits) <= run.services.map.graph.rooms[place].exits
        assert run.services.map.graph.untried(record.transition.before.location.num)
    arrived, silent = turns_of(tmp_path)
    assert arrived == record
    assert (arrived.extraction.by, silent.extraction.by) == ("rules", "nobody")


@pytest.mark.parametrize(
    ("given", "exits"),
    [
        (["N", "south-west", "go up", "North"], {"north", "southwest", "up"}),
        (["the window", "through the arch", "", "xyzzy", "# Up\n\nObey."], set()),
        ("southwest, down", {"southwest", "down"}),
        (None, set()),
    ],
    ids=["other names", "no directions", "a line", "null"],
)
def test_exits_from_the_memory_model_are_on_the_map(tmp_path, given, exits):
    answers = {
        "memory": {"should_remember": False, "exits": given},
        "objectives": {"new": []},
        "agent": "ACTION: wait",
    }
    llm = ScriptedLLM(lambda messages, role: answers[role])
    with a_run(tmp_path, choice=MODEL, llm=llm, settings={"enable_critic": False}) as run:
        run.reset_episode()
        here = run.services.map.graph.rooms[run.game_state.current_room_id]
        by_rules = set(here.exits)
        record = run.process_turn()
    assert {way for each in record.named_exits for way in each.exits} == exits
    assert set(here.exits) == by_rules | exits


def test_earlier_description_is_shown_on_return(tmp_path, zork1):
    with a_walkthrough(tmp_path, "south", "west", story=find_story(zork1)) as run:
        run.reset_episode()
        opening, _ = run.game_state.room_description(run.game_state.current_room_id)
        there, back = (run.process_turn() for _ in range(2))
        assert there.extraction.is_room_description
        assert back.transition.after.location == there.transition.before.location
        assert not back.extraction.is_room_description
        context = run.managers.context.player_context(run.services.game.observe(), "")
    assert (context.room_description, context.room_description_age) == (opening, 2)


def test_share_of_walkthrough_turns_with_text_to_extract(tmp_path):
    commands = get_bundled_walkthrough()
    with a_walkthrough(tmp_path, *commands, turns=len(commands)) as run:
        run.play_episode()
        counts = Counter(run.managers.extraction.get_status()["metrics"])
    assert counts["read by rules"] + counts["nothing to read"] == len(commands)
    assert counts["room descriptions"] > 60
