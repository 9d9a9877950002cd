"""Tests of what was tried at a place."""

from dataclasses import replace

from game_interface.models import Item, Location, Observation
from zorkgpt.record.experience import ActionResult, Experience, ExperienceRow
from zorkgpt.world.tries import tries_at, untried_things

CELLAR = 15


def tries(*results: tuple[int, str, int]):
    """Return what these results show, each with its episode, action and outcome."""
    experience = Experience(Experience())
    for turn, (episode, action, outcome) in enumerate(results):
        part = experience.earlier if episode == 1 else experience
        part.add(ExperienceRow(episode, turn, CELLAR, action, outcome=outcome, response="It is shut."))
    return tries_at(experience, CELLAR)


def test_action_that_worked_has_not_failed():
    shut, opened = (1, "up", ActionResult.UNCHANGED), (2, "up", ActionResult.WORKED)
    assert tries(shut).failed == {"up": "It is shut."}
    assert tries(shut, opened).failed == {}
    assert tries(shut, (2, "up", 0)).failed == {"up": "It is shut."}


def test_action_that_is_done_already_has_not_failed():
    opened, done = (1, "open lid", ActionResult.WORKED), (1, "open lid", ActionResult.UNCHANGED)
    assert tries(opened, done).failed == {}
    assert tries(opened, (2, "open lid", ActionResult.UNCHANGED)).failed == {"open lid": "It is shut."}


def test_exit_is_opened_by_what_preceded_every_opening():
    shut, opened = (1, "down", ActionResult.UNCHANGED), (1, "down", ActionResult.WORKED)
    rug, lid, lamp = ((1, action, ActionResult.WORKED) for action in ("move rug", "open lid", "light lamp"))
    assert tries(shut, rug, shut, lid, opened).opened_by == {"down": ("open lid",)}
    assert tries(rug, lid, opened).opened_by == {}
    again = ((2, action, outcome) for _, action, outcome in (shut, lamp, lid, opened))
    assert tries(shut, rug, lid, opened, *again).opened_by == {"down": ("open lid",)}


def test_thing_is_untried_where_it_was_last_seen():
    def looked(episode: int, place: int, *seen: tuple[int, str], tried: tuple[int, ...] = ()) -> ExperienceRow:
        return ExperienceRow(episode, 1, place, "look", reached=place, seen=seen, tried=tried)

    lamp, rope, rug = (30, "lamp"), (31, "rope"), (32, "rug")
    away = Observation(Location(9, "Attic"), (), (), (), None, None)
    earlier = Experience()
    earlier.add(looked(1, 1, lamp, rope, rug))
    assert untried_things(Experience(earlier), away) == {9: (), 1: ("lamp", "rope", "rug")}
    experience = Experience(earlier)
    experience.add(looked(2, 2, rope, tried=(32,)))
    assert untried_things(experience, away) == {9: (), 2: ("rope",), 1: ("lamp",)}
    assert untried_things(experience, replace(away, carried=(Item(*lamp),))) == {9: (), 2: ("rope",), 1: ()}
    experience.add(looked(2, 1))
    assert untried_things(experience, away) == {9: (), 1: (), 2: ("rope",)}
