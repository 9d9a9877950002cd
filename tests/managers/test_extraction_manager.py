"""When the reader of the game's text is asked, and what becomes of what it read."""

import logging
from collections import Counter

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from managers.extraction_manager import ExtractionManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import NOTHING, Extraction, GameText, TurnRecord
from tests.fixtures.runs import MODEL, a_run, a_walkthrough, turns_of
from tests.fixtures.walkthrough import get_bundled_walkthrough
from zorkgpt.llm.scripted import ScriptedLLM


class Reader:
    """Says the same of every text, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[GameText] = []
        self.extraction = Extraction(True, ("up",), by="rules")

    def extract(self, said: GameText) -> Extraction:
        self.asked.append(said)
        return self.extraction


def manager_of(reader: Reader) -> ExtractionManager:
    return ExtractionManager(logging.getLogger("test"), GameConfiguration(), GameState(), extractor=reader)


def test_the_same_text_at_the_same_place_is_read_once_an_episode(bundled_story):
    reader = Reader()
    manager = manager_of(reader)
    with JerichoInterface(bundled_story) as game:
        game.start()
        steps = [game.act(command) for command in ("inventory", "look", "inventory", "look", "north", "look")]
    assert [manager.of_turn(step) for step in steps] == [reader.extraction] * 6
    # The first look prints what the arrival in the north does not, and that is read at another place.
    assert [said.action for said in reader.asked][:3] == ["inventory", "look", "north"]
    asked = len(reader.asked)
    manager.reset()
    manager.of_turn(steps[0])
    assert len(reader.asked) == asked + 1


def test_nobody_is_asked_where_there_is_nothing_to_read(bundled_story):
    reader = Reader()
    manager = manager_of(reader)
    with JerichoInterface(bundled_story) as game:
        game.start()
        refused, not_understood = game.act("save"), game.act("frobnicate the qwerty")
    assert [manager.of_turn(refused), manager.of_turn(not_understood)] == [NOTHING, NOTHING]
    assert manager.of_opening("  ", refused.before) == NOTHING
    assert reader.asked == []


def test_what_a_process_that_is_gone_had_read_is_not_asked_again(bundled_story):
    reader = Reader()
    with JerichoInterface(bundled_story) as game:
        game.start()
        step = game.act("look")
    manager = manager_of(reader)
    manager.process_turn(TurnRecord(1, 1, step, "", "given", "", extraction=Extraction(True, by="rules")))
    assert manager.of_turn(step) == Extraction(True, by="rules")
    assert reader.asked == []


def test_the_log_and_the_map_hold_what_was_read(tmp_path):
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
def test_exits_that_the_memory_s_model_reads_are_on_the_map(tmp_path, given, exits):
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


def test_on_coming_back_the_description_from_before_is_shown_again(tmp_path, zork1):
    with a_walkthrough(tmp_path, "south", "west", story=find_story(zork1)) as run:
        run.reset_episode()
        opening = run.game_state.last_room_description
        there, back = (run.process_turn() for _ in range(2))
        assert there.extraction.is_room_description
        assert back.transition.after.location == there.transition.before.location
        assert not back.extraction.is_room_description
        context = run.managers.context.player_context(run.services.game.observe(), "")
    assert (context.room_description, context.room_description_age) == (opening, 2)


@pytest.mark.slow
def test_how_often_a_walkthrough_has_something_to_read(tmp_path):
    commands = get_bundled_walkthrough()
    with a_walkthrough(tmp_path, *commands, turns=len(commands)) as run:
        run.play_episode()
        counts = Counter(run.managers.extraction.get_status()["metrics"])
    assert counts["read by rules"] + counts["read before"] + counts["nothing to read"] == len(commands)
    assert counts["room descriptions"] > 60
