"""Tests of the memories that rules make from the facts of a turn."""

from dataclasses import replace

import pytest

from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.losses import Loss, LossCause, LossKind
from zorkgpt.memory.models import Memory, Thing, ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.offline.memory_synthesizer import RuleSynthesizer
from zorkgpt.text import whole_sentences

LAMP = ThingState(7, "brass lamp", states=("unlit",))
DOOR = ThingState(8, "oak door", fixed=True, states=("closed",))
WALL = ThingState(10, "wall", fixed=True)
TROLL = ThingState(11, "troll", fixed=True, alive=True)
TRUTH = ZMachineContext(location_before=1, location_after=1, turn=3, things=(LAMP, DOOR, WALL))
TOOK = replace(
    TRUTH,
    inventory_changed=True,
    inventory_after=("brass lamp",),
    moved=(ObjectMove(7, "brass lamp", 1, "Hall", 20, "you"),),
)
DROPPED = replace(
    TRUTH,
    inventory_changed=True,
    inventory_before=("brass lamp",),
    moved=(ObjectMove(7, "brass lamp", 20, "you", 1, "Hall"),),
)
ANSWER = "All is well in here."
OPENED = replace(TRUTH, changed=(AttributeChange(8, "oak door", "open", True),))


def synthesize(action: str, response: str, truth: ZMachineContext = TRUTH, **more):
    return RuleSynthesizer().synthesize(SynthesisRequest(1, "Hall", action, response, truth, **more))


@pytest.mark.parametrize(
    ("truth", "category", "title", "text"),
    [
        (replace(TRUTH, died=True), "DANGER", "you died, cause unknown", ANSWER),
        (replace(TRUTH, score_delta=5), "SUCCESS", "+5 points", ANSWER),
        (replace(OPENED, score_delta=1), "SUCCESS", "+1 point", f"The oak door is now open. {ANSWER}"),
        (OPENED, "SUCCESS", "works", f"The oak door is now open. {ANSWER}"),
        (
            replace(TRUTH, changed=(AttributeChange(7, "brass lamp", "on", True),)),
            "SUCCESS",
            "works",
            f"The brass lamp is now on. {ANSWER}",
        ),
        (
            replace(TRUTH, moved=(ObjectMove(11, "troll", 1, "Hall", None, "nowhere"),)),
            "SUCCESS",
            "works",
            f'The troll disappeared from "Hall". {ANSWER}',
        ),
        (
            replace(
                TRUTH,
                things=(WALL, DOOR),
                moved=(
                    ObjectMove(10, "wall", None, "", 1, "The Hall"),
                    ObjectMove(8, "oak door", 9, "box", 1, "The Hall"),
                    ObjectMove(12, "coin", 1, "The Hall", 2, "The Yard"),
                    ObjectMove(13, "key", 1, "The Hall", 8, "oak door"),
                ),
            ),
            "SUCCESS",
            "works",
            'The wall moved from nowhere to "The Hall". The oak door moved from the box to "The Hall". '
            'The coin disappeared from "The Hall". The key moved from "The Hall" to the oak door. ' + ANSWER,
        ),
    ],
)
def test_facts_decide_category_and_title(truth, category, title, text):
    answer = synthesize("rub statue", f"[One remark.] {ANSWER}", truth)
    assert (answer.category, answer.memory_title, answer.memory_text, answer.persistence, answer.action) == (
        category,
        f"rub statue: {title}",
        text,
        "permanent",
        "rub statue",
    )


@pytest.mark.parametrize(
    ("action", "truth", "title", "text"),
    [
        ("take lamp", replace(TOOK, score_delta=2), "take lamp: +2 points", "You get the brass lamp."),
        ("open door", OPENED, "open door: works", "The oak door is now open."),
        ("wait", replace(TRUTH, score_delta=2), "wait: +2 points", "wait: +2 points."),
    ],
)
def test_short_response_is_replaced_by_facts(action, truth, title, text):
    answer = synthesize(action, "Done.", truth)
    assert (answer.memory_title, answer.memory_text) == (title, text)


def test_scoring_exit_says_where_it_leads():
    walked = replace(TRUTH, score_delta=5, location_changed=True, location_after=2, destination_name="The Yard")
    answer = synthesize("north", f"The Yard\n{ANSWER}", walked)
    assert (answer.memory_title, answer.memory_text) == ("north: +5 points", "Leads to The Yard.")


