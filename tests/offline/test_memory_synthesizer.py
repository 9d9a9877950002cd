"""What the rules make of a turn: from the ground truth alone, and only what is worth a line."""

from dataclasses import replace

import pytest

from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import AttributeChanged, Memory, ObjectMoved, ThingAtHand, ZMachineContext
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.offline.memory_synthesizer import FIRST_SIGHT, RuleSynthesizer
from zorkgpt.offline.phrases import ActionOutcome, title_of, whole_sentences

LAMP = ThingAtHand(7, "brass lamp", states=("unlit",))
DOOR = ThingAtHand(8, "oak door", fixed=True, states=("closed",))
WALL = ThingAtHand(10, "wall", fixed=True)
TROLL = ThingAtHand(11, "troll", fixed=True, alive=True)
TRUTH = ZMachineContext(location_before=1, location_after=1, turn=3, things=(LAMP, DOOR, WALL))
TOOK = replace(
    TRUTH,
    inventory_changed=True,
    inventory_after=("brass lamp",),
    moved=(ObjectMoved(7, "brass lamp", 1, "Hall", 20, "you"),),
)
OPENED = replace(TRUTH, changed=(AttributeChanged(8, "oak door", "open", True),))


def taught(action: str, response: str, truth: ZMachineContext = TRUTH, **more):
    return RuleSynthesizer().synthesize(SynthesisRequest(1, "Hall", action, response, truth, **more))


@pytest.mark.parametrize(
    ("truth", "category", "outcome", "text"),
    [
        (replace(TRUTH, died=True), "DANGER", ActionOutcome.KILLS, "Doing this here is deadly. All is well in here."),
        (replace(TRUTH, score_delta=5), "SUCCESS", ActionOutcome.SCORES, "Scores 5 points. All is well in here."),
        (OPENED, "SUCCESS", ActionOutcome.WORKS, "The oak door is then open. All is well in here."),
        (
            replace(TRUTH, changed=(AttributeChanged(7, "brass lamp", "on", True),)),
            "SUCCESS",
            ActionOutcome.WORKS,
            "The brass lamp is then lit. All is well in here.",
        ),
        (
            replace(TRUTH, moved=(ObjectMoved(11, "troll", 1, "Hall", None, "nowhere"),)),
            "SUCCESS",
            ActionOutcome.WORKS,
            "The troll is then gone. All is well in here.",
        ),
        (
            replace(TRUTH, moved=(ObjectMoved(7, "the bell", 1, "The Hall", 40, "a Dark Yard"),)),
            "SUCCESS",
            ActionOutcome.WORKS,
            "The bell moves from The Hall to a Dark Yard. All is well in here.",
        ),
        (TOOK, "SUCCESS", ActionOutcome.TAKES, "The brass lamp is here. It can be taken. All is well in here."),
    ],
)
def test_ground_truth_decides_what_a_turn_teaches(truth, category, outcome, text):
    answer = taught("rub lamp", "[One remark.] All is well in here.", truth)
    assert (answer.category, answer.memory_title, answer.memory_text, answer.persistence, answer.action) == (
        category,
        title_of("rub lamp", outcome),
        text,
        "permanent",
        "rub lamp",
    )


@pytest.mark.parametrize(
    "truth",
    [
        replace(TRUTH, nothing_changed=True),
        replace(TRUTH, died=True, died_anyway=True),
        replace(TRUTH, location_changed=True, location_after=2, destination_name="Yard"),
        replace(TRUTH, changed=(AttributeChanged(8, "oak door", "open", False),)),
        replace(TRUTH, changed=(AttributeChanged(8, "oak door", "open", True, by_itself=True),)),
        replace(TRUTH, moved=(ObjectMoved(9, "jackdaw", 1, "Hall", 2, "Yard", by_itself=True),)),
        replace(TRUTH, moved=(ObjectMoved(11, "troll", 1, "Hall", 2, "Yard"),), things=(TROLL,)),
        replace(TRUTH, response_length=300),
    ],
    ids=[
        "refused",
        "would have died anyway",
        "a plain way",
        "closed again",
        "opened by itself",
        "somebody wandered",
        "somebody left",
        "much text",
    ],
)
def test_what_is_counted_elsewhere_or_not_the_action_s_doing_is_no_memory(truth):
    assert taught("north", "You can't go that way.", truth).should_remember is False


