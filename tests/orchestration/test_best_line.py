"""Tests of the best line, the verified commands to the highest score so far."""

import json
import shutil
from dataclasses import replace

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from managers.best_line_manager import BestLineManager
from tests.fixtures.runs import MODEL, a_run, turns_of
from tests.fixtures.saved import trails_in
from zorkgpt.directions import exit_name
from zorkgpt.explore.best_line import BestLine, improved_line, load_line, save_line
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.record.experience import ActionResult
from zorkgpt.run_folder import BEST_LINE_FILE, MAP_FILE

pytestmark = pytest.mark.slow

TURNS = 40
SEED = 1


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Working directory of one episode played by rules, and the best line that the second episode found."""
    folder = tmp_path_factory.mktemp("played")
    with a_run(folder, turns=TURNS, seed=SEED) as run:
        run.play_episode()
    with model_run(folder) as run:
        run.reset_episode()
    return folder, saved_line(folder)


def saved_line(folder) -> BestLine:
    line = load_line(folder / BEST_LINE_FILE, find_story(None).sha256, SEED)
    assert line is not None
    return line


def model_answering(*answers) -> ScriptedLLM:
    script = iter(answers)

    def answer(messages, role):
        return f"Well.\nACTION: {next(script, 'look')}" if role == "agent" else '{"should_remember": false}'

    return ScriptedLLM(answer)


def model_run(folder, llm=None, turns=1, **options):
    settings = {"enable_critic": False}
    return a_run(
        folder, choice=MODEL, turns=turns, llm=llm or model_answering(), seed=SEED, settings=settings, **options
    )


def follow(folder, line, *answers, turns):
    """Play an episode in a folder that contains only this line."""
    save_line(folder / BEST_LINE_FILE, line)
    llm = model_answering(*answers)
    with model_run(folder, llm, turns) as run:
        run.play_episode()
    return turns_of(folder, 1), [call.prompt for call in llm.calls if call.role == "agent"]


def test_line_reaches_the_best_score_without_detours(played):
    folder, line = played
    scores = [turn.after.score for turn in turns_of(folder, 1)]
    assert (line.score, line.episode) == (max(scores), 1)
    assert len(line.steps) < scores.index(max(scores)) + 1 == line.turn
    with JerichoInterface(find_story(None).path, seed=SEED) as game:
        game.reset()
        now = game.observe()
        positions, points = [line.position(now)], now.score
        for number, step in enumerate(line.steps, 1):
            now = game.act(step.action).after
            points += step.points
            positions.append(line.position(now, number))
            assert (now.location_id, now.score) == (step.location_id, points)
    assert positions == list(range(len(line.digests)))


def test_line_does_not_end_shortly_before_a_death(played):
    folder, line = played
    [trail, *_] = trails_in(folder)
    *lived, last = trail.steps[: line.turn + 1]
    dying = replace(trail, rows=(*lived, replace(last, outcome=ActionResult.LOST)))
    with JerichoInterface(find_story(None).path, seed=SEED) as game:
        assert improved_line([dying], None, game, SEED).score < line.score
        assert improved_line([trail], None, game, SEED) == line
        assert improved_line([trail], line, game, SEED) is line


def test_commands_with_another_result_are_no_line(played, caplog):
    folder, line = played
    [trail, *_] = trails_in(folder)
    changed = replace(trail, rows=tuple(replace(row, command="wait") for row in trail.rows))
    with JerichoInterface(find_story(None).path, seed=SEED) as game:
        assert improved_line([changed], line, game, SEED) is line
        assert improved_line([changed], None, game, SEED) is None
    assert "the best commands had another result" in caplog.text


def test_player_follows_the_requested_number_of_steps(played, tmp_path):
    _, line = played
    turns, prompts = follow(tmp_path, line, "FOLLOW 3", "look", "FOLLOW", turns=len(line.steps) + 2)
    actions = [step.action for step in line.steps]
    assert [turn.transition.action for turn in turns] == [*actions[:3], "look", *actions[3:], "look"]
    by = ["best line"] * 3 + ["model"] + ["best line"] * (len(actions) - 3) + ["model"]
    assert [turn.player for turn in turns] == by
    assert len(prompts) == 4
    assert turns[-1].after.score == line.score
    assert "The best line was followed for 3 turns" in prompts[1]
    assert "The best line was followed for 3 turns" not in prompts[2]


def test_following_stops_at_the_first_difference(played, tmp_path):
    _, line = played
    other = replace(line, digests=(*line.digests[:2], "elsewhere", *line.digests[3:]))
    turns, prompts = follow(tmp_path, other, "FOLLOW", turns=3)
    assert [turn.player for turn in turns] == ["best line", "best line", "model"]
    assert f"'{line.steps[1].action}' led to another state than before" in prompts[1]


def test_line_ends_before_a_deadly_move_after_leaving_it(played, tmp_path):
    _, line = played
    with a_run(tmp_path, turns=1, seed=SEED) as run:
        run.play_episode()
    place, deadly = line.steps[1].location_id, line.steps[2].action
    state = json.loads((tmp_path / MAP_FILE).read_text())
    state["other_moves"].append({"from": place, "way": exit_name(deadly), "to": place, "kind": "died", "times": 1})
    (tmp_path / MAP_FILE).write_text(json.dumps(state))
    save_line(tmp_path / BEST_LINE_FILE, line)
    with model_run(tmp_path) as run:
        run.reset_episode()
        manager = next(each for each in run.managers.in_order if isinstance(each, BestLineManager))
        now = run.services.game.observe()
        assert len(manager.ahead(now).steps) == len(line.steps)
        run.process_turn("look")
        assert [step.action for step in manager.ahead(now).steps] == [step.action for step in line.steps[:2]]


def test_follow_without_a_matching_line_is_sent_to_the_game(played, tmp_path):
    _, line = played
    turns, _ = follow(tmp_path, replace(line, digests=("elsewhere",) * len(line.digests)), "FOLLOW", turns=1)
    assert [(turn.transition.action.lower(), turn.player) for turn in turns] == [("follow", "model")]


@pytest.mark.parametrize("content", ["", "{}", '{"version": 0}'])
def test_damaged_line_file_is_replaced(content, played, tmp_path):
    folder = shutil.copytree(played[0], tmp_path / "copy")
    (folder / BEST_LINE_FILE).write_text(content)
    with model_run(folder) as run:
        run.reset_episode()
    assert saved_line(folder).episode == 1


def test_no_line_is_saved_without_memory(tmp_path):
    with a_run(tmp_path, turns=30, seed=SEED, remember=False) as run:
        run.play_episode()
    with model_run(tmp_path, remember=False) as run:
        run.reset_episode()
    assert not (tmp_path / BEST_LINE_FILE).exists()


def test_line_of_another_seed_is_ignored(played):
    folder, _ = played
    assert load_line(folder / BEST_LINE_FILE, find_story(None).sha256, SEED + 1) is None


def test_resumed_episode_continues_to_follow(played, tmp_path):
    _, line = played
    save_line(tmp_path / BEST_LINE_FILE, line)
    with model_run(tmp_path, model_answering("FOLLOW 5"), turns=7) as run:
        run.reset_episode()
        for _ in range(2):
            run.process_turn()
        run.managers.checkpoints.release()
        with model_run(tmp_path, turns=7) as resumed:
            resumed.play_episode(resume=1)
    assert [turn.player for turn in turns_of(tmp_path, 1)] == ["best line"] * 5 + ["model"] * 2
