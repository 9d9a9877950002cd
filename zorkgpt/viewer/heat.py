"""Visits, deaths and points of each place."""

from zorkgpt.viewer.episode_index import DIED, EpisodeIndex
from zorkgpt.viewer.json_lines import place_address, whole_number


def heat(index: EpisodeIndex) -> dict[str, list[int]]:
    """Return place → [arrivals, deaths, points] of an episode; a death and points count where the action was taken."""
    found: dict[str, list[int]] = {}
    columns = index.columns

    def count(place: int | None, measure: int, amount: int) -> None:
        if place is not None and amount:
            found.setdefault(place_address(place), [0, 0, 0])[measure] += amount

    start = whole_number(index.started.get("location_id"))
    count(columns["places"][0] if start is None and len(index) else start, 0, 1)
    for place, after, marks, gain in zip(
        columns["places"], columns["places_after"], columns["marks"], index.gains, strict=True
    ):
        count(after, 0, after != place)
        count(place, 1, bool(marks & DIED))
        count(place, 2, gain)
    return found
