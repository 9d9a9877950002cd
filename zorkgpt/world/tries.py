"""The actions that failed at a place and those that opened its exits, and the untried things of all places."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from zorkgpt.directions import canonical_direction
from zorkgpt.record.experience import ActionResult, Experience, Place


@dataclass(frozen=True, slots=True)
class PlaceTries:
    """What the actions at one place led to, in all episodes."""

    failed: Mapping[str, str] = field(default_factory=dict)
    """Action → the response, for actions whose last try had no effect and that had none before in that episode."""
    opened_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Exit → the actions with an effect that preceded every opening: after it led nowhere and before it worked."""


def tries_at(experience: Experience, place: Place) -> PlaceTries:
    """Return what the actions at a place led to."""
    failed: dict[str, str] = {}
    opened_by: dict[str, tuple[str, ...]] = {}
    did_not_open: dict[str, set[str]] = {}
    for _, rows in groupby(experience.at(place), key=attrgetter("episode")):
        worked: set[str] = set()
        openers: dict[str, None] = {}
        for row in rows:
            action = row.action
            if row.shows(ActionResult.WORKED):
                if canonical_direction(action) and (opened_by.get(action) or action in failed):
                    new = tuple(each for each in openers if each not in did_not_open.get(action, ()))
                    known = opened_by.get(action) or new
                    opened_by[action] = tuple(each for each in known if each in new) or known
                failed.pop(action, None)
                did_not_open.pop(action, None)
                worked.add(action)
                # Walking opens no exit.
                if canonical_direction(action) is None:
                    openers[action] = None
            elif row.shows(ActionResult.UNCHANGED) and action not in worked:
                # An action that has worked before fails now because it is done already.
                failed[action] = row.response
                did_not_open.setdefault(action, set()).update(openers)
    return PlaceTries(failed, {way: actions for way, actions in opened_by.items() if actions})


def untried_things(experience: Experience, carried: Collection[int] = ()) -> dict[Place, tuple[str, ...]]:
    """Return place → the names of the things there that no action has named or changed.

    A thing is where it was last seen, unless the player has looked there without seeing it.

    Args:
        carried: The numbers of things to leave out.
    """
    seen: dict[int, tuple[Place, str]] = {}
    for place, row in experience.latest.items():
        seen |= {number: (place, name) for number, name in row.seen}
    untried: dict[Place, set[str]] = {}
    for number in seen.keys() - experience.tried - set(carried):
        place, name = seen[number]
        untried.setdefault(place, set()).add(name)
    return {place: tuple(sorted(names)) for place, names in untried.items()}
