"""Tests of the scoring plan, which repeats what scored in earlier episodes."""

import shutil
from dataclasses import replace

import pytest

from session.history import TurnRecord
from tests.fixtures.runs import CtrlC, a_run, turns_of
from tests.fixtures.trails import a_step, a_trail
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import Memory
from zorkgpt.offline.outcomes import ActionOutcome, remembered_outcome
from zorkgpt.offline.scoring_plan import ScoringPlan, ScoringStep, scoring_steps
from zorkgpt.runlog.episodes import count_failures, read_episode
from zorkgpt.runlog.events import EpisodeEnded, LeftToTry

TREASURE = (
    a_step("take leaflet > 1", held=("leaflet",), effective=True),
    a_step("north > 2", held=("leaflet",)),
    a_step("take brass key > 2", held=("brass key", "leaflet"), effective=True),
    a_step("wait > 2", held=("brass key", "leaflet")),
    a_step("unlock chest with key > 2", held=("brass key", "leaflet"), effective=True),
    a_step("take gold > 2", score=10, held=("brass key", "gold", "leaflet"), effective=True),
    a_step("drop leaflet > 2", score=10, held=("brass key", "gold"), effective=True),
)
ROUTES = {1: [], 2: ["north"], 3: ["south"]}


def actions(steps) -> list[str]:
    return [step.action for step in steps]


def safe(step: ScoringStep) -> bool:
    return True


def carry_out(
    plan: ScoringPlan, *, place: int = 1, failing: tuple[str, ...] = (), held: tuple[str, ...] = ()
) -> list[str]:
    """Carry out a plan. Every step is reached at once and works as before, unless it is failing."""
    done = []
    while len(done) < 30 and (next_step := plan.next(place, held, ROUTES, safe)):
        step = next_step[0]
        place = step.place
        done.append(step.action)
        if step.action not in failing:
            held = (*held, *step.yields)
        plan.note(step.place, step.action, failed=step.action in failing)
    return done


def test_plan_contains_what_led_to_the_last_points():
    steps = scoring_steps(a_trail(*TREASURE))
    assert actions(steps) == ["take brass key", "unlock chest with key", "take gold"]
    assert [step.needed for step in steps] == [True, False, True]
    assert steps[-1] == ScoringStep(2, "take gold", 10, yields=("gold",))


def test_no_plan_without_points():
    assert scoring_steps(a_trail("north > 2", "south > 1")) == ()
    assert carry_out(ScoringPlan()) == []


def test_unneeded_steps_are_left_out():
    assert carry_out(ScoringPlan(scoring_steps(a_trail(*TREASURE)))) == [
        "take brass key",
        "unlock chest with key",
        "take gold",
    ]


def test_step_with_unmet_condition_is_postponed():
    key = ScoringStep(2, "take key", 0, yields=("key",))
    chest = ScoringStep(1, "unlock chest with key", 7, held=("key",))
    plan = ScoringPlan([chest, key, ScoringStep(3, "take pearl", 5)])
    assert plan.next(1, (), ROUTES, safe) == (key, ["north"])
    plan.note(2, "take key", failed=False)
    assert plan.next(2, ("key",), {**ROUTES, 1: ["south"]}, safe) == (chest, ["south"])


@pytest.mark.parametrize("where", [{1: []}, {1: [], 2: ["north"]}])
def test_unreachable_step_is_skipped(where):
    plan = ScoringPlan([ScoringStep(3, "take pearl", 5), ScoringStep(2, "take gold", 5)])
    found = plan.next(1, (), where, safe)
    assert (found and found[0].action) == ("take gold" if 2 in where else None)


def test_failed_step_is_tried_again_only_after_a_change():
    plan = ScoringPlan(
        [ScoringStep(3, "push rug", 0, needed=False), ScoringStep(1, "down", 25), ScoringStep(2, "x", 1)]
    )
    assert carry_out(plan, failing=("down",)) == ["down", "x", "down", "push rug", "down"]


DARK = (Claim(Relation.DARK),)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"outcome": "died", "category": "DANGER"}, ActionOutcome.KILLS),
        ({"outcome": "died", "category": "DANGER", "when": DARK}, ActionOutcome.KILLS_UNLIT),
        ({"outcome": "changed", "score_change": 5}, ActionOutcome.SCORES),
        ({"outcome": "changed", "claims": (Claim(Relation.CARRIED, 7, "lamp"),)}, ActionOutcome.TAKES),
        ({"outcome": "changed"}, ActionOutcome.WORKS),
        ({"outcome": "to 12"}, ActionOutcome.LEADS),
        ({"outcome": "nothing", "category": "FAILURE"}, ActionOutcome.FAILS),
        ({"category": "FAILURE"}, ActionOutcome.FAILS),
        ({"category": "DANGER"}, ActionOutcome.KILLS),
        ({"category": "SUCCESS"}, ActionOutcome.WORKS),
        ({"category": "SUCCESS", "score_change": 5}, ActionOutcome.SCORES),
    ],
)
def test_outcome_is_read_from_the_fields_of_a_memory(fields, outcome):
    memory = Memory("NOTE", "In a model's own words", 1, "1", 0, "text", "permanent", action="Rub  LAMP")
    assert remembered_outcome(replace(memory, **fields)) == ("rub lamp", outcome)


