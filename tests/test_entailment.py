"""Tests of comparing texts: same, adds, conflict or unsure."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zorkgpt.memory.contrast import Contrast, compare
from zorkgpt.memory.entailment.compare import may_relate, read
from zorkgpt.memory.entailment.comparison import compared, is_worth_asking
from zorkgpt.memory.models import Memory

LABELLED = Path(__file__).parent.parent / "benchmarks" / "data" / "dedup_dev.jsonl"

SAME = [
    ("The lamp is on.", "the lamp is on"),
    ("The lamp is on.", "THE LAMP IS ON!!"),
    ("The lamp is on.", '"The  lamp is on."'),
    ("The lamp is on.", "A lamp is on."),
    ("The door can't be opened.", "The door cannot be opened."),
    ("The door doesn't open.", "The door does not open."),
    ("It's dark.", "It is dark."),
    ("Never light a match here.", "Never Light A Match Here."),
    ("It costs 5 coins at 3 pm.", "It costs 5 coins at 3 PM."),
    ("You need seven keys.", "You need 7 keys."),
    ("You need twenty-one keys.", "You need 21 keys."),
    ("The baker closes the shop.", "The baker closed the shop."),
    ("The boat sinks.", "The boat sank."),
    ("The boat stops.", "The boat stopped."),
    ("The troll dies.", "The troll died."),
    ("The cook fries it.", "The cook fried it."),
    ("The cook watches it.", "The cook watched it."),
    ("She opens the shop.", "She opened the shop."),
    ("She uses the rope.", "She used the rope."),
    ("Turn the dial to open the safe.", "Turning the dial opens the safe."),
    ("Turn the dial to open.", "Turning the dial opens."),
    ("Turn the dial to unlatch it.", "Turning the dial unlatches it."),
    ("Turn the dial to dry it.", "Turning the dial dries it."),
    ("Turn the dial to carry it.", "Turning the dial carries it."),
    ("Press the bell, then pull the cord.", "Pressing the bell, then pulling the cord."),
    ("Turn your dial to open it.", "Turning your dial opens it."),
    ("Press 3 bells to open it.", "Pressing 3 bells opens it."),
    ("At dusk the gate closes.", "The gate closes at dusk."),
    ("If you press the bell, the porter comes.", "The porter comes if you press the bell."),
    (
        "At dusk, or after a day that was quite very long too, the bell tolls.",
        "The bell tolls at dusk, or after a day that was quite very long too.",
    ),
    ("The captain's name opens it.", "The name of the captain opens it."),
    ("Costs you two.", "Costs two."),
    ("The ferry gives you a ticket.", "The ferry gives a ticket."),
    ("The verb 'unscrew' is unknown.", "the verb unscrew is unknown"),
    ("東の扉", "東の扉。"),
    ("🙂", "🙂"),
]

ADDS = [
    ("The key opens the chest.", "The key opens the chest. It is heavy."),
    ("The key opens the chest.", "The key opens the chest, which holds a map."),
    ("The key opens the chest.", "The key opens the chest and breaks the lock."),
    ("The key opens the chest.", "The key opens the chest with a loud click."),
    ("The key opens the chest.", "The key opens the chest because the lock is worn."),
    ("The key opens the chest.", "The key opens the chest; turn it twice and the porter never hears it."),
    ("The chest holds a map.", "The chest holds a map showing the coast."),
    ("The chest holds a map.", "The chest holds a map drawn by the captain."),
    ("The pot is full of soup.", "The pot is completely full of soup."),
    ("At dusk the gate closes.", "The gate closes at dusk and opens at dawn."),
    ("The room costs two coins.", "The room costs two coins, breakfast included."),
    ("The sign glows when ships are near.", "The sign glows when ships are near and turns red at night."),
    ("Glows when ships are near.", "Glows when ships are near and turns red."),
    ("The gate opens.", "The gate opens after which the cook leaves."),
    ("The gate opens.", "The gate opens without touching it."),
    ("The gate opens.", "The gate opens within 5 minutes."),
    ("The gate opens.", "The gate opens; the porter sleeps and never hears it."),
    ("The gate opens.", "The gate opens and can be shut."),
    ("The gate opens.", "The gate opens and light the way."),
    ("The chest holds a map.", "The chest holds a map showing his coast."),
    ("The chest holds a map.", "The chest holds a map with long edges."),
]

CONFLICTS = [
    ("The door is open.", "The door is not open.", "differs in negation: not"),
    ("The key opens the chest.", "The key does not open the chest.", "differs in negation: not"),
    ("You can swim here.", "You can't swim here.", "differs in negation: not"),
    ("Light a match.", "Never light a match.", "differs in negation: never"),
    ("The box contains a letter.", "The box contains no letter.", "differs in negation: no"),
    ("The door is locked.", "The door is unlocked.", "differs in words: locked, unlocked"),
    ("The door is open.", "The door is closed.", "differs in words: open, closed"),
    ("The exit is north.", "The exit is south.", "differs in direction: north, south"),
    ("Turn the dial left.", "Turn the dial right.", "differs in direction: left, right"),
    ("It rings if you knock.", "It does not ring if you knock.", "differs in negation: not"),
    ("If you knock, it is open.", "If you knock, it is closed.", "differs in words: open, closed"),
    ("Ring it before dusk.", "Ring it after dusk.", "differs in order in time: before, after"),
    ("It always rains.", "It never rains.", "differs in quantity: always; differs in negation: never"),
]

# Pairs with similar words that must not be merged.
UNSURE = [
    ("The guard wants 3 coins.", "The guard wants 5 coins.", "differs in number: 3, 5"),
    ("The north exit leads out.", "The south exit leads out.", "differs in direction: north, south"),
    ("You can open the chest.", "You must open the chest.", "differs in modality: can, must"),
    ("All doors are open.", "Most doors are open.", "differs in quantity: all, most"),
    ("Some doors open.", "Some doors do not open.", "differs in negation: not"),
    ("The key opens the gate.", "The key opens the gate only at night.", "differs in condition: only"),
    ("The key opens the gate.", "The key opens the gate unless it rains.", "differs in condition: unless"),
    ("The key opens the gate.", "The key opens the gate if it rains.", "differs in condition: if"),
    ("The dog follows the cat.", "The cat follows the dog.", "differs in the order"),
    ("Take the lamp before the sword.", "Take the sword before the lamp.", "differs in the order"),
    ("Give the cook the captain.", "Give the captain the cook.", "differs in the order"),
    ("The cook feeds the dog.", "The cook is fed by the dog.", "differs in words: feeds, is, fed, by"),
    ("The password is heron.", "The password is herons.", ""),
    ("The password is heron.", "The password is heron and otter.", ""),
    ("The password is heron.", "The password is heron, otter.", ""),
    ("The password is 'heron'.", "The password is 'heron' and 'otter', as the cook says.", ""),
    ("Say 'seven'.", "Say '7'.", ""),
    ("The torch is here.", "The torches are here.", ""),
    ("The key opens the chest.", "The brass key opens the chest.", "differs in words: brass"),
    ("The key opens the chest.", "The key opens the chest lid.", "differs in words: lid"),
    ("The key opens the chest.", "The key opens the chest or the trunk.", ""),
    ("The pot is full of soup.", "The pot is half full of soup.", ""),
    ("The door is locked.", "The door was locked.", ""),
    ("The door is locked.", "The door is locking.", ""),
    ("The door is locked.", "The door is locked?", ""),
    ("Few know the way.", "A few know the way.", ""),
    ("No exit north.", "No, exit north.", ""),
    ("Press button A.", "Press the button.", ""),
    ("The code is 7-3-9.", "The code is 739.", ""),
    ("The code is 7, 3.", "The code is 7, 3, 9.", ""),
    ("It costs $5.", "It costs 5.", ""),
    ("The toll is two coins.", "The toll is two coins, and three pearls.", ""),
    ("The bell rings if you knock.", "The bell rings if you knock and ask the cook.", ""),
    ("Never light a match.", "Never light a match with wet hands.", ""),
    ("The key opens the gate.", "The key opens the gate, but not the door.", ""),
    ("The key opens the gate.", "The key opens the gate. No longer.", ""),
    ("The key opens the gate.", "The key opens the gate, which is false.", ""),
    ("The key opens the gate.", "The key opens the gate, the cook claims.", ""),
    (
        "The bell rings if the door is shut.",
        "The bell rings if the door is completely shut.",
        "differs in words: completely",
    ),
    ("The bell rings when the door opens.", "The bell rings when the door opens with a key.", ""),
    ("You may carry nine bags.", "You may carry nine bags, excluding worn ones.", "differs in condition: excluding"),
    ("Touch the paint.", "Touch the painting.", ""),
    ("The lamp burns.", "The lamp burns brightly in the cave.", ""),
    ("The door opens.", "The door opens without touching it and never in winter.", ""),
    ("The lamp glows.", "The lamp glows and the rings.", ""),
    ("The lamp glows.", "The lamp glows and bell tolls.", ""),
    ("Turn the dial to open the safe.", "Turning the dial shuts the safe.", ""),
    ("The lamp glows.", "The lamp glows and his rings.", ""),
    ("Paint covers the wall.", "Painting covers the wall.", ""),
    ("The guard lets you.", "The guard lets you in.", ""),
    ("After the bell rings the cook leaves.", "After the cook leaves the bell rings.", ""),
    ("🙂", "🙂🙂", ""),
    ("The code is aBc9.", "The code is ABC9.", ""),
    ("The coil needs 5 mW.", "The coil needs 5 MW.", ""),
    ("Take vitamin A pills.", "Take vitamin pills.", ""),
    ("Type * to list them.", "Type to list them.", ""),
    ("Type '...' to wait.", "Type to wait.", ""),
    ("The ditch is 5' deep.", 'The ditch is 5" deep.', ""),
    ("Twenty-one day passes are sold.", "Twenty one-day passes are sold.", ""),
    ("A man-eating shark swims here.", "A man eating shark swims here.", ""),
    ("The answer is (3 + 4) * 5.", "The answer is 3 + (4 * 5).", ""),
    ("The answer is 9 minus 3 plus 2.", "The answer is 9 minus (3 plus 2).", ""),
    ("The cook, without her dog, is lost.", "The cook without her, dog is lost.", ""),
    ("The potion makes you a frog.", "The potion makes a frog.", ""),
    ("The ogre eats you the moment you enter.", "The ogre eats the moment you enter.", ""),
    ("The password is heron.", "The password is heron, otter and crow.", ""),
    ("The password is heron.", "The password is heron, otter, crow, dove.", ""),
    ("The lamp burns.", "The lamp burns, so long as the oil lasts.", ""),
    ("The gate opens.", "The gate opens, according to the sailor.", ""),
    ("The gate opens.", "The gate opens; the old sailor lied.", ""),
    ("The egg is here.", "The egg is here, now taken.", ""),
    ("The dog barks if the lamp is on.", "The dog barks if the lamp is off.", ""),
    ("If the door is locked, knock.", "If the door is not locked, knock.", ""),
    ("If open, knock.", "If closed, knock.", ""),
    ("Opens the gate", "Opened the gate", ""),
    ("A path leads north.", "A path leads south.", "differs in direction: north, south"),
    ("You can go up.", "You can go down.", "differs in direction: up, down"),
    ("There is an exit to the east.", "There is an exit to the west.", "differs in direction: east, west"),
    ("Guards who are awake attack.", "Guards who are not awake attack.", ""),
    ("The cook says the door is open.", "The cook says the door is not open.", ""),
    (
        "At dusk, or after a day that was quite very long for us, the bell tolls.",
        "The bell tolls at dusk, or after a day that was quite very long for us.",
        "",
    ),
    ("Before the bell rings.", "The bell rings before.", ""),
    ("Wake, the cook sings.", "Wake the cook, sings.", ""),
    ("The gate opens and closes.", "The gate opens and closed.", ""),
    ("Turn the dial.", "Push the dial.", "differs in words: turn, push"),
    ("The cook plans it.", "The cook planed it.", "differs in words: plans, planed"),
    ("The cook planes it.", "The cook planned it.", "differs in words: planes, planned"),
    ("Open the gate.", "Opens the gate.", ""),
    ("The cook closes the shop, then.", "The cook closed, the shop then.", ""),
    ("The gate opens.", "The gate opens in cold winters.", ""),
    ("The gate opens.", "The gate opens with noise.", ""),
    ("The gate opens.", "The gate opens; the porter there never hears it.", ""),
    ("The gate opens.", "The gate opens. But it is old and never shuts.", ""),
    ("The gate opens.", "The gate opens as long as it rains.", ""),
    ("The gate opens.", "The gate opens, later it shuts.", ""),
    ("When ships are near the sign glows.", "When ships are near the sign glows and turns red.", ""),
    ("The bell rings if you knock.", "The bell rings if you knock and the cook leaves.", ""),
    ("The chest holds a map.", "The chest holds a map drawn poorly today.", ""),
    ("The chest holds a map.", "The chest holds a map showing coasts here.", ""),
    ("The ferry costs coins.", "The ferry costs you coins.", "differs in words: you"),
    ("The guards open the gate.", "The guards opened the gate.", ""),
    ("Light or open the gate.", "Light or opening the gate.", ""),
    ("Open, the gate closes.", "Opening, the gate closes.", ""),
    ("The open a gate.", "The opening a gate.", ""),
    ("The captain's old name opens it.", "The old name of the captain opens it.", ""),
    ("The captain's name opens it.", "The name of the cook opens it.", ""),
]


# "+" marks an article before a word, and "=" a quotation.
READ = [
    ("The lamp, an old one, is on; a bell (brass) rings!", "+lamp, +old 1, is on. +bell, brass, rings."),
    ("“A whole quotation.”", "+whole quotation."),
    ("\"Open\" is 'what' it said.", "=open is =what it said."),
    ('"', ""),
    ("Say 'open sesame' and 'go'.", "say =open =sesame and =go."),
    ("Type * to list - or ... to wait, ' or '.", "type * to list, or, to wait, or,"),
    ("Type '' or '*' twice.", "type, or '*' twice."),
    ("* A bullet (of a list)", "+bullet, of +list,"),
    ("(all) - is well", "all, is well"),
    ("It is 5' deep and 6\" wide.", "it is 5' deep and 6\" wide."),
    (
        "Twenty one, twenty-one; thirty, one or forty-two; nineteen one, twenty one two.",
        "21, 21. 30, 1 or 42. 19 1, 21 2.",
    ),
    ("Twenty one-two, ten two and twenty zero.", "20 1 2, 10 2 and 20 0."),
    ("No, exit. Not here.", "no,, exit. not here."),
    ("A man-eating shark has a two-way radio and can't swim.", "+man-eating shark has a 2 way radio and can not swim."),
    ("It needs 5 MW at 3 PM.", "it needs 5 MW at 3 pm."),
    ("ALL 5 MW ARE ON.", "all 5 mw are on."),
    ("The aBc of plan A is here.", "+aBc of plan A is here."),
    ("A b2 bomb and a 2nd one, the few and a lot of the a", "+b2 bomb and a 2nd 1, the few and a lot of the a"),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_text_is_read_as_words_with_marks(text, expected):
    found = read(text)
    marked = zip(found.words, found.stops, found.literal, found.articles, strict=True)
    assert (
        " ".join(f"{'+' * article}{'=' * literal}{word}{stop}" for word, stop, literal, article in marked) == expected
    )


@pytest.mark.parametrize(("older", "newer"), SAME)
def test_differences_of_form_are_the_same(older, newer):
    assert compare(older, newer) == compare(newer, older) == Contrast("same")


@pytest.mark.parametrize(("older", "newer"), ADDS)
def test_longer_text_adds_to_the_shorter(older, newer):
    assert compare(older, newer).relation == "adds"
    assert compare(newer, older) == Contrast("unsure", ("the older one says more",))


def test_added_words_are_named():
    assert compare(
        "The lamp is on.", "The lamp is on; it flickers a lot as long as the wind blows in here."
    ) == Contrast("adds", ("adds: it flickers a lot as long wind blows",))
    assert compare("The lamp is on.", "The lamp is on, the lamp is on.").reasons == (
        "adds: words that are there already",
    )


@pytest.mark.parametrize(("older", "newer", "reason"), CONFLICTS)
def test_negation_or_opposites_conflict(older, newer, reason):
    assert compare(older, newer) == Contrast("conflict", tuple(reason.split("; ")))
    assert compare(newer, older).relation == "conflict"


@pytest.mark.parametrize(("older", "newer", "reason"), UNSURE)
def test_other_difference_is_unsure_with_a_reason(older, newer, reason):
    assert compare(older, newer).relation == compare(newer, older).relation == "unsure"
    assert any(given.startswith(reason) for given in compare(older, newer).reasons)


@pytest.mark.parametrize(
    ("older", "newer", "relation"), [("", "", "same"), ("", "x", "unsure"), ("...", " ", "unsure")]
)
def test_texts_without_words_are_same_only_if_equal(older, newer, relation):
    assert compare(older, newer).relation == relation


PAIRS = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]


def test_labeled_pairs_are_never_misjudged():
    assert Counter((pair["label"], compare(pair["a"], pair["b"]).relation) for pair in PAIRS) == {
        ("duplicate", "same"): 74,
        ("duplicate", "unsure"): 118,
        ("refinement", "adds"): 58,
        ("refinement", "unsure"): 37,
        ("contradiction", "conflict"): 46,
        ("contradiction", "unsure"): 240,
        ("distinct", "unsure"): 194,
    }


TEXTS = st.text(st.characters(codec=None))
# Words that rules depend on, so that generated sentences use them.
WORDS = """
    a the door doors you it is not no never do does open opens opened opening to at dusk, if when and or but so very
    with without only 3 seven twenty one 'x' captain's captain of name costs. before after north all some
