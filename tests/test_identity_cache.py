"""Tests of caching by identity."""

from zorkgpt.identity_cache import MAX_ENTRIES, cached_by_identity


def test_function_is_called_once_per_object():
    calls = []

    @cached_by_identity
    def form(one):
        calls.append(one)
        return [*one]

    first, equal = [1], [1]
    assert form(first) is form(first)
    assert form(equal) == form(first)
    assert form(equal) is not form(first)
    assert calls == [[1], [1]]


def test_short_lived_objects_are_not_confused():
    form = cached_by_identity(lambda one: one[0])
    numbers = range(MAX_ENTRIES + 100)
    assert [form([number]) for number in numbers] == [*numbers]
