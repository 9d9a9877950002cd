"""What turns teach by rules alone, and what they say of lines that are there."""

from dataclasses import replace

import pytest

from game_interface.models import Item, Location
from tests.fixtures.knowledge import a_line, an_episode
from tests.fixtures.turns import a_turn
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.synthesis import EpisodeReview, TurnReview
from zorkgpt.memory.objects import AttributeChange
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer

LAMP = Item(9, "brass lamp", 1)
BELL = Item(8, "silver bell", 5)
DIES = "“go in” at Kitchen (5) is deadly: It bites."
SCORES = "“take lamp” at Kitchen (5) scores 5 points."


def learned(*turns, known=(), earlier=(), origins=None):
    episodes = origins or {}
    return RuleKnowledgeSynthesizer().lessons(
        TurnReview(2, turns, known, earlier, turns_of=lambda episode: episodes.get(episode, ()))
    )


def new(*turns, **fields) -> list[tuple[str, str]]:
    return [(lesson.section, lesson.text) for lesson in learned(*turns, **fields).new]


def said_of(text: str, origin: list, *turns) -> str:
    """What the turns of a second episode say of a line that the last turn of the first one taught."""
    line = a_line(text, first_turn=len(origin), last_turn=len(origin))
    played = [replace(turn, episode=2, turn=at) for at, turn in enumerate(turns, 1)]
    answer = learned(*played[-1:], known=(line,), earlier=tuple(played[:-1]), origins={1: origin})
    return "confirmed" if answer.confirmed else "contradicted" if answer.contradicted else "open"


# What is taught


def test_a_death_is_a_danger_with_the_last_words_before_it():
    response = (
        "Hall\nA long hall. " + "It goes on. " * 20 + "It bites.\n\n   ****  You have died  ****\n\nAnother chance."
    )
    [(section, text)] = new(a_turn(3, "Go  In", response, died=True))
    assert (section, text.split(": ")[0]) == ("dangers", "“go in” at Kitchen (5) is deadly")
    assert text.endswith("It goes on. It bites.")


def test_points_are_a_solution_with_where_it_leads_and_what_was_done_there_before():
    turns = an_episode(
        a_turn(0, "take lamp", "Taken.", score=5),
        a_turn(0, "pull rope", changed=[AttributeChange(7, "trap door", "open", True)], carried=[LAMP]),
        a_turn(0, "push bell", effective=False, carried=[LAMP]),
        a_turn(0, "north", changed=[AttributeChange(8, "grass", "open", True)], carried=[LAMP]),
        a_turn(0, "down", "Cellar", score=1, place_after=Location(6, "Cellar"), carried=[LAMP]),
    )
    assert new(*turns) == [
        ("puzzles", "“take lamp” at Kitchen (5) scores 5 points."),
        (
            "puzzles",
            "“down” at Kitchen (5) scores 1 point and leads to Cellar (6), after “pull rope”.",
        ),
    ]


def test_the_same_death_in_other_words_is_no_second_danger():
    dead = a_turn(3, "go in", "It bites hard.", died=True)
    answer = learned(dead, dead, known=(a_line(DIES),))
    assert (answer.new, answer.confirmed) == ([], [1])


def test_a_command_that_never_reaches_the_game_is_syntax():
    assert new(a_turn(1, "save", "Saving is not for players.", refused="no")) == [
        ("syntax", "“save” is not accepted: Saving is not for players.")
    ]


def test_the_form_of_commands_that_worked_with_different_things_is_syntax():
    attempts = [
        a_turn(1, "put silver bell in brass lamp", carried=[LAMP], visible=[BELL]),
        a_turn(2, "put lamp in bell", carried=[LAMP], visible=[BELL]),
        a_turn(3, "take lamp", visible=[LAMP]),
        a_turn(4, "take lamp", visible=[LAMP]),
        a_turn(5, "wave lamp", carried=[LAMP], effective=False),
        a_turn(6, "wave bell", carried=[BELL], effective=False),
    ]
    form = ("syntax", "The parser understands “put … in …”, for example “put silver bell in brass lamp”.")
    assert new(*attempts) == [form]
    assert new(attempts[1], earlier=attempts[:1]) == [form]
    known = (a_line(form[1]),)
    assert (new(*attempts, known=known), learned(*attempts, known=known).confirmed) == ([], [1])