"""
SENTENCES = st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join)


@given(TEXTS)
def test_every_text_equals_itself(text):
    assert compare(text, text) == Contrast("same")


@given(TEXTS, TEXTS)
@example("The n't", "n't")
def test_any_texts_can_be_compared(older, newer):
    assert compare(older, newer).relation in ("same", "adds", "conflict", "unsure")


@given(SENTENCES | TEXTS, SENTENCES | TEXTS)
@example('one (two) three, 5" 7 "dark lamp" Captain\'s rope; aB 5 mW no, exit', "The lamp is dark.")
def test_text_without_the_distinctive_words_is_about_something_else(older, newer):
    assert may_relate(newer)(older) or compare(older, newer).relation == "unsure"


@pytest.mark.slow
@given(SENTENCES, SENTENCES)
@settings(max_examples=1500)
def test_other_order_gives_the_mirrored_answer(older, newer):
    found, mirrored = compare(older, newer).relation, compare(newer, older)
    assert {found, mirrored.relation} != {"same", "adds"}
    if found in ("same", "conflict"):
        assert mirrored.relation == found
    if found == "adds":
        assert mirrored == Contrast("unsure", ("the older one says more",))


@given(SENTENCES.filter(str.split), st.data())
def test_another_noun_is_never_the_same(text, data):
    words = text.split()
    place = data.draw(st.integers(0, len(words)))
    changed = " ".join([*words[:place], "lighthouse", *words[place:]])
    assert compare(text, changed).relation in ("unsure", "adds")
    assert compare(changed, text).relation == "unsure"


@pytest.mark.slow
def test_very_long_text_is_compared():
    long = "The corridor goes on. " * 5000
    assert compare(long, long.upper()) == Contrast("same")
    assert compare(long, long + "The captain waits here.").relation == "adds"
    assert compare("At " + long, "The " + long).relation == "unsure"
    assert compare("x" * 200_000 + "Y", "5 " + "x" * 200_000).relation == "unsure"
    other = " ".join(f"word{number}" for number in range(10_000))
    assert compare(long, other).relation == "unsure"


@pytest.mark.slow
def test_memories_with_very_long_texts_are_same_only_if_equal():
    pages = [text * 40_000 for text in ("The lever opens the gate. ", "The levers open the gate. ")]
    one, other, short = (Memory("NOTE", "Gate", 1, "1", 0, text, "permanent") for text in (*pages, "A gate."))
    assert compared(one, one).relation == "same"
    assert compared(one, other).reason == "too long to be compared"
    assert compared(one, short).relation == "unsure"
    assert not is_worth_asking(one.text, other.text)
