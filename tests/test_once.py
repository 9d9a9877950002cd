"""Asked once for each object, and never wrong about which one it is."""

from zorkgpt import once as module
from zorkgpt.once import once


def test_the_same_object_is_asked_for_once_and_another_one_anew():
    asked = []

    @once
    def form(one):
        asked.append(one)
        return [*one]

    first, equal = [1], [1]
    assert form(first) is form(first)
    assert form(equal) == form(first)
    assert form(equal) is not form(first)
    assert asked == [[1], [1]]


def test_short_lived_objects_are_never_taken_for_each_other():
    form = once(lambda one: one[0])
    numbers = range(module.MOST + 100)
    assert [form([number]) for number in numbers] == [*numbers]
