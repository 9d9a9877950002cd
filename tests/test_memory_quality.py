"""Tests of the memory quality benchmark in the bundled story."""

import pytest

from benchmarks.memory_quality import play
from benchmarks.memory_verdicts import Worth, contradictions, judge, taught_in
from benchmarks.replay import Replay
from game_interface.core.jericho_interface import JerichoInterface
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move

SEED = 1
TO_THE_GARDEN = ["north", "north", "east", "take wooden clapper", "northwest"]
INTO_THE_HOUSE = ["south", "examine small window", "open small window", "south", "south", "open sea chest"]
NOTHING = "Ep1, T1, +0, action: {} → nothing"
CLAPPER = "Ep1, T4, +2, action: take wooden clapper → changed"
TAKEN = "Ep1, T1, +0, action: take copper penny → changed"
ON_THE_GREEN = ["north", "west", "west", "west", "west"]


@pytest.fixture(scope="module")
def replay(bundled_story):
    with JerichoInterface(bundled_story, seed=SEED) as game:
        yield Replay(game, {1: [*TO_THE_GARDEN, *INTO_THE_HOUSE], 2: ON_THE_GREEN})


@pytest.fixture(scope="module")
def places(replay):
    found = {}
    for step in replay.steps.values():
        for location in (step.before.location, step.after.location):
            found.setdefault(location.name, location.num)
    return found


@pytest.fixture(scope="module")
def things(replay):
    view = replay.game.ram
    return {view.name(number): number for number in range(1, view.machine.object_count + 1)}


@pytest.fixture
def graph(replay):
    """The map of the recorded run."""
    graph = MapGraph()
    for step in replay.steps.values():
        if step.before.location != step.after.location:
            graph.add_move(Move(step.before.location.num, step.action, step.after.location.num))
    return graph


@pytest.fixture
def verdicts(replay, graph, places, tmp_path):
    """Return a function that judges a `Memories.md` with these entries per place."""

    def judged(**entries: str):
        text = "# Location Memories\n"
        for place, written in entries.items():
            name = place.replace("_", " ")
            text += (
                f"\n## Location {places[name]}: {name}\n**Visits:** 1 | **Episodes:** 1\n\n### Memories\n\n{written}\n"
            )
        (tmp_path / "Memories.md").write_text(text, encoding="utf-8")
        with SimpleMemoryManager.open(tmp_path) as manager:
            memories = manager.all_memories()
            taught = taught_in(manager.store.journal)
        return judge(memories, replay, graph, taught)

    return judged


def entry(head: str, title: str, text: str, meta: str = "Ep1, T1, +0") -> str:
    return f"**[{head}] {title}** *({meta})*\n{text}\n\n"


def worths(found) -> list[Worth]:
    return [verdict.worth for verdict in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("category", "meta"),
    [
        pytest.param("FAILURE", "+0, action: north → nothing", id="an existing exit"),
        pytest.param("SUCCESS", "+5, action: take copper penny → changed", id="no points"),
        pytest.param("SUCCESS", "+0, action: up → to 36", id="a missing exit"),
        pytest.param("SUCCESS", "+0, action: north → to 65", id="another destination"),
        pytest.param("DANGER", "+0, action: north → died", id="not deadly"),
    ],
)
def test_memory_with_another_outcome_is_false(verdicts, category, meta):
    (verdict,) = verdicts(Causeway_End=entry(f"{category} - PERMANENT", "A title", "A text.", f"Ep1, T1, {meta}"))

    assert verdict.worth is Worth.FALSE, verdict.why


def test_fields_count_more_than_the_title(verdicts, places):
    meta = f"Ep1, T1, +0, action: north → to {places['Front Yard']}"

    (verdict,) = verdicts(Causeway_End=entry("SUCCESS - PERMANENT", "The way to the house", "Go north.", meta))

    assert verdict.worth is Worth.FALSE
    assert "Hollow Lane" in verdict.why


def test_missing_exit_and_refusal_are_trivial(verdicts):
    found = verdicts(
        Causeway_End=entry("FAILURE - PERMANENT", "No way up", "You can't go that way.", NOTHING.format("up"))
        + entry("FAILURE - PERMANENT", "Push it", "You're unable to.", NOTHING.format("push milestone")),
    )

    assert worths(found) == [Worth.TRIVIAL, Worth.TRIVIAL]


def test_refusal_of_one_thing_is_a_hint(verdicts):
    (verdict,) = verdicts(
        Front_Yard=entry("FAILURE - PERMANENT", "The front door", "It is nailed shut.", NOTHING.format("north"))
    )

    assert (verdict.worth, verdict.why) == (Worth.USEFUL, "hint")


def plain_way(places) -> str:
    meta = f"Ep1, T1, +0, action: north → to {places['Hollow Lane']}"
    return entry("SUCCESS - PERMANENT", "north → Hollow Lane", "A lane.", meta)


def test_plain_exit_on_the_map_is_trivial(verdicts, places):
    (verdict,) = verdicts(Causeway_End=plain_way(places))

    assert verdict.worth is Worth.TRIVIAL


