"""Tests of claims and outcomes: written, read back, and put into words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.memory import memory
from zorkgpt.memory.claims import Claim, Relation, claims_in, parse_claim
from zorkgpt.memory.models import Effect, ZMachineContext, fields_of, memory_of, outcome_of
from zorkgpt.memory.objects import AttributeChange
from zorkgpt.memory.storage.entry import as_read, parse_entry, render_entry

OF_A_THING = [
    relation
    for relation in Relation
    if relation not in (Relation.IN, Relation.ON, Relation.DARK, Relation.LIGHT, Relation.LEADS)
]
names = st.text(min_size=1).map(lambda text: " ".join(text.replace(";", ",").split())).filter(bool)
numbers = st.integers(1, 10**6)
claims = st.one_of(
    st.builds(Claim, st.sampled_from(OF_A_THING), numbers, names),
    st.builds(Claim, st.sampled_from([Relation.IN, Relation.ON]), numbers, names, numbers, names),
)


@pytest.mark.parametrize(
    ("claim", "text", "short", "words"),
    [
        (Claim(Relation.HERE, 44, "sword"), "sword #44 here", "44 here", "the sword is here"),
        (
            Claim(Relation.IN, 44, "sword", 80, "case"),
            "sword #44 in case #80",
            "44 in 80",
            "the sword is in the case",
        ),
        (Claim(Relation.LOCKED, 3, "oak door"), "oak door #3 locked", "3 locked", "the oak door is locked"),
        (
            Claim(Relation.LEADS, None, "west", 12, "Attic"),
            "west leads to Attic #12",
            "west leads to 12",
            "west leads to Attic",
        ),
        (Claim(Relation.DARK), "dark", "dark", "it is dark"),
    ],
)
def test_claim_has_a_file_form_and_words(claim, text, short, words):
    assert (str(claim), claim.short, claim.in_words()) == (text, short, words)
    assert parse_claim(text) == claim
    assert parse_claim(short).short == short


@pytest.mark.parametrize("text", ["", "sword", "sword #x here", "44 glows", "44 in", "leads to 12", "#44 here now"])
def test_invalid_claim_is_none(text):
    assert parse_claim(text) is None
    assert claims_in([text]) == ()


@given(claims)
def test_claim_is_read_back(claim):
    assert parse_claim(str(claim)) == claim


@given(st.text(), st.text(), st.lists(claims, max_size=4), st.lists(claims, max_size=3))
def test_claims_survive_file_and_json(action, outcome, claim_list, when):
    made = memory("Rug", action=action, outcome=outcome, claims=tuple(claim_list), when=tuple(when))
    kept = as_read(made)
    assert parse_entry(render_entry(kept).raw.splitlines(keepends=True)).memory == kept
    assert memory_of(fields_of(kept)) == kept
    assert [claim.short for claim in kept.claims] == [claim.short for claim in made.claims]
    assert kept.when == made.when


def test_header_contains_action_outcome_and_claims():
    made = memory(
        "Rug",
        action="move rug",
        outcome="changed",
        claims=(Claim(Relation.HERE, 44, "sword"),),
        when=(Claim(Relation.CLOSED, 12, "trap door"),),
    )
    header = render_entry(made).raw.splitlines()[0]
    assert header.endswith("action: move rug → changed, claims: sword #44 here, when: trap door #12 closed)*")


def test_unknown_part_of_a_header_is_kept():
    raw = "**[NOTE - CORE] Rug** *(Ep1, T2, claims: 44 glows, action: look)*\nText.\n"
    entry = parse_entry(raw.splitlines(keepends=True))
    assert entry.memory.claims == ()
    assert entry.memory.action == "look"
    assert entry.extras == ("claims: 44 glows",)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"died": True, "location_changed": True, "location_after": 4}, "died"),
        ({"location_changed": True, "location_after": 4}, "to 4"),
        ({"location_changed": True, "location_after": ("acme", 7)}, 'to ["acme", 7]'),
        ({"location_changed": True}, ""),
        ({"location_after": 4}, ""),
        ({"score_delta": 5}, "changed"),
        ({"inventory_changed": True}, "changed"),
        ({"changed": (AttributeChange(3, "door", "open", True),)}, "changed"),
        ({"changed": (AttributeChange(3, "door", "open", True),), "fell_short": True}, ""),
        ({"changed": (AttributeChange(3, "door", "open", True, by_itself=True),)}, ""),
        ({"unnamed_change": True}, ""),
        ({"nothing_changed": True}, "nothing"),
        ({}, ""),
    ],
)
def test_outcome_from_facts(facts, expected):
    assert outcome_of(ZMachineContext(**facts)) == expected


@pytest.mark.parametrize(
    ("facts", "effect"),
    [
        ({}, None),
        ({"unnamed_change": True}, Effect.CHANGED),
        ({"score_delta": 5}, Effect.CHANGED),
        ({"nothing_changed": True}, Effect.ANSWERED),
        ({"nothing_changed": True, "repeated": True}, Effect.NONE),
        ({"nothing_changed": True, "repeated": True, "refused_by_parser": True}, Effect.REFUSED),
    ],
)
def test_effect_from_facts(facts, effect):
    assert ZMachineContext(**facts).effect is effect
