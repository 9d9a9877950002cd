"""The function is called once for each object, and no object is taken for another."""

from zorkgpt.identity_cache import MAX_ENTRIES, cached_by_identity


def test_the_same_object_is_asked_for_once_and_another_one_anew():
    asked = []

    @cached_by_identity
    def form(one):
        asked.append(one)
        return [*one]

    first, equal = [1], [1]
    assert form(first) is form(first)
    assert form(equal) == form(first)
    assert form(equal) is not form(first)
    assert asked == [[1], [1]]


def test_short_lived_objects_are_never_taken_for_each_other():
    form = cached_by_identity(lambda one: one[0])
    numbers = range(MAX_ENTRIES + 100)
    assert [form([number]) for number in numbers] == [*numbers]
