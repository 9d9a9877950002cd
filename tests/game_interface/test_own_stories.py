"""Tests of observations at each step of stories for which nothing was tuned."""

from collections.abc import Iterable

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Item, Transition
from session.outcome import failed, worked
from tests.fixtures import own_stories


def _listed(items: Iterable[Item] | None) -> str:
    return "?" if items is None else ", ".join(sorted(item.name for item in items))


def _told(game: JerichoInterface, done: Transition | None, key: str, value: str) -> str:
    """Return what the interface says about a fact, in the words of a walkthrough."""
    now = game.observe()
    match key:
        case "room":
            return now.location.name if now.location else "?"
        case "holds":
            return _listed(now.inventory)
        case "sees":
            return _listed(item for item in now.visible or () if item.name in value.split(", "))
        case "score":
            return str(now.score)
        case "dark" | "lit":
            return "" if now.dark == (key == "dark") else "the opposite"
        case "in":
            return now.vehicle.name if now.vehicle else "nothing"
        case "question":
            return now.question.text if now.question else "none"
        case "reads":
            return str(now.question.mode) if now.question else "command"
        case "back":
            return ", ".join(now.question.way_back) or "none" if now.question else ""
        case "outcome":
            assert done is not None, "an opening has no outcome"
            return "works" if worked(done) else "fails" if failed(done) else "none"
        case "going":
            return "on" if done and not done.finished else "over"
        case "died" | "over" | "won":
            assert done is not None, f"{key} is no fact of an opening"
            return "" if {"died": done.died, "over": done.finished, "won": done.victory}[key] else "not so"
    raise AssertionError(f"the README names no fact {key!r}")


def _expected(key: str, value: str) -> str:
    return ", ".join(sorted(filter(None, value.split(", ")))) if key in ("holds", "sees") else value


@pytest.mark.slow
@pytest.mark.parametrize("name", own_stories.names())
def test_observations_match_the_walkthrough(name: str) -> None:
    """Check every fact in the walkthrough. Rooms stay until another is stated."""
    wrong, room = [], None
    with JerichoInterface(own_stories.compiled(name)) as game:
        game.reset()
        for number, step in enumerate(own_stories.walkthrough(name)):
            done = game.act(step.command) if step.command else None
            facts = dict(step.facts)
            room = facts.setdefault("room", room)
            assert room is not None, "the opening's room is not stated"
            for key, value in facts.items():
                if (actual := _told(game, done, key, value)) != _expected(key, value):
                    wrong.append(f"step {number} ({step.command or 'opening'}): {key} {value!r}, told {actual!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("story", "asks", "question_ended", "room"),
    [
        ("menu", "help", "The game had asked for 20 turns. It reads commands again after: escape.", "Den"),
        (
            "endless",
            "push machine",
            "The game had asked for 20 turns. It was returned to the state before the question.",
            "Office",
        ),
        (
            "endless",
            "push clerk",
            "The game had asked for 20 turns. It was returned to the state before the question.",
            "Office",
        ),
    ],
)
def test_endless_question_is_left_after_a_limit(story, asks, question_ended, room):
    with JerichoInterface(own_stories.compiled(story)) as game:
        game.reset()
        before = game.act("inventory").after
        game.act(asks)
        saved = game.save_state()
        answers = [game.act("x") for _ in range(19)]
        assert all(each.after.question and not each.question_ended for each in answers)
        left = game.act("x")
        assert (left.question_ended, left.is_answer) == (question_ended, True)
        assert left.response.endswith(question_ended)
        assert left.after.question is None
        assert game.observe().location_name == room
        assert game.act("inventory").after.inventory == before.inventory
    # A saved state has the same question.
    with JerichoInterface(own_stories.compiled(story)) as game:
        game.restore_state(saved)
        assert [game.act("x").question_ended for _ in range(20)][-1] == question_ended


def test_question_with_only_fatal_answers_ends_the_story():
    with JerichoInterface(own_stories.compiled("another")) as game:
        assert not game.act("push bell").finished
        game.act("no")
        fallen = game.act("north")
        assert (fallen.finished, fallen.after.question.final) == (True, True)
