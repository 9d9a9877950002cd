"""Tests of how a new memory relates to existing ones."""

import pytest

from tests.fixtures.dedup import fact
from zorkgpt.memory.dedup.decision import NEW, Decision, believed, decide, is_well_ahead
from zorkgpt.memory.entailment.comparison import Comparison, compared, is_worth_asking, titles_differ


def comparison(relation, cosine=0.9, **fields):
    return Comparison(fact("The lever opens the gate.", **fields), cosine, relation, "")


@pytest.mark.parametrize(
    ("relation", "known", "new", "kind"),
    [
        ("same", {}, {}, "repeats"),
        ("same", {"status": "TENTATIVE"}, {}, "refines"),
        ("same", {}, {"status": "TENTATIVE"}, "repeats"),
        ("same", {"persistence": "core"}, {}, "refines"),
        ("same", {}, {"persistence": "core"}, "repeats"),
        ("same", {"persistence": "core"}, {"status": "TENTATIVE"}, "repeats"),
        ("adds", {}, {}, "refines"),
        ("adds", {}, {"status": "TENTATIVE"}, "new"),
        ("conflict", {}, {}, "contradicts"),
        ("conflict", {"persistence": "core"}, {}, "new"),
        ("unsure", {}, {}, "new"),
        ("distinct", {}, {}, "new"),
    ],
)
def test_relation_decides_unless_it_lowers_the_persistence(relation, known, new, kind):
    assert decide(fact("x", **new), [comparison(relation, **known)]).kind == kind


def test_repetition_wins_over_a_nearer_contradiction():
    contrary, same, adds = comparison("conflict", 0.97), comparison("same", 0.8), comparison("adds", None)
    assert decide(fact("x"), [contrary, adds, same]) == Decision("repeats", same)
    assert decide(fact("x"), [contrary, adds]) == Decision("refines", adds)
    assert decide(fact("x"), [adds, contrary, comparison("adds")]) == Decision("refines", comparison("adds"))
    assert decide(fact("x"), []) == NEW


def test_unrelated_memory_is_new():
    far, near = comparison("distinct", 0.1), comparison("unsure", 0.7)
    assert decide(fact("x"), [far, near]) == Decision("new", near)


def test_open_contradiction_is_not_settled_by_repetition():
    same = comparison("same", status="TENTATIVE")
    assert decide(fact("x"), [same, comparison("conflict")]) == Decision("repeats", same)


def test_settled_memory_is_repeated_and_never_refined():
    same, adds = (comparison(relation, pinned=True, persistence="core") for relation in ("same", "adds"))
    assert decide(fact("x"), [same]) == Decision("repeats", same)
    assert decide(fact("x"), [adds]).kind == "new"


@pytest.mark.parametrize(
    ("older", "newer", "before", "belief"),
    [
        ({}, {}, False, "newer"),
        ({}, {}, True, "open"),
        ({"observation_count": 2}, {}, False, "open"),
        ({"observation_count": 4}, {}, False, "open"),
        ({"observation_count": 5}, {}, False, "older"),
        ({"observation_count": 5}, {}, True, "older"),
        ({"pinned": True}, {"score_change": 10}, False, "older"),
        ({"score_change": 10}, {}, False, "open"),
        ({"score_change": 1}, {}, False, "open"),
        ({"score_change": None}, {}, False, "newer"),
        ({"score_change": -5}, {}, False, "newer"),
        ({}, {"score_change": 10}, True, "open"),
        ({}, {"status": "TENTATIVE"}, False, "open"),
        ({"status": "TENTATIVE"}, {}, False, "newer"),
    ],
)
def test_evidence_decides_between_contradicting_memories(older, newer, before, belief):
    assert believed(fact("a", **older), fact("b", **newer), was_believed_before=before) == belief


