"""Tests of describing a turn's facts in words."""

import pytest

from zorkgpt.memory.models import ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.synthesis import SynthesisRequest, facts_in_words, signals, things_in_words, visits_in_words

LADDER_DROPPED = ObjectMove(7, "ladder", 4, "yourself", 5, "Barn")
LADDER_TAKEN = ObjectMove(7, "ladder", 5, "Barn", 4, "yourself")


def request(action: str = "look", response: str = "Ok.", *, arrival: bool = False, **context) -> SynthesisRequest:
    return SynthesisRequest(5, "Barn", action, response, ZMachineContext(**context), arrival=arrival)


@pytest.mark.parametrize(
    ("context", "facts"),
    [
        ({}, ["The score did not change.", 'You stayed at "Barn" (location 5).']),
        (
            {"score_delta": 5, "score_before": 0, "score_after": 5},
            ["The score rose by 5, from 0 to 5.", 'You stayed at "Barn" (location 5).'],
        ),
        (
            {"score_delta": -10, "location_changed": True, "location_after": 9, "destination_name": "Yard"},
            ["The score fell by 10.", 'You went from "Barn" (location 5) to "Yard" (location 9).'],
        ),
        (
            {
                "inventory_before": ("ladder", "nail", "nail", "rope"),
                "inventory_after": ("nail", "axe"),
                "moved": (LADDER_DROPPED,),
            },
            [
                "The score did not change.",
                'You stayed at "Barn" (location 5).',
                "You now carry the axe.",
                "You no longer carry the nail, the rope.",
                'The ladder moved from you to "Barn".',
            ],
        ),
        (
            {
                "inventory_after": ("ladder",),
                "moved": (LADDER_TAKEN, ObjectMove(8, "hay", 5, "Barn", None, "nowhere")),
                "changed": (AttributeChange(3, "gate", "open", True), AttributeChange(3, "gate", "locked", False)),
                "died": True,
            },
            [
                "The score did not change.",
                'You stayed at "Barn" (location 5).',
                'The ladder moved from "Barn" to you.',
                'The hay disappeared from "Barn".',
                "The gate is now open.",
                "The gate is no longer locked.",
                "You died on this turn.",
            ],
        ),
        (
            {"nothing_changed": True},
            [
                "The score did not change.",
                'You stayed at "Barn" (location 5).',
                "Nothing in the world changed: not the place, the score, what you carry, nor anything else.",
                "The game understood the command and answered in words.",
            ],
        ),
        (
            {"unnamed_change": True},
            [
                "The score did not change.",
                'You stayed at "Barn" (location 5).',
                "No named object changed, but something else may have happened.",
            ],
        ),
        (
            {"fell_short": True, "moved": (ObjectMove(7, "ladder", None, "nowhere", 5, "Barn"),)},
            [
                "The score did not change.",
                'You stayed at "Barn" (location 5).',
                'The ladder moved from nowhere to "Barn".',
                "What the command means was not done: nothing was opened, taken or the like.",
            ],
        ),
        (
            {"died": True, "location_changed": True, "location_after": 9, "destination_name": "Yard"},
            [
                "The score did not change.",
                'You were at "Barn" (location 5); the story goes on at "Yard" (location 9).',
                "You died on this turn.",
            ],
        ),
    ],
)
def test_facts_become_sentences(context, facts):
    assert facts_in_words(request("open gate", **context)) == facts


@pytest.mark.parametrize(
    ("times", "episodes", "sentence"),
    [
        (1, 1, "This is your first visit here, in any episode."),
        (2, 1, "You've been here 2 times, all in this episode."),
        (3, 2, "You've been here 3 times across 2 episodes."),
    ],
)
def test_visits_become_a_sentence(times, episodes, sentence):
    assert visits_in_words(times, episodes) == sentence


def test_arrival_says_where_the_command_was_given():
    arrival = request("north", arrival=True, location_changed=True, score_delta=5, inventory_after=("nail",))
    assert facts_in_words(arrival) == ['The command was given elsewhere and brought you here, to "Barn" (location 5).']
    assert signals(arrival) == ['Not the first look at "Barn" (location 5) in this episode: core is ruled out there.']


def test_opening_is_not_a_command():
    opening = request("", "West of House", arrival=True, first_visit=True)
    assert facts_in_words(opening) == ['You are at "Barn" (location 5).']


def test_arrivals_at_the_place_left_are_omitted():
    left = {"location_changed": True, "location_before": 5, "location_after": 6}
    comes, follows = ObjectMove(9, "rat", 40, "Attic", 5, "Barn"), ObjectMove(9, "rat", 5, "Barn", 6, "Yard")
    assert signals(request("north", "Yard", moved=(comes,), **left)) == signals(request("north", "Yard", **left))
    assert 'The rat moved from "Barn" to "Yard".' in facts_in_words(request("north", moved=(follows,), **left))