def test_what_the_parser_refuses_is_no_knowledge():
    attempts = [
        a_turn(at, f"push {what}", "That does nothing.", effective=False) for at, what in enumerate(("a", "b", "c"))
    ]
    assert new(*attempts) == []


def test_a_line_of_long_names_and_commands_still_fits():
    name, act = "a very long name " * 20, "put the thing in the other thing " * 10
    done = [
        a_turn(0, f"{at} {act}", place=Location(5, name), changed=[AttributeChange(7, "x", "open", True)])
        for at in range(3)
    ]
    scored = a_turn(0, act, score=5, place=Location(5, name), place_after=Location(6, name))
    dead = a_turn(0, act, "It bites. " * 90, died=True, place=Location(5, name))
    texts = [text for _, text in new(*an_episode(*done, scored, dead))]
    assert [len(text) <= 400 for text in texts] == [True] * 2
    assert [" is deadly: " in text for text in texts] == [True, False]


def test_of_forms_only_a_handful_is_kept():
    verbs = [f"verb{number}" for number in range(12)]
    attempts = [a_turn(1, f"{verb} {what}", carried=[LAMP, BELL]) for verb in verbs for what in ("lamp", "bell")]
    assert len(new(*attempts)) == 8


# What turns say of a line


def test_a_solution_is_confirmed_by_by_the_same_action_whatever_the_state():
    origin = an_episode(a_turn(0, "take lamp", score=5))
    assert said_of(SCORES, origin, a_turn(0, "take lamp", score=5, carried=[BELL])) == "confirmed"


@pytest.mark.parametrize(
    ("text", "action", "outcome"),
    [
        (SCORES, "take lamp", {"score": 5}),
        (DIES, "go in", {"died": True}),
    ],
)
def test_the_same_action_in_the_same_state_with_another_outcome_contradicts(text, action, outcome):
    turn, otherwise = a_turn(0, action, **outcome), a_turn(0, action)
    assert said_of(text, an_episode(turn), otherwise) == "contradicted"
    assert said_of(text, an_episode(a_turn(0), turn), a_turn(0), otherwise) == "contradicted"


def opened(**fields):
    return a_turn(0, "open chest", **{"changed": [AttributeChange(7, "chest", "open", True)]} | fields)


@pytest.mark.parametrize(
    ("before", "turn"),
    [
        ((), {"place": Location(6, "Yard")}),
        ((), {"action": "take bell"}),
        ((), {"carried": [LAMP]}),
        ((), {"visible": [BELL]}),
        ((), {"dark": True}),
        ((), {"vehicle": Location(3, "boat")}),
        ((), {"fault": "hung"}),
        ((), {"refused": "no"}),
        ((), {"score_before": 9, "score": 9}),
        ((), {"carried": None}),
        ((opened(place=Location(4, "Hall")),), {}),
    ],
    ids=[
        "another place",
        "another action",
        "more in hand",
        "more in sight",
        "in the dark",
        "in a vehicle",
        "the interpreter failed",
        "it never reached the game",
        "other points before",
        "not known what was in hand",
        "something is open elsewhere",
    ],
)
def test_another_action_or_state_contradicts_nothing(before, turn):
    origin = an_episode(a_turn(0, "take lamp", score=5))
    refused = a_turn(0, **{"action": "take lamp", "response": "You can't.", "effective": False} | turn)
    assert said_of(SCORES, origin, *before, refused) == "open"


def test_a_refusal_before_what_was_done_there_the_first_time_contradicts_nothing():
    looked = a_turn(0, "examine shelf")
    origin = an_episode(looked, a_turn(0, "take lamp", score=5))
    assert said_of(SCORES, origin, a_turn(0, "wait"), a_turn(0, "take lamp", effective=False)) == "open"
    assert said_of(SCORES, origin, looked, a_turn(0, "take lamp", effective=False)) == "contradicted"


