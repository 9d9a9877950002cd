"""What is typed into a question, a menu or a key press is no command: nothing is learned from it as one."""

from game_interface.story import find_story
from tests.fixtures import own_stories
from tests.fixtures.runs import a_walkthrough
from zorkgpt.offline.questions import answers_to

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


def test_what_is_typed_into_a_question_is_no_failure_no_way_and_no_memory(tmp_path):
    story = find_story(own_stories.compiled("questions"))
    with a_walkthrough(tmp_path, *COMMANDS, story=story) as run:
        run.reset_episode()
        records = [run.process_turn() for _ in COMMANDS]
        graph, state = run.services.map.graph, run.services.state
    rooms = {room.name: number for number, room in graph.rooms.items()}
    assert graph.exits(rooms["Hall"]) == {"east": rooms["Gallery"], "north": rooms["Study"]}
    assert graph.exits(rooms["Gallery"]) == {"west": rooms["Hall"]}
    assert not any(graph.in_vain.values())
    assert not any(tried for room in state.failed_actions.values() for tried in room.values())
    learned = {event.title for record in records for event in record.memory_events if record.transition.is_answer}
    assert learned == {"Initial contents"}  # of the room that comes to be seen after the answer


def test_the_player_is_told_the_question(tmp_path):
    story = find_story(own_stories.compiled("questions"))
    with a_walkthrough(tmp_path, "look", "no", story=story) as run:
        run.reset_episode()
        shown = [run.managers.context.get_agent_context()["question"]]
        for _ in range(2):
            run.process_turn()
            shown.append(run.managers.context.get_agent_context()["question"])
    assert shown == ["Press any key.", "Have you played before?", None]


def test_the_first_thing_and_the_numbers_that_a_question_names_are_answered_first():
    assert answers_to("Which do you mean, the brass lamp or the tin lamp?")[0] == "brass lamp"
    assert answers_to("1: tea. 2: nothing. Your choice?")[:2] == ("1", "2")
    assert answers_to("Are you sure?")[:2] == ("yes", "no")
