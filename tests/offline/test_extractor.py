"""Tests of what the rules extract from texts, and from both walkthroughs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Item, Location, Transition
from session.history import Extraction
from tests.fixtures.turns import a_turn
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.offline.extractor import below_the_heading, extracted

HALL = Location(12, "Hall")
CLOCK = Item(8, "clock")
FULL = "Hall\nA wide hall. A passage leads north-east.\n\nThere is a lamp here."
BRIEF = "Hall\nThere is a lamp here."


def read(
    response: str,
    action: str,
    *,
    place: Location = HALL,
    described: str = "",
    creatures: Sequence[str] | None = None,
    **certain,
) -> Extraction:
    """Return what is extracted from a response at a place.

    Args:
        creatures: The names of the visible creatures. None if unknown.
    """
    step = a_turn(1, action, response, place=place, **certain).transition
    alive = None if creatures is None else tuple(Item(number, name) for number, name in enumerate(creatures, 100))
    return extracted(replace(step, after=replace(step.after, creatures=alive)), described)


@pytest.mark.parametrize(
    ("response", "certain", "describes"),
    [
        (FULL, {"action": "north"}, True),
        ("The door slams.\n\n" + FULL, {"action": "north"}, True),
        ("Hall, in the cart\nA wide hall.", {"action": "north"}, True),
        ("Hall (in the cart)\nA wide hall.", {"action": "north"}, True),
        ("Hall", {"action": "north"}, False),
        (BRIEF, {"action": "north", "described": FULL}, False),
        (BRIEF, {"action": "north", "described": ""}, True),
        (FULL, {"action": "north", "described": FULL}, True),
        (BRIEF, {"action": "look", "described": FULL}, True),
        ("Darkness\nYou can't see a thing.", {"action": "look", "dark": True}, False),
        ("It is pitch black.", {"action": "look"}, False),
        ("You stand in a wide hall.", {"action": "Look  around"}, True),
        ("You stand in a wide hall, which a passage leaves.", {"action": "examine me"}, False),
        ("The lamp is now on.\n\n" + FULL, {"action": "light lamp"}, True),
        ("Hallways are all you can think of. " * 40, {"action": "think"}, False),
        ("", {"action": "look"}, False),
    ],
)
def test_room_descriptions_are_recognized(response, certain, describes):
    assert read(response, **certain).is_room_description is describes


def test_exits_are_read_from_descriptions_only():
    there = Location(3, "North of House")
    text = "North of House\nA path leads east. The windows are boarded."
    assert read(text, "north", place=there).exits == ("east",)
    assert read("You can't go north.", "north").exits == ()


@pytest.mark.parametrize(
    ("action", "response", "enemies"),
    [
        ("wait", "The ogre swings its club and hits you.", ("angry ogre",)),
        ("wait", "The ogre lunges. You step aside.", ("angry ogre",)),
        ("kill ogre with sword", "Whoosh!", ("angry ogre",)),
        ("kill ogre", "The ogre dies.", ()),
        ("wait", "The clock strikes nine.", ()),
        ("wait", "The ogre glares at you.", ()),
        ("hit clock", "It goes on ticking.", ()),
    ],
)
def test_combat_requires_a_blow_and_a_living_enemy(action, response, enemies):
    alive = () if "dies" in response else ("angry ogre",)
    extraction = read(response, action, visible=(CLOCK,), creatures=alive)
    assert (extraction.enemies, extraction.combat) == (enemies, bool(enemies))


def test_attacked_thing_is_not_an_enemy_if_creatures_are_unknown():
    assert read("It goes on ticking.", "hit clock", visible=(CLOCK,)).combat is False


@dataclass
class Account:
    """Counts of extractions, compared with what `look` prints at the same moment."""

    right: int = 0
    missed: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    first_arrivals: list[tuple[int, bool]] = field(default_factory=list)
    looks: list[bool] = field(default_factory=list)
    in_combat: list[int] = field(default_factory=list)

    def add(self, turn: int, step: Transition, extraction: Extraction, described_now: bool, seen: set[int]) -> None:
        flagged, place = extraction.is_room_description, step.after.location
        self.right += flagged and described_now
        self.missed += [turn] if described_now and not flagged else []
        self.wrong += [turn] if flagged and not described_now else []
        self.in_combat += [turn] if extraction.combat else []
        if place.num not in seen and not step.after.dark and not step.finished:
            self.first_arrivals.append((turn, flagged))
        if step.action.lower() == "look":
            self.looks.append(flagged)


def account_of(story: Path, commands: Iterable[str], seed: int) -> Account:
    account, described = Account(), {}
    with JerichoInterface(story, seed=seed) as game:
        text = game.reset()
        seen = {game.observe().location.num}
        assert extracted(Transition(game.observe(), "", text, game.observe())).is_room_description
        for turn, command in enumerate(commands, 1):
            step = game.act(command)
            place = step.after.location
            extraction = extracted(step, described.get(place.num, ""))
            if extraction.is_room_description:
                described[place.num] = step.response
            account.add(turn, step, extraction, is_described(game, step), seen)
            seen.add(place.num)
    return account


def is_described(game: JerichoInterface, step: Transition) -> bool:
    """Return whether the text contains the first sentence of what `look` prints at this moment."""
    if step.finished or step.after.dark:
        return False
    moment = game.save_state()
    looked = game.act("look")
    game.restore_state(moment)
    body = below_the_heading(looked.response, step.after.location.name) or ""
    first = " ".join(body.split("\n")[0].split())
    return bool(first) and first in " ".join(step.response.split())


@pytest.mark.slow
def test_bundled_story_is_read_without_mistakes(bundled_story):
    account = account_of(bundled_story, get_bundled_walkthrough(), BUNDLED_SEED)
    assert (account.missed, account.wrong, account.in_combat) == ([], [], [])
    assert account.right > 60
    assert len(account.first_arrivals) > 20
    assert all(flagged for _, flagged in account.first_arrivals)


@pytest.mark.slow
def test_zork_is_read_without_mistakes(zork1):
    account = account_of(zork1, get_zork1_walkthrough(), ZORK1_SEED)
    assert account.missed == []
    # A real description. This room echoes every command, including `look`.
    assert account.wrong == [94]
    assert account.right > 80
    # An arrival without a description.
    assert [turn for turn, flagged in account.first_arrivals if not flagged] == [186]
    assert all(account.looks)
    assert account.in_combat == [261, 262, 263]
