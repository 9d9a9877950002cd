"""Tests of place keys in database columns."""

from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.memory.models import GAME, KNOWLEDGE, Thing
from zorkgpt.memory.places import checked_place, column_of, has_prefix, place_in, ranges_of

NUMBERS = st.integers(-(10**18) + 1, 10**18 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\U0010ffff"), min_size=1)
ELEMENTS = NUMBERS | st.sampled_from(["a", "ab", "b", "7", "é"]) | TEXTS.filter(str.strip)
PLACES = (ELEMENTS | st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple)).map(checked_place)
SUBJECTS = PLACES | st.integers(0, 10**18 - 1).map(Thing) | st.sampled_from([GAME, KNOWLEDGE])


@given(SUBJECTS)
def test_column_is_read_back(subject):
    assert place_in(column_of(subject)) == subject


@given(SUBJECTS, SUBJECTS)
def test_columns_sort_like_places(one, other):
    is_first = sort_key(one) < sort_key(other)
    assert (column_of(one) < column_of(other)) is is_first
    assert (column_of(one).encode() < column_of(other).encode()) is is_first


def sort_key(subject):
    match subject:
        case int():
            return 0, subject
        case str():
            return 1, subject
        case tuple():
            return 2, tuple((isinstance(each, str), each) for each in subject)
        case Thing():
            return 3, subject.number
    return 4, subject is KNOWLEDGE


@given(SUBJECTS, st.sampled_from(["", "a", "ab"]) | st.lists(ELEMENTS, max_size=2).map(tuple))
def test_prefix_ranges_contain_exactly_the_places_with_the_prefix(subject, prefix):
    column = column_of(subject).encode()
    is_inside = any(first.encode() <= column < end.encode() for first, end in ranges_of(prefix))
    assert is_inside == has_prefix(subject, prefix)