def test_what_was_opened_and_closed_again_is_as_it_was():
    closed = a_turn(0, "close chest", place=Location(4, "Hall"), changed=[AttributeChange(7, "chest", "open", False)])
    origin = an_episode(a_turn(0), a_turn(0), a_turn(0, "take lamp", score=5))
    refused = a_turn(0, "take lamp", effective=False)
    assert said_of(SCORES, origin, opened(place=Location(4, "Hall")), closed, refused) == "contradicted"
    assert said_of(SCORES, origin, opened(place=Location(4, "Hall")), a_turn(0), refused) == "open"


def test_points_are_given_once_so_a_second_try_in_the_same_episode_says_nothing():
    origin = an_episode(a_turn(0, "take lamp", score=5))
    scored = a_turn(0, "take lamp", score=5)
    assert said_of(SCORES, origin, scored, a_turn(0, "drop lamp"), a_turn(0, "take lamp")) == "open"


def test_a_line_whose_turn_is_not_at_hand_is_not_contradicted():
    assert said_of(SCORES, [], a_turn(0, "take lamp", effective=False)) == "open"
    other = an_episode(a_turn(0, "take bell", score=5))
    assert said_of(SCORES, other, a_turn(0, "take lamp", effective=False)) == "open"


@pytest.mark.parametrize(
    ("text", "turn", "outcome"),
    [
        (DIES, a_turn(7, "go in", died=True), "confirmed"),
        ("“take lamp” at Kitchen (5) scores 5: Taken.", a_turn(7, "take lamp", score=5), "confirmed"),
        ("“save” is not accepted: No.", a_turn(7, "save", refused="no"), "confirmed"),
        ("“save” is not accepted: No.", a_turn(7, "save"), "contradicted"),
        ("The parser understands “push …”, for example “push wall”.", a_turn(7, "push", effective=False), "open"),
        ("Lamps burn out.", a_turn(7, "go in"), "open"),
    ],
)
def test_what_a_turn_says_of_a_line_without_its_state(text, turn, outcome):
    assert said_of(text, [], turn) == outcome


def test_a_miss_never_strikes_what_held_in_the_same_look_back():
    turns = [a_turn(at, "attack rat") for at in range(1, 6)] + [a_turn(6, "attack rat", score=5)]
    answer = learned(*turns, known=(a_line("“attack rat” at Kitchen (5) scores 5 points."),))
    assert (answer.confirmed, answer.contradicted) == ([1], [])


# Of a whole episode


def test_an_episode_that_beat_the_others_teaches_the_order_of_its_points():
    story = EpisodeReview(
        3,
        "turn limit",
        (a_turn(1, "take lamp", score=5), a_turn(2, "take gem", score_before=5, score=9)),
        learned_until=2,
    )
    [insight] = RuleKnowledgeSynthesizer().wisdom(story).new
    assert insight.text == (
        "Episode 3 scored 9 points in 2 turns, in this order: “take lamp” at Kitchen (5), “take gem” at Kitchen (5)."
    )
    known: KnowledgeLine = a_line(insight.text)
    assert RuleKnowledgeSynthesizer().wisdom(replace(story, known=(known,))).new == []
    slower = a_line(insight.text.replace("in 2 turns", "in 3 turns"))
    assert RuleKnowledgeSynthesizer().wisdom(replace(story, known=(slower,))).new == [insight]


def test_the_last_turns_of_an_episode_teach_what_turns_teach():
    turns = (a_turn(1, "eat toad", "You die.", died=True), a_turn(2, "eat newt", "You die too.", died=True))
    answer = RuleKnowledgeSynthesizer().wisdom(EpisodeReview(1, "death", turns, learned_until=1))
    assert [(one.section, one.turns) for one in answer.new] == [("dangers", [2])]


def test_an_order_that_is_too_long_for_a_line_says_how_much_is_missing():
    turns = tuple(a_turn(at, f"take thing number {at}", score_before=at - 1, score=at) for at in range(1, 31))
    [insight] = RuleKnowledgeSynthesizer().wisdom(EpisodeReview(1, "turn limit", turns, learned_until=30)).new
    assert len(insight.text) <= 400
    assert insight.text.endswith(" more.")
