"""Tests of routes without detours, and of following them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.trails import a_step, a_trail
from zorkgpt.explore.replay import MAX_REPAIRS, Journey, ReplayFailures, route_along, shortenings
from zorkgpt.explore.trail import ObservedState, Trail


def shortened(trail: Trail) -> list[str]:
    *_, kept = shortenings(trail.start, trail.steps)
    return [trail.steps[index].action for index in kept]


def test_actions_without_effect_are_omitted():
    assert shortened(a_trail("look > 1", "push wall > 1", "north > 2", "jump > 2")) == ["north"]


def test_walk_in_a_circle_is_omitted():
    assert shortened(a_trail("north > 2", "east > 3", "south > 1", "west > 4")) == ["west"]
    assert shortened(a_trail("north > 2", "east > 3", "west > 2", "up > 5")) == ["north", "up"]


def test_useful_detour_is_kept():
    lamp = a_step("take lamp > 3", held=("lamp",), effective=True)
    trail = a_trail("north > 2", "up > 3", lamp, replace(a_step("down > 2"), standing=lamp.standing), "south > 1")
    assert shortened(a_trail("north > 2", "up > 3", lamp, "down > 2", "south > 1", "west > 4")) == [
        "north",
        "up",
        "take lamp",
        "down",
        "south",
        "west",
    ]
    assert "take lamp" in shortened(trail)


def test_involuntary_move_is_part_of_the_route():
    assert shortened(a_trail("wait > 7", "north > 8")) == ["wait", "north"]


def test_missed_blows_are_kept_with_the_hit():
    hit = a_step("hit ogre > 1", effective=True)
    assert shortened(a_trail("hit ogre > 1", "hit ogre > 1", hit, "sing > 1")) == ["hit ogre", "hit ogre"]


@given(
    st.lists(
        st.builds(lambda place, acts: a_step(f"go > {place}", effective=acts), st.integers(1, 4), st.booleans()),
        max_size=30,
    )
)
def test_shortened_route_has_the_same_effects_and_end(steps):
    steps = [replace(step, action=f"go {number}") for number, step in enumerate(steps)]
    trail = a_trail(*steps)
    ways = list(shortenings(trail.start, trail.steps))
    assert len(ways) == len(steps)
    for end, kept in enumerate(ways, 1):
        assert list(kept) == sorted(set(kept))
        assert {index for index in range(end) if steps[index].effective} <= set(kept)
        last = steps[kept[-1]].standing.place if kept else trail.start
        assert last == steps[end - 1].standing.place
        # No place occurs twice between two effective steps.
        passed = [trail.start]
        for index in kept:
            passed = [] if steps[index].effective else passed
            assert steps[index].standing.place not in passed
            passed.append(steps[index].standing.place)


# Repairs

RING = a_step("take ring > 3", held=("ring",), score=5, effective=True)
ROUTE = route_along(a_trail("north > 2", "east > 3", RING), 3, ReplayFailures(), verbatim_turns=10)


def at(place: int, *held: str, score: int = 0) -> ObservedState:
    return ObservedState(place, held, score)


def followed(journey: Journey, *states: ObservedState) -> list[str]:
    """Return the commands of a journey that reaches these states."""
    played = []
    for now in states:
        played.append(journey.next)
        journey.follow(journey.next, now)
    return played


def test_failed_command_is_repeated():
    journey = Journey(ROUTE)
    played = followed(journey, at(2), at(3), at(3), at(3, "ring", score=5))
    assert played == ["north", "east", "take ring", "take ring"]
    assert journey.arrived
    assert journey.repairs == 1


def test_player_returns_to_the_route_by_the_map():
    journey = Journey(ROUTE, lambda here, there: {(7, 3): ["down", "south"]}.get((here, there)))
    played = followed(journey, at(2), at(7), at(8), at(3), at(3, "ring", score=5))
    assert played == ["north", "east", "down", "south", "take ring"]
    assert journey.arrived


def test_reached_steps_are_skipped():
    journey = Journey(ROUTE)
    assert followed(journey, at(3, "ring", score=5)) == ["north"]
    assert journey.arrived


@pytest.mark.parametrize(
    ("states", "why"),
    [
        ((at(9),), "was not at Room 2"),
        ((at(2), at(2, score=-10)), "was not at Room 3"),
        ((at(2), at(3), *[at(3)] * MAX_REPAIRS, at(3)), "the score was 0 instead of 5"),
    ],
)
def test_journey_is_given_up_if_it_cannot_be_repaired(states, why):
    journey = Journey(ROUTE)
    followed(journey, *states)
    assert why in journey.difference
    assert journey.next is None
    assert not journey.arrived