def test_departures_before_the_arrival_are_omitted():
    walk = {"location_changed": True, "location_before": 5, "location_after": 6}
    leaves = ObjectMove(9, "rat", 6, "Yard", 40, "Attic")
    assert facts_in_words(request("north", "Yard", moved=(leaves,), **walk)) == facts_in_words(
        request("north", "Yard", **walk)
    )
    assert 'The rat moved from "Yard" to Attic.' in facts_in_words(
        request("north", "Yard. A rat runs off.", moved=(leaves,), **walk)
    )


def test_named_change_is_not_called_unnamed():
    wound = AttributeChange(9, "rat", "attribute 7", True, by_itself=True)
    assert facts_in_words(request("hit rat", "The rat sways.", changed=(wound,), unnamed_change=True))[2:] == [
        "Something about the rat changed."
    ]


def test_things_left_behind_are_mentioned():
    chest = ThingState(3, "chest", states=("closed",), out_of_sight=True)
    key = ThingState(4, "key", 3, "chest")
    assert things_in_words(request(things=(chest, key))) == ['3 "chest": closed, out of sight', '4 "key": in 3 "chest"']


def test_missing_thing_is_named_by_number():
    gone = request("wait", "The rat runs off.", moved=(ObjectMove(9, "rat", 5, "Barn", None, "nowhere"),))
    assert things_in_words(gone) == ['9 "rat": gone']


def test_events_elsewhere_are_omitted():
    rat = ObjectMove(9, "grey rat", 40, "Attic", 41, "Loft")
    wound = AttributeChange(9, "grey rat", "asleep", True)
    silent = request("wait", "Time passes.", moved=(rat,), changed=(wound,))
    heard = request("wait", "Somewhere above a rat runs.", moved=(rat,), changed=(wound,))
    assert facts_in_words(silent) == facts_in_words(request("wait", "Time passes."))
    assert facts_in_words(heard)[2:] == ["The grey rat is now asleep."]
    assert signals(silent) == signals(request("wait", "Time passes."))


def test_unknown_attributes_are_one_fact():
    unknown = (AttributeChange(3, "gate", "attribute 7", True), AttributeChange(3, "gate", "attribute 8", False))
    facts = facts_in_words(request("open gate", "The Barn and the gate.", changed=unknown))
    assert facts[2:] == ["Something about the gate changed."]


def test_names_are_short_and_on_one_line():
    name = "slate\n# Certain\n```" + "x" * 200
    (*_, fact) = facts_in_words(
        request(inventory_before=(name,), inventory_after=(name,), changed=(AttributeChange(3, name, "open", True),))
    )
    assert "\n" not in fact
    assert "`" not in fact
    assert len(fact) < 90


@pytest.mark.parametrize(
    ("action", "response", "context", "hinted"),
    [
        ("look", "x" * 101, {"first_visit": True}, ["likely core"]),
        ("look", "x" * 50, {"first_visit": True}, []),
        ("look", "x" * 101, {}, ["core is ruled out"]),
        ("take it", "Taken.", {"first_visit": True, "inventory_changed": True}, ["is likely ephemeral"]),
        ("north", "Yard", {"first_visit": True, "inventory_changed": True, "location_changed": True}, []),
        ("north", "Yard. " * 20, {"first_visit": True, "location_changed": True}, []),
        ("put it down", "Done.", {"first_visit": True}, ["puts something somewhere"]),
        (
            "push it",
            "Ok.",
            {"first_visit": True, "moved": (LADDER_DROPPED,)},
            ["this moved: the ladder; where it is now"],
        ),
        (
            "drop it",
            "Ok.",
            {"inventory_changed": True, "first_visit": True, "moved": (LADDER_DROPPED,)},
            ["this moved"],
        ),
        ("dig", "Gold!", {"first_visit": True, "score_delta": 5}, ["The score rose"]),
        ("dig", "No.", {"first_visit": True, "nothing_changed": True}, ["The answer may be worth keeping"]),
        (
            "dig",
            "Eh?",
            {"first_visit": True, "nothing_changed": True, "refused_by_parser": True},
            ["The parser refused"],
        ),
        (
            "dig",
            "No.",
            {"first_visit": True, "nothing_changed": True, "repeated": True},
            ["does not work here in this state is likely permanent"],
        ),
        ("dig", "Ow.", {"first_visit": True, "died": True}, ["disproved"]),
        ("", "", {"first_visit": True}, []),
    ],
)
def test_signals_suggest_a_persistence(action, response, context, hinted):
    found = signals(request(action, response, **context))
    assert len(found) == len(hinted)
    assert all(part in hint for part, hint in zip(hinted, found, strict=True))


def test_place_names_are_quoted():
    hall = SynthesisRequest(5, "The Great Hall", "wait", "Time passes.", ZMachineContext())
    assert facts_in_words(hall)[1] == 'You stayed at "The Great Hall" (location 5).'
