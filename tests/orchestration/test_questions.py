"""Tests of questions, menus and key presses, whose answers are not commands and teach nothing."""

import pytest

from game_interface.models import InputMode, Question
from game_interface.story import find_story
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from tests.fixtures import own_stories
from tests.fixtures.runs import a_run, a_walkthrough
from zorkgpt.context.prompt import AGENT, prompt_sections
from zorkgpt.offline.behaviors import answers_to
from zorkgpt.record.experience import ActionResult

pytestmark = pytest.mark.slow

COMMANDS = [
    "look",
    "no",
    "take lamp",
    "tin",
    "east",
    "north",
    "west",
    "north",
    "push machine",
    "south",
    "2",
    "pull lever",
]


def test_answer_to_a_question_is_not_learned_from(tmp_path):
    story = find_story(own_stories.compiled("questions"))
    with a_walkthrough(tmp_path, *COMMANDS, story=story) as run:
        run.reset_episode()
        records = [run.process_turn() for _ in COMMANDS]
        graph, state = run.services.map.graph, run.services.state
    rooms = {room.name: number for number, room in graph.rooms.items()}
    assert graph.exits(rooms["Hall"]) == {"east": rooms["Gallery"], "north": rooms["Study"]}
    assert graph.exits(rooms["Gallery"]) == {"west": rooms["Hall"]}
    assert not any(row.shows(ActionResult.FAILED) or row.shows(ActionResult.UNCHANGED) for row in state.experience.rows)
    learned = {event.title for record in records for event in record.memory_events if record.transition.is_answer}
    assert learned == {"Starts here"}  # of the room that is shown after the answer


@pytest.mark.parametrize("way_out", ["q", "escape"])
def test_menu_keys_are_not_learned_from(tmp_path, way_out):
    commands = ["help", "north", "n", "1", "enter", "up", "save", "", way_out, "north"]
    with a_walkthrough(tmp_path, *commands, story=find_story(own_stories.compiled("menu"))) as run:
        run.reset_episode()
        for command in commands[:-1]:
            record = run.process_turn(command)
            assert record.transition.refused is None
            assert record.memory_events == ()
        graph, state = run.services.map.graph, run.services.state
        assert [room.name for room in graph.rooms.values()] == ["Den"]
        assert not any(
            row.shows(ActionResult.FAILED) or row.shows(ActionResult.UNCHANGED) for row in state.experience.rows
        )
        assert run.process_turn("north").transition.after.location.name == "Attic"


def test_contents_seen_during_a_question_are_not_starting_contents(tmp_path):
    with a_walkthrough(tmp_path, "wait", "wait", "unlock", "look", "north") as run:
        run.reset_episode()
        *_, asked, answer, arrival = [run.process_turn().transition for _ in range(5)]
    assert asked.after.question
    assert answer.is_answer
    [strayed] = [move for move in answer.moved if move.by_itself]
    assert strayed.number in {item.num for item in arrival.after.visible}
    assert f"#{strayed.number}" not in (tmp_path / "Memories.md").read_text()


def test_rules_player_opens_no_menu(tmp_path):
    story = find_story(own_stories.compiled("menu"))
    with a_run(tmp_path, story=story) as run:
        played = [run.process_turn().transition.action for _ in range(12)]
    assert not {"help", "hint", "hints", "info", "about"} & set(played)


def test_player_sees_the_question(tmp_path):
    story = find_story(own_stories.compiled("questions"))
    with a_walkthrough(tmp_path, "look", "no", story=story) as run:
        run.reset_episode()
        shown = [question_shown(run)]
        for _ in range(2):
            run.process_turn()
            shown.append(question_shown(run))
    assert shown == ["Press any key.", "Have you played before?", None]


def question_shown(run: ZorkOrchestratorV2) -> str | None:
    sections = prompt_sections(AGENT, run.managers.context.player_context(run.services.game.observe(), ""))
    texts = [section.text for section in sections if section.heading == "## The game asks"]
    return texts[0].split("```")[1].strip() if texts else None


@pytest.mark.parametrize(
    ("mode", "text", "way_back", "first"),
    [
        (InputMode.LINE, "Which do you mean, the brass lamp or the tin lamp?", ("no",), ("brass lamp", "no")),
        (InputMode.LINE, "Are you sure?", ("no",), ("no", "yes")),
        (InputMode.LINE, "How many? 3 or 4?", (), ("3", "4")),
        (InputMode.KEY, "N: next. Q: back to the game.", ("escape", "q"), ("escape",)),
        (InputMode.KEY, "1: tea. 2: nothing. Your choice?", (), ("1", "2")),
    ],
)
def test_answers_that_leave_or_are_named_come_first(mode, text, way_back, first):
    assert answers_to(Question(mode, text, way_back))[: len(first)] == first