def test_plain_exit_that_is_not_on_the_map_is_useful(verdicts, graph, places):
    graph.clear()

    (verdict,) = verdicts(Causeway_End=plain_way(places))

    assert (verdict.worth, verdict.why) == (Worth.USEFUL, "way")


def test_two_outcomes_contradict(verdicts):
    found = verdicts(
        Orchard=entry("SUCCESS - PERMANENT", "The clapper: +2 points", "Taken.", CLAPPER)
        + entry(
            "NOTE - PERMANENT", "The clapper", "It is out of reach.", "Ep1, T4, +0, action: take wooden clapper → to 3"
        )
    )

    assert worths(found) == [Worth.CONTRADICTING, Worth.FALSE]
    assert len(contradictions([verdict.located for verdict in found])) == 1


def test_outcomes_in_two_states_do_not_contradict(verdicts, things):
    window = things["small window"]
    found = verdicts(
        Back_Garden=entry(
            "NOTE - PERMANENT", "Shut", "It is shut.", f"Ep1, T6, +0, action: south → nothing, when: {window} closed"
        )
        + entry("NOTE - PERMANENT", "In", "The way in.", f"Ep1, T9, +5, action: south, when: {window} open"),
    )

    assert worths(found) == [Worth.USEFUL, Worth.USEFUL]
    assert not any(verdict.conditional for verdict in found)


def test_false_outcome_in_a_named_state_is_false(verdicts, things):
    meta = f"Ep1, T6, +0, action: south → nothing, when: {things['small window']} open"

    (verdict,) = verdicts(Back_Garden=entry("FAILURE - PERMANENT", "No way in", "The window is shut.", meta))

    assert verdict.worth is Worth.FALSE
    assert "Kitchen" in verdict.why


def test_scoring_action_is_useful(verdicts):
    written = entry("SUCCESS - PERMANENT", "The clapper: +2 points", "Taken.", CLAPPER)

    (verdict,) = verdicts(Orchard=written)

    assert (verdict.worth, verdict.why, verdict.conditional) == (Worth.USEFUL, "scores", "")


def test_action_with_unnamed_preparation_is_conditional(verdicts):
    written = entry(
        "SUCCESS - PERMANENT", "South: +5 points", "Leads to Kitchen.", "Ep1, T9, +5, action: south → to 65"
    )

    (verdict,) = verdicts(Back_Garden=written)

    assert (verdict.worth, verdict.why) == (Worth.USEFUL, "scores")
    assert verdict.conditional.startswith("nothing")


def test_same_action_and_outcome_is_repeated(verdicts):
    found = verdicts(
        Causeway_End=entry("SUCCESS - PERMANENT", "The penny", "Taken.", TAKEN)
        + entry("SUCCESS - PERMANENT", "A coin", "You have it now.", TAKEN)
    )

    assert worths(found) == [Worth.USEFUL, Worth.REPEATED]


def test_core_claims_are_audited(verdicts, things):
    penny, milestone, clapper = things["copper penny"], things["milestone"], things["wooden clapper"]
    found = verdicts(
        Causeway_End=entry(
            "DISCOVERY - CORE", "A penny", "It lies on the milestone.", f"Ep1, T0, +0, claims: {penny} on {milestone}"
        )
        + entry("DISCOVERY - CORE", "A clapper", "It lies here.", f"Ep1, T0, +0, claims: {clapper} here")
    )

    assert worths(found) == [Worth.USEFUL, Worth.FALSE]
    assert all(verdict.by_claims for verdict in found)


def test_later_position_without_a_state_is_false(verdicts, things):
    penny = things["copper penny"]
    meta = f"Ep1, T1, +0, action: take copper penny → changed, claims: {penny} here"

    (verdict,) = verdicts(Causeway_End=entry("SUCCESS - PERMANENT", "Penny", "The penny lies on the ground.", meta))

    assert verdict.worth is Worth.FALSE
    assert "when an episode begins" in verdict.why


def test_first_sight_without_names_is_trivial(verdicts):
    found = verdicts(
        Causeway_End=entry("DISCOVERY - CORE", "Initial contents", "The sea is grey, and a lane leads north.")
        + entry("DISCOVERY - CORE", "Initial contents", "There is a penny.")
    )

    assert worths(found) == [Worth.TRIVIAL, Worth.NOT_CHECKABLE]


def test_superseded_memory_is_not_judged(verdicts):
    assert verdicts(Causeway_End=entry("FAILURE - PERMANENT - SUPERSEDED", "North", "~~No way.~~")) == []


@pytest.mark.slow
def test_replayed_run_gives_the_same_figures(tmp_path):
    first, second = (play(None, SEED, 2, 30, remember=True, keep=str(tmp_path / name)) for name in ("scored", "other"))

    assert first == second
    assert first.replay_differs == []
    assert first.memories
    assert [scored.action for scored in first.scoring if scored.remembered]
