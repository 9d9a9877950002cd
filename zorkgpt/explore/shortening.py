"""A way without its detours: what changed nothing, and walks that came back to where they began, are left out."""

from collections.abc import Iterator, Sequence

from zorkgpt.explore.trail import Step


def shortenings(start: int | None, steps: Sequence[Step]) -> Iterator[tuple[int, ...]]:
    """For each step the indices of the steps that should lead to the same standing, in order.

    Kept is what itself changed something, and the shortest part of the walk between two such steps. That it leads to
    the same is an assumption: clocks and the random generator have advanced less, and a change that no object shows is
    taken for none. Whoever plays a shortened way compares.

    Args:
        start: number of the room before the first step.
    """
    kept: list[int] = []
    passed: list[int | None] = [start]
    """The places on the walk since the last effective step, the one where it was taken first."""
    before = start
    for index, step in enumerate(steps):
        place = step.standing.place
        if step.effective:
            kept.append(index)
            passed = [place]
        elif place != before:
            if place in passed:
                back = len(passed) - 1 - passed.index(place)
                del kept[len(kept) - back :]
                del passed[len(passed) - back :]
            else:
                kept.append(index)
                passed.append(place)
        before = place
        yield tuple(kept)
