"""Actions that take priority over exploration, chosen by rules that hold for any game."""

import re
from collections.abc import Collection, Iterator
from itertools import chain

from game_interface.models import Observation, Scene
from zorkgpt.offline.candidates import Nouns, words_of
from zorkgpt.offline.dangers import LostFights
from zorkgpt.offline.phrases import is_hostile, is_laden
from zorkgpt.offline.state import ExplorerState, LastTurn
from zorkgpt.player import PlayerContext
from zorkgpt.world.directions import OPPOSITE, canonical_direction

_MAX_BLOWS = 15
"""The most blows against one enemy with one weapon."""
_SAME_REPLIES = 3
"""After how many equal replies in a row an attack counts as useless: chance would have told something else."""
_MAX_DROPS = 4
"""How often in an episode the same thing is laid down because too much is carried."""


def names_of_held(now: Observation, nouns: Nouns) -> tuple[str, ...]:
    return tuple(name for item in now.inventory or () if (name := nouns.name(item)))


def update_after_last_turn(state: ExplorerState, here: int, context: PlayerContext, held: tuple[str, ...]) -> None:
    """Update the state from the result of the last turn.

    Args:
        held: what is carried now.
    """
    state.wanted = state.take_back = None
    if state.last is None:
        return
    last, stayed = state.last, state.last.place == here
    scored = _scored(last, context)
    verb, _, rest = last.action.partition(" ")
    if verb == "attack":
        enemy, said = rest.partition(" with ")[0], context.response.strip().partition("\n")[0]
        before, times = state.replies.get(enemy, ("", 0))
        state.replies[enemy] = said, times + 1 if said == before else 1
    if verb == "take":
        if scored:
            state.valued.add(rest)
        if stayed and is_laden(context.response):
            state.wanted = last.action
    elif verb == "put":
        thing = re.split(" (?:in|on) ", rest)[0]
        if scored:
            # It scored there, so it stays there.
            state.given_up.add(thing)
        elif stayed and thing not in held:
            state.take_back = thing
    elif stayed and (canonical_direction(last.action) or state.walking) and is_laden(context.response):
        state.wanted = last.action
    elif last.action.startswith("turn on ") and context.changed:
        state.lamp = last.action.removeprefix("turn on ")
        state.useful.add(state.lamp)
    way = canonical_direction(last.action)
    if way and not stayed:
        state.way_back = OPPOSITE[way]


def _scored(last: LastTurn, context: PlayerContext) -> bool:
    now = context.observation.score
    return last.score is not None and now is not None and now > last.score


def next_blow(
    state: ExplorerState,
    context: PlayerContext,
    nouns: Nouns,
    scene: Scene | None,
    lost: LostFights,
) -> str | None:
    """Return the next blow of a fight; None if there is no enemy, no weapon or no use in it."""
    if scene is None:
        return None
    weapons = [
        name
        for item in context.observation.inventory or ()
        if scene.attributes.get(item.num, {}).get("weapon") and (name := nouns.name(item))
    ]
    for enemy in _enemies(state, context, nouns, scene, lost.killers):
        if enemy in lost.roaming or state.replies.get(enemy, ("", 0))[1] >= _SAME_REPLIES:
            continue
        strikes = [f"attack {enemy} with {weapon}" for weapon in weapons]
        for strike in sorted(strikes, key=lambda one: one in lost.fatal):
            if strike not in lost.hopeless and state.blows.get(strike, 0) < _MAX_BLOWS:
                state.blows[strike] = state.blows.get(strike, 0) + 1
                return strike
    return None


def is_threatened(
    state: ExplorerState, context: PlayerContext, nouns: Nouns, scene: Scene | None, lost: LostFights
) -> bool:
    """Return whether a creature here is hostile."""
    return scene is not None and any(_enemies(state, context, nouns, scene, lost.killers))


def weapon_in_sight(context: PlayerContext, nouns: Nouns, scene: Scene | None) -> str | None:
    """Return a weapon that lies here, if the player holds none."""
    if scene is None:
        return None
    told, now = scene.attributes, context.observation
    if any(told.get(item.num, {}).get("weapon") for item in now.inventory or ()):
        return None
    for item in now.visible or ():
        # A weapon that a creature wields can't be taken.
        free = not told.get(item.parent, {}).get("animate")
        if free and told.get(item.num, {}).get("weapon") and (name := nouns.name(item)):
            return name
    return None


def _enemies(
    state: ExplorerState, context: PlayerContext, nouns: Nouns, scene: Scene, killers: Collection[str]
) -> Iterator[str]:
    """Yield the creatures that the text calls hostile, or did at this place; those struck last, and known killers."""
    said = words_of(context.response) if is_hostile(context.response) else []
    struck = state.last.action if state.last else ""
    place = context.observation.location.num if context.observation.location else 0
    for being in context.observation.visible or ():
        name = nouns.name(being)
        if not name or not scene.attributes.get(being.num, {}).get("animate"):
            continue
        known = state.foes.get(place, [])
        if name in known or name in killers or name.split()[-1] in said or struck.startswith(f"attack {name} "):
            if name not in known:
                state.foes[place] = [*known, name]
            yield name


def item_to_drop(state: ExplorerState, context: PlayerContext, nouns: Nouns, scene: Scene | None) -> str | None:
    """Return a carried thing that was of no use so far, if too much was carried for the last action.

    Where it was an exit, a tool is left behind too, and of several things that were worth points one; but no light.
    """
    if state.wanted is None:
        return None
    tools: list[str] = []
    valued: list[str] = []
    for item in context.observation.inventory or ():
        name, told = nouns.name(item), scene.attributes.get(item.num, {}) if scene else {}
        if not name or name in state.useful or told.get("light") or state.openings.get(f"drop {name}", 0) >= _MAX_DROPS:
            continue
        if name in state.valued:
            valued.append(name)
        elif not (told.get("weapon") or told.get("tool")):
            return name
        else:
            tools.append(name)
    if state.wanted.startswith("take "):
        return None
    return next(chain(tools, valued[1:]), None)


def is_stuck_aboard(state: ExplorerState, here: int, context: PlayerContext) -> bool:
    """Return whether a direction was tried in a vehicle and led nowhere."""
    last = state.last
    if context.observation.vehicle is None or last is None or last.place != here or not last.aboard:
        return False
    return canonical_direction(last.action) not in (None, "out")