def test_a_way_that_led_nowhere_before_is_told_with_what_is_open_now():
    state = (Claim(Relation.OPEN, 12, "trap door"), Claim(Relation.CARRIED, 7, "brass lamp"))
    walked = replace(TRUTH, location_changed=True, location_after=2, destination_name="Cellar", state=state)
    answer = taught("down", "Cellar", replace(walked, failed_before=True))
    assert answer.memory_text == ("Leads to Cellar, though not always. It did in this state: the trap door is open.")
    assert answer.claims == (Claim(Relation.LEADS, None, "down", 2, "Cellar"),)


def test_what_is_put_down_is_of_this_episode_and_taking_it_again_teaches_nothing():
    put = replace(
        TRUTH,
        inventory_changed=True,
        inventory_before=("brass lamp",),
        moved=(ObjectMoved(7, "brass lamp", 20, "you", 1, "Hall"),),
    )
    dropped = taught("drop lamp", "Dropped.", put)
    assert (dropped.persistence, dropped.memory_text) == ("ephemeral", "The brass lamp is here.")
    kept = Memory("NOTE", "Lamp", 1, "3", 0, "x", "ephemeral", claims=dropped.claims)
    again = taught("take lamp", "Taken.", TOOK, memories=(kept,), moved=frozenset({7}))
    assert again.should_remember is False


def test_where_a_thing_lies_is_not_said_twice():
    seen = Memory("DISCOVERY", FIRST_SIGHT, 1, "0", 0, "x", "core", claims=(Claim(Relation.HERE, 7),))
    assert taught("take lamp", "Taken.", TOOK, memories=(seen,)).should_remember is False


def test_a_first_sight_names_the_things_that_lie_there():
    box = ThingAtHand(9, "coin", 8, "box")
    truth = replace(TRUTH, things=(LAMP, DOOR, WALL, TROLL, box))
    answer = taught("", "Hall\nA tall room.", truth, arrival=True)
    assert answer.memory_text == (
        "Here are the brass lamp (unlit), the oak door (closed) and the troll. In the box is the coin."
    )
    assert (answer.persistence, answer.category) == ("core", "DISCOVERY")
    assert [str(claim) for claim in answer.claims] == [
        "brass lamp #7 here",
        "brass lamp #7 unlit",
        "coin #9 in box #8",
        "oak door #8 here",
        "oak door #8 closed",
        "troll #11 here",
    ]


def test_a_first_sight_leaves_out_what_the_player_has_handled_carries_or_has_just_come():
    carried = ThingAtHand(12, "sword", carried=True)
    came = replace(TRUTH, things=(LAMP, TROLL, carried), moved=(ObjectMoved(11, "troll", 2, "Yard", 1, "Hall"),))
    assert taught("", "Hall", came, arrival=True, handled=frozenset({7})).should_remember is False


def test_a_place_without_things_leaves_no_memory_and_a_dark_one_says_so():
    assert taught("", "Hall\nA tall room.", replace(TRUTH, things=(WALL,)), arrival=True).should_remember is False
    dark = taught("", "It is pitch black.", TRUTH, arrival=True)
    assert (dark.memory_text, dark.claims) == ("It is dark here without a light.", (Claim(Relation.DARK),))


def test_a_first_sight_that_is_known_stays_as_it_is_and_one_that_shows_more_replaces_it():
    known = Memory("DISCOVERY", FIRST_SIGHT, 1, "0", 0, "Known.", "core", claims=LAMP.claims() + DOOR.claims())
    fewer = taught("", "Hall", replace(TRUTH, things=(DOOR,)), arrival=True, memories=(known,))
    assert (fewer.memory_text, fewer.supersedes_memory_titles) == ("Known.", set())
    more = taught("", "Hall", replace(TRUTH, things=(LAMP, DOOR, TROLL)), arrival=True, memories=(known,))
    assert more.supersedes_memory_titles == {FIRST_SIGHT}
    assert "troll" in more.memory_text


def test_a_failure_of_an_older_file_that_is_overcome_is_superseded():
    failed = Memory("FAILURE", title_of("open door", ActionOutcome.FAILS), 1, "1", 0, "text", "permanent")
    assert taught("open door", "It opens.", OPENED, memories=(failed,)).supersedes_memory_titles == {failed.title}


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("One. Two! Three?", 100, "One. Two! Three?"),
        ("One. Two! Three?", 10, "One. Two!"),
        ("One and two and three.", 10, ""),
        ('He says "No." Then he goes.', 15, 'He says "No."'),
        ("", 10, ""),
        ("One.", -5, ""),
    ],
)
def test_texts_are_cut_after_a_sentence(text, limit, kept):
    assert whole_sentences(text, limit) == kept
