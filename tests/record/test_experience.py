"""Tests of the queries over what actions led to."""

from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.record.experience import Experience, ExperienceRow

FAILED, WORKED = 1, 2
ROWS = st.builds(
    ExperienceRow,
    st.integers(1, 3),
    st.integers(1, 9),
    st.sampled_from([None, 1, "attic"]),
    st.sampled_from(["dig", "north"]),
    st.sampled_from(["", "lit"]),
    st.sampled_from([0, FAILED, WORKED]),
    st.integers(-1, 1),
)


def experience_of(rows: list[ExperienceRow], earlier: Experience | None = None) -> Experience:
    experience = Experience(earlier)
    for row in rows:
        experience.add(row)
    return experience


def test_latest_result_depends_on_the_state():
    dug, lit, north = (
        ExperienceRow(1, 1, 1, "dig", outcome=FAILED),
        ExperienceRow(1, 2, 1, "dig", "lit", outcome=WORKED),
        ExperienceRow(1, 3, 1, "north", outcome=FAILED),
    )
    again = ExperienceRow(1, 4, 1, "dig", outcome=WORKED)
    experience = experience_of([dug, lit, north, again])
    assert list(experience.latest_in(1, "")) == [again, north]
    assert list(experience.latest_in(1, "lit")) == [lit]
    assert list(experience.latest_in(2, "")) == []


@given(st.lists(ROWS), st.lists(ROWS))
def test_queries_select_rows_in_order(earlier: list[ExperienceRow], own: list[ExperienceRow]):
    experience = experience_of(own, experience_of(earlier))
    for row in [*earlier, *own]:
        assert list(experience.at(row.place)) == [each for each in (*earlier, *own) if each.place == row.place]
        taken = [each for each in (*earlier, *own) if each.action == row.action]
        assert experience.count(row.action) == len(taken)
        assert experience.count(row.action, FAILED) == sum(each.shows(FAILED) for each in taken)
        here = [each for each in own if (each.place, each.action) == (row.place, row.action)]
        assert experience.times(row.place, row.action) == len(here)
        assert list(experience.tries(row.place).get(row.action, ())) == here