def test_open_contradiction_is_settled_by_three_more_observations():
    rival = fact("b", status="TENTATIVE")
    assert not is_well_ahead(fact("a", observation_count=9), fact("b", pinned=True))
    assert [is_well_ahead(fact("a", status="TENTATIVE", observation_count=n), rival) for n in (1, 3, 4)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("one", "other", "text", "differs"),
    [
        ("Rug hides a trap door", "Trap door under the rug", "Moving the rug reveals a trap door.", []),
        ("“n” does nothing", "“s” does nothing", "You can't go that way.", ["n", "s"]),
        ("“open case” does nothing", "“take case” does nothing", "The case is locked.", ["open", "take"]),
        ("“open case with key” works", "“open case” works", "The case opens.", ["key"]),
        ("Brass key opens door", "Rusty key opens door", "The key opens the door.", ["brass", "rusty"]),
        ("Exit north", "Exit south", "The exit is narrow.", ["north", "south"]),
        ("Troll is friendly", "Troll is not friendly", "The troll stands here.", ["not"]),
        ("Troll here", "Troll stands", "The troll stands here.", []),
        ("Old troll", "Trolls", "The troll stands here.", []),
        ("Troll waits", "Troll guards bridge", "The troll stands here.", ["waits", "guards", "bridge"]),
        ("“Troll”", "Troll", "The troll stands here.", []),
        ("Gate heron", "Gate", "The gate opens.", []),
        ("Gate “heron”", "Gate", "The gate opens.", ["heron"]),
        ("", "", "The troll stands here.", []),
    ],
)
def test_same_text_with_different_titles_differs(one, other, text, differs):
    older, newer = fact(text, one), fact(text, other)
    assert titles_differ((one, other), (text, text)) == differs
    reason = f"the titles differ in: {', '.join(differs)}" if differs else "says the same"
    assert compared(older, newer, 0.976).describe() == f"{reason} (cosine 0.98, by the words)"


@pytest.mark.parametrize(
    ("text", "action", "relation", "reason"),
    [
        ("The box is open.", "Open  box", "same", "says the same"),
        ("The box is open.", "", "same", "says the same"),
        ("The box is open.", "open chest", "unsure", "the actions differ: open box, open chest"),
        ("The box is open; a bell rings.", "open box", "adds", "adds: bell rings"),
        ("The box is not open.", "open box", "conflict", "says the contrary: differs in negation: not"),
        ("The box is not open.", "open chest", "unsure", "the actions differ: open box, open chest"),
        ("The trap is open.", "open box", "unsure", ""),
        ("The trap rings a bell.", "open chest", "unsure", "the actions differ: open box, open chest"),
    ],
)
def test_memories_with_different_actions_differ(text, action, relation, reason):
    older, newer = fact("The box is open.", action="open box"), fact(text, action=action)
    assert compared(older, newer) == Comparison(older, None, relation, reason)
    assert compared(older, newer).describe() == f"{reason} (no vectors, by the words)"


@pytest.mark.parametrize(
    ("older", "newer", "asked"),
    [
        ("The gate opens at dusk.", "At nightfall somebody opens the gate.", True),
        ("It takes 3 turns to fill.", "It takes 4 turns till it is full.", False),
        ("The exit to the north is barred.", "The exit to the south is barred.", False),
        ("The lamp is on in the evening.", "The lamp is never on in the evening.", False),
        ("The lamp is on in the late evening.", "At night the lamp is never on.", False),
        ("The lamp is on in the late warm evening.", "At night the lamp is never on.", True),
        ("The lamp in the hall is on in the evening.", "At night one never sees a light there.", True),
        ("The lamp is on.", "On is the lamp.", True),
        ("The door is open in the evening.", "At night the door is closed.", False),
        ("You need three keys.", "You need some keys.", False),
        ("Turn it up, left.", "Turn it north.", True),
        ("Turn it north.", "Turn it up, left.", True),
        ("The exit is wide.", "The exit is north.", True),
        ("The exit is north.", "The exit is wide.", True),
        ("You need three keys here.", "Bring all the keys.", True),
    ],
)
def test_plain_difference_of_fact_is_not_put_to_the_judge(older, newer, asked):
    assert is_worth_asking(older, newer) is asked
