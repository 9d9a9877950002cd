"""Ways without their detours."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.trails import a_step, a_trail
from zorkgpt.explore.replay import shortenings
from zorkgpt.explore.trail import Trail


def shortened(trail: Trail) -> list[str]:
    *_, kept = shortenings(trail.start, trail.steps)
    return [trail.steps[index].action for index in kept]


def test_what_changed_nothing_is_left_out():
    assert shortened(a_trail("look > 1", "push wall > 1", "north > 2", "jump > 2")) == ["north"]


def test_a_walk_that_comes_back_is_left_out():
    assert shortened(a_trail("north > 2", "east > 3", "south > 1", "west > 4")) == ["west"]
    assert shortened(a_trail("north > 2", "east > 3", "west > 2", "up > 5")) == ["north", "up"]


def test_what_was_done_on_the_way_is_kept_with_the_way_to_it():
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


def test_being_carried_off_is_part_of_the_way():
    assert shortened(a_trail("wait > 7", "north > 8")) == ["wait", "north"]


@given(
    st.lists(
        st.builds(lambda place, acts: a_step(f"go > {place}", effective=acts), st.integers(1, 4), st.booleans()),
        max_size=30,
    )
)
def test_a_shortened_way_does_all_that_was_done_and_ends_where_the_whole_one_does(steps):
    trail = a_trail(*steps)
    ways = list(shortenings(trail.start, trail.steps))
    assert len(ways) == len(steps)
    for end, kept in enumerate(ways, 1):
        assert list(kept) == sorted(set(kept))
        assert {index for index in range(end) if steps[index].effective} <= set(kept)
        last = steps[kept[-1]].standing.place if kept else trail.start
        assert last == steps[end - 1].standing.place
        # Between two steps that did something no place is passed twice.
        passed = [trail.start]
        for index in kept:
            passed = [] if steps[index].effective else passed
            assert steps[index].standing.place not in passed
            passed.append(steps[index].standing.place)
