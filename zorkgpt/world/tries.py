"""The actions that failed at a place and those that opened its exits, and the untried things of all places."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from game_interface.models import Item, Observation
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


def things_seen(experience: Experience, now: Observation) -> dict[Place, tuple[Item, ...]]:
    """Return place → the things that were last seen there and not elsewhere since, without those carried."""
    seen: dict[Place, tuple[tuple[int, str], ...]] = {
        now.location_id: tuple((item.num, item.name) for item in now.visible or ())
    }
    seen |= {place: row.seen for place, row in reversed(experience.latest.items()) if place not in seen}
    found, things = {item.num for item in now.carried or now.inventory or ()}, dict[Place, tuple[Item, ...]]()
    for place, there in seen.items():
        things[place] = tuple(Item(number, name) for number, name in there if number not in found)
        found.update(number for number, _ in there)
    return things


def untried_things(experience: Experience, now: Observation) -> dict[Place, tuple[str, ...]]:
    """Return place → the names of the things there that no action has named, moved or changed."""
    return {
        place: tuple(sorted({item.name for item in there if item.num not in experience.tried}))
        for place, there in things_seen(experience, now).items()
    }