# In play, on the bundled story

TURNS = 250


def points(turns: list[TurnRecord]) -> dict[tuple[int | None, str], int]:
    scored = (turn for turn in turns if turn.transition.points > 0)
    return {(turn.before.location_id, turn.action): turn.turn for turn in scored}


def turn_reaching(score: int, turns: list[TurnRecord]) -> int:
    """Return the first turn with at least this score. Raises StopIteration if there is none."""
    return next(turn.turn for turn in turns if turn.after.score >= score)


@pytest.fixture(scope="module")
def first_episode(tmp_path_factory):
    return play(tmp_path_factory.mktemp("first"), 1)


@pytest.fixture(scope="module")
def seven_episodes(tmp_path_factory, first_episode):
    return play(shutil.copytree(first_episode, tmp_path_factory.mktemp("seven") / "run"), 6)


def play(workdir, episodes: int, **options):
    with a_run(workdir, turns=TURNS, **options) as run:
        for _ in range(episodes):
            run.play_episode()
    return workdir


@pytest.mark.slow
def test_later_episodes_reach_proven_scores_sooner(seven_episodes):
    earlier, *later = (turns_of(seven_episodes, episode) for episode in (1, 2, 3))
    for turns in later:
        proven = max(turn.after.score for turn in earlier)
        assert proven > 0
        assert turn_reaching(proven, turns) < turn_reaching(proven, earlier)
        earlier = turns


@pytest.mark.slow
def test_proven_points_come_before_anything_new(seven_episodes):
    proven, second = points(turns_of(seven_episodes, 1)), turns_of(seven_episodes, 2)
    last = max(turn for step, turn in points(second).items() if step in proven)
    assert all("earlier episode" in turn.reasoning for turn in second[:last])


@pytest.mark.slow
def test_failed_actions_are_not_repeated_in_later_episodes(seven_episodes):
    counts = list(count_failures(read_episode(seven_episodes, episode) for episode in (1, 2, 3)))
    assert sum(count.failed for count in counts) > 10
    assert all(count.repeated_share < 0.05 for count in counts)


@pytest.mark.slow
def test_episodes_differ_while_something_is_untried(seven_episodes):
    played = [[turn.action for turn in turns_of(seven_episodes, episode)] for episode in (1, 2, 3)]
    assert len(set(map(tuple, played))) == 3
    left = [event for event in read_episode(seven_episodes, 3) if isinstance(event, LeftToTry)]
    assert len(left) == 1
    assert any(left[0].places.values())
    assert set(left[0].places) >= {str(turn.before.location_id) for turn in turns_of(seven_episodes, 3)}


def test_episodes_without_memory_are_identical(tmp_path):
    with a_run(tmp_path, turns=15, remember=False) as run:
        for _ in range(2):
            run.play_episode()
    first, second = ([turn.action for turn in turns_of(tmp_path, episode)] for episode in (1, 2))
    assert first == second


@pytest.mark.slow
def test_bundled_story_is_won_within_ten_episodes(seven_episodes, tmp_path):
    played = [turns_of(seven_episodes, episode) for episode in range(1, 8)]
    scores = [turns[-1].after.score for turns in played]
    assert scores == sorted(scores)
    assert [end_of(seven_episodes, episode).reason == "victory" for episode in (1, 7)] == [False, True]
    forgetful = turns_of(play(tmp_path, 1, remember=False), 1)
    assert forgetful[-1].after.score == scores[0]


def end_of(workdir, episode: int) -> EpisodeEnded:
    return next(event for event in read_episode(workdir, episode) if isinstance(event, EpisodeEnded))


@pytest.mark.slow
def test_interrupted_episode_resumes_its_plan(first_episode, seven_episodes, tmp_path):
    workdir = shutil.copytree(first_episode, tmp_path / "run")
    with a_run(workdir, turns=30, watchers=(CtrlC(5),)) as run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    with a_run(workdir, turns=30) as run:
        run.play_episode(resume=2)
    whole = [turn.action for turn in turns_of(seven_episodes, 2)][:30]
    assert [turn.action for turn in turns_of(workdir, 2)] == whole


@pytest.mark.slow
def test_vetoed_action_is_not_planned(first_episode, tmp_path):
    workdir = shutil.copytree(first_episode, tmp_path / "run")
    (place, action), _ = points(turns_of(workdir, 1)).popitem()
    # The planned actions come before everything else.
    with a_run(workdir, turns=60) as run:
        text = "SUCCESS", "No", 1, "1", 2, "Leave it.", "permanent"
        vetoed = Memory(*text, vetoed=True, action=action, outcome="changed")
        run.simple_memory.add_memory(place, "", vetoed)
        run.play_episode()
    planned = [turn for turn in turns_of(workdir, 2) if "earlier episode" in turn.reasoning]
    assert planned
    assert (place, action) not in [(turn.before.location_id, turn.action) for turn in planned]
