"""Tests of the agent's prompt before every turn of both walkthroughs, against the real interpreter."""

import re
from collections import Counter

import pytest

from tests.fixtures.prompt_checklist import PromptedRun, PromptedTurn, named_in, prompted_run, section
from tests.fixtures.true_moves import WALKTHROUGHS, true_moves
from zorkgpt.directions import DIRECTIONS
from zorkgpt.memory.claims import STATES

LEAST = 0.95


@pytest.fixture(scope="module", params=list(WALKTHROUGHS))
def played(request, tmp_path_factory) -> PromptedRun:
    seed, walkthrough, _ = WALKTHROUGHS[request.param]
    return prompted_run(tmp_path_factory.mktemp("run"), request.getfixturevalue(request.param), walkthrough(), seed)


@pytest.fixture(scope="module")
def turns(played) -> list[PromptedTurn]:
    return played.turns


@pytest.mark.slow
def test_map_has_exactly_the_true_moves(played, request):
    name = request.node.callspec.params["played"]
    true = true_moves(name, request.getfixturevalue(name))
    assert len(true) == {"bundled_story": 61, "zork1": 243}[name]
    assert played.moves == Counter(true)


@pytest.mark.slow
def test_named_and_possible_exits_are_listed(turns):
    wanted = listed = 0
    for turn in (turn for turn in turns if turn.moves is not None):
        _, _, below_the_name = turn.description.partition("\n")
        named = named_in(below_the_name) & turn.moves if not turn.context.observation.dark else frozenset()
        wanted += len(named)
        listed += len(named & turn.ways.keys())
    assert wanted > 90
    print(f"recall of exits: {listed} of {wanted}")
    assert listed >= LEAST * wanted


@pytest.mark.slow
def test_listed_exits_exist_or_are_marked_as_doubtful(turns):
    listed = right = 0
    for turn in (turn for turn in turns if turn.moves is not None):
        sure = {way for way, line in turn.ways.items() if "not walked yet" not in line and "unreliable" not in line}
        offered = sure & set(DIRECTIONS)
        listed += len(offered)
        right += len(offered & (turn.moves | turn.closed))
    assert listed > 80
    print(f"precision of exits: {right} of {listed}")
    assert right >= LEAST * listed


@pytest.mark.slow
def test_changes_of_score_and_visible_things_are_shown(turns):
    scores = changes = 0
    for turn in turns:
        if turn.after is None:
            continue
        step, history = turn.after.transition, section(turn.prompt, "## The episode so far")
        changed_line = next((line for line in reversed(history.splitlines()) if line.startswith("Changed: ")), "")
        if step.before.score != step.after.score:
            scores += 1
            assert f"score {step.after.score - step.before.score:+}" in changed_line
        seen = {
            item.num
            for observation in (step.before, step.after)
            for item in (*(observation.visible or ()), *(observation.carried or ()))
        }
        for change in step.changed:
            if change.attribute in STATES and change.number in seen and not change.by_itself:
                changes += 1
                assert f"{change.name}: " in changed_line
        held, holds = (
            {item.num: item.name for item in observation.inventory or ()} for observation in (step.before, step.after)
        )
        for number in held.keys() ^ holds.keys():
            changes += 1
            assert (held | holds)[number] in changed_line
    assert scores > 15
    assert changes > 20


@pytest.mark.slow
def test_no_turn_is_shown_twice(turns):
    for turn in turns:
        numbers = [int(number) for number in re.findall(r"^Turn (\d+), ", turn.prompt, re.MULTILINE)]
        assert numbers == list(range(turn.context.turn - len(numbers), turn.context.turn))
        assert "## What the game says now" not in turn.prompt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heading", "name"),
    [("## Objectives", "objectives"), ("## Knowledge of this game from earlier turns", "knowledge")],
)
def test_objectives_and_knowledge_are_shown_once(turns, heading, name):
    checked = 0
    for turn in turns:
        given = getattr(turn.context, name)
        lines = section(turn.prompt, heading).splitlines()
        shown = [line for line in lines if re.match(r"(- |\d+\. )", line)]
        left_out = re.search(r"^\((\d+) more", "\n".join(lines), re.MULTILINE)
        assert len(set(shown)) == len(shown)
        assert len(set(given)) == len(given)
        assert len(shown) + (int(left_out[1]) if left_out else 0) == len(given)
        checked += len(shown)
    assert checked > 5