def synthesize_loss(cause: LossCause | None, kind: LossKind = LossKind.DEATH, **fields):
    """Return what the rules make of a loss on the command "wait"."""
    loss = Loss(kind, cause, "Something bites you.", **fields)
    truth = replace(TRUTH, died=kind is LossKind.DEATH, loss=loss)
    return synthesize("wait", "Time passes. Something bites you.", truth)


@pytest.mark.parametrize(
    ("cause", "fields", "title", "text", "action"),
    [
        (LossCause.ACTION, {}, "wait: you died", "Something bites you.", "wait"),
        (None, {}, "wait: you died, cause unknown", "Something bites you.", "wait"),
        (LossCause.PLACE, {}, "here: you died", "Something bites you.", ""),
        (
            LossCause.CREATURE,
            {"creature": 11, "creature_name": "troll"},
            "troll: you died",
            "Something bites you.",
            "",
        ),
        (
            LossCause.CLOCK,
            {"clock": 241},
            "time, at turn 241: you died",
            "Something bites you.",
            "",
        ),
        (LossCause.CLOCK, {}, "time: you died", "Something bites you.", ""),
        (
            LossCause.CREATURE,
            {"kind": LossKind.THINGS, "things": ("brass lamp",), "creature": 12, "creature_name": "thief"},
            "thief: you lost the brass lamp",
            "Something bites you.",
            "",
        ),
        (
            LossCause.ACTION,
            {"kind": LossKind.POINTS, "points": 5},
            "wait: you lost 5 points",
            "Something bites you.",
            "wait",
        ),
    ],
)
def test_loss_becomes_a_danger_with_its_cause(cause, fields, title, text, action):
    answer = synthesize_loss(cause, **fields)
    assert (answer.memory_title, answer.memory_text, answer.action) == (title, text, action)
    assert (answer.category, answer.persistence) == ("DANGER", "permanent")


def test_death_in_the_dark_needs_darkness_in_the_state():
    dark = Claim(Relation.DARK)
    truth = replace(TRUTH, died=True, loss=Loss(LossKind.DEATH, LossCause.ACTION, "It bites."))
    answer = synthesize("north", "It is pitch black. It bites.", replace(truth, state=(dark,)))
    assert (answer.memory_title, answer.claims) == ("north: you died in the dark", (dark,))
    answer = synthesize("north", "It is pitch black. It bites.", truth)
    assert (answer.memory_title, answer.claims) == ("north: you died", ())


def test_known_outcome_keeps_its_title_and_text():
    known = Memory("SUCCESS", "The door", 1, "1", 0, "It creaks.", "permanent", action="Open door", outcome="changed")
    again = synthesize("open door", ANSWER, OPENED, memories=(known,))
    assert (again.memory_title, again.memory_text) == ("The door", "It creaks.")
    scored = synthesize("open door", ANSWER, replace(OPENED, score_delta=5), memories=(known,))
    assert scored.memory_title == "open door: +5 points"


@pytest.mark.parametrize(
    "truth",
    [
        replace(TRUTH, nothing_changed=True),
        replace(TRUTH, location_changed=True, location_after=2, destination_name="Yard"),
        replace(TRUTH, changed=(AttributeChange(8, "oak door", "open", False),)),
        replace(TRUTH, changed=(AttributeChange(8, "oak door", "open", True, by_itself=True),)),
        replace(TRUTH, moved=(ObjectMove(9, "jackdaw", 1, "Hall", 2, "Yard", by_itself=True),)),
        replace(TRUTH, moved=(ObjectMove(11, "troll", 1, "Hall", 2, "Yard"),), things=(TROLL,)),
        replace(TRUTH, response_length=300),
    ],
    ids=[
        "refused",
        "a plain way",
        "closed again",
        "opened by itself",
        "somebody wandered",
        "somebody left",
        "much text",
    ],
)
def test_turns_without_a_lesson_are_not_remembered(truth):
    assert synthesize("north", "You can't go that way.", truth).should_remember is False


def test_reopened_exit_lists_what_is_open():
    state = (Claim(Relation.OPEN, 12, "trap door"), Claim(Relation.CARRIED, 7, "bag"), Claim(Relation.OPEN, 7, "bag"))
    walked = replace(TRUTH, location_changed=True, location_after=2, destination_name="Cellar", state=state)
    answer = synthesize("down", "Cellar", replace(walked, failed_before=True))
    nowhere = "Leads to Cellar. It was blocked on an earlier try"
    assert answer.memory_title == "down: leads on"
    assert answer.memory_text == f"{nowhere}, and is passable when the trap door is open."
    assert answer.claims == (Claim(Relation.LEADS, None, "down", 2, "Cellar"),)
    unlocked = (*state, Claim(Relation.OPEN, 8, "gate"), Claim(Relation.UNLOCKED, 8, "gate"))
    answer = synthesize("down", "Cellar", replace(walked, failed_before=True, state=unlocked))
    assert answer.memory_text == (
        f"{nowhere}, and is passable when the trap door is open and the gate is open and the gate is unlocked."
    )
    answer = synthesize("down", "Cellar", replace(walked, failed_before=True, state=()))
    assert answer.memory_text == f"{nowhere}."


@pytest.mark.parametrize(
    ("action", "truth"),
    [
        ("take lamp", TOOK),
        ("drop lamp", DROPPED),
        ("", replace(TRUTH, things=(LAMP, DOOR))),
    ],
)
def test_positions_of_things_are_left_to_the_ledger(action, truth):
    assert synthesize(action, "Done.", truth, arrival=not action).should_remember is False


def test_dark_place_is_remembered_unless_the_state_denies_it():
    dark = synthesize("", "It is pitch black.", TRUTH, arrival=True)
    lit = synthesize("", "Most of the time it is dark here.", replace(TRUTH, all_in_sight=True), arrival=True)
    assert not lit.should_remember
    assert (dark.memory_text, dark.claims) == ("You can't see anything here without a light.", (Claim(Relation.DARK),))


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
def test_text_is_shortened_after_a_sentence(text, limit, kept):
    assert whole_sentences(text, limit) == kept


LETTER = "My dear nephew,\nthe lamp stands in the cellar. Turn it on before dusk, and never, ever open the oak door."


@pytest.mark.parametrize(
    ("action", "response", "truth", "subject", "text"),
    [
        ("read lamp", LETTER, TRUTH, 7, LETTER),
        ("ask stranger about lamp", LETTER, replace(TRUTH, things=()), None, LETTER),
        ("read lamp", "word " * 1000, TRUTH, 7, ("word " * 400)[:1999].rstrip() + "…"),
    ],
)
def test_text_is_remembered_with_its_source(action, response, truth, subject, text):
    answer = synthesize(action, response, truth)
    assert (answer.kind, answer.place, answer.memory_title, answer.memory_text) == ("text", subject, action, text)


@pytest.mark.parametrize(
    ("action", "shown", "edited", "title", "text", "replaced"),
    [
        ("read old lamp", LETTER, False, "read lamp", LETTER, set()),
        ("read lamp", f"(Taken)\n\n{LETTER}\n\nA dog barks.", False, "read lamp", LETTER, set()),
        ("read lamp", "word " * 20, False, "read lamp", ("word " * 20).strip(), {"read lamp"}),
        ("read lamp", "word " * 20, True, None, None, None),
    ],
    ids=["by another name", "with something of the moment", "another text", "edited by a person"],
)
def test_text_is_remembered_once(action, shown, edited, title, text, replaced):
    known = Memory("DISCOVERY", "read lamp", 1, "1", 0, LETTER, "permanent", kind="text", edited_by_person=edited)
    answer = synthesize(action, shown, elsewhere=(LocatedMemory(Thing(7), "brass lamp", known),))
    result = answer.memory_title, answer.memory_text, answer.supersedes_memory_titles
    assert result == (title, text, replaced) if title else not answer.should_remember


def test_changing_parts_of_a_text_are_removed():
    once = Memory("DISCOVERY", "read lamp", 1, "1", 0, f"{LETTER}\n\nA dog barks.", "permanent", kind="text")
    answer = synthesize("read lamp", f"{LETTER}\n\nThe wind howls.", elsewhere=(LocatedMemory(Thing(7), "lamp", once),))
    assert (answer.memory_text, answer.supersedes_memory_titles) == (LETTER, {"read lamp"})


@pytest.mark.parametrize(("action", "response"), [("read lamp", "You can't read a lamp."), ("rub lamp", LETTER)])
def test_short_reply_or_other_verb_is_not_a_text(action, response):
    assert synthesize(action, response).should_remember is False


def test_effect_of_a_command_without_source_includes_its_response():
    answer = synthesize("say sesame", LETTER, OPENED)
    assert (answer.memory_title, answer.also) == ("say sesame: works", ())
    assert "the lamp stands in the cellar" in answer.memory_text


def test_scoring_text_is_remembered_beside_the_points():
    answer = synthesize("read lamp", LETTER, replace(TRUTH, score_delta=2))
    assert (answer.memory_title, [also.kind for also in answer.also]) == ("read lamp: +2 points", ["text"])
    assert answer.memory_text == "read lamp: +2 points."
