"""What becomes of objectives over turns and episodes."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.objectives import CELLAR, LAMP, a_book, at, turn, walked, wanted
from zorkgpt.objectives.file import book_to_dict, kept, objective_of, restore_book
from zorkgpt.objectives.finder import Judgement
from zorkgpt.objectives.models import Evidence, Moment, Objective, Scope, Status, merged, restarted

TAKE = {"kind": "holds", "thing": 10, "scope": "world"}
TAKEN = {"after": at(carried=[LAMP], score=5)}


def status(book, one: Objective) -> Status:
    return book.objectives[one.key].status


def idle(book, first: int, last: int) -> None:
    for number in range(first, last + 1):
        book.take_over(turn(number))


def test_what_shows_it_is_kept_with_it():
    one = wanted("Take the lamp", **TAKE)
    book = a_book(one)
    book.take_over(turn(7, "take lamp", **TAKEN))
    assert book.objectives[one.key].evidence == (Evidence(Moment(1, 7), "game", "take lamp", 5),)
    assert book.counts["reached_by_ground_truth"] == 1


def test_a_turn_taken_over_twice_counts_once():
    book, records = a_book(wanted("Take the lamp", **TAKE)), [turn(1), turn(2, "take lamp", **TAKEN), turn(3)]
    for record in records:
        book.take_over(record)
    once = book_to_dict(book)
    for record in records:
        book.take_over(record)
    assert book_to_dict(book) == once


def test_without_progress_it_turns_stale_then_it_is_dropped():
    one, other = wanted("Find out who lives here"), wanted("Take the lamp", since=3, kind="holds", thing=10)
    book = a_book(one, other, stale_after=5)
    idle(book, 1, 4)
    assert [status(book, one), status(book, other)] == [Status.OPEN, Status.OPEN]
    idle(book, 5, 7)
    assert [status(book, one), status(book, other)] == [Status.STALE, Status.OPEN]
    assert [shown.text for shown in book.pursued()] == [other.text, one.text]
    idle(book, 8, 10)
    assert [status(book, one), status(book, other)] == [Status.ABANDONED, Status.STALE]
    assert book.objectives[one.key].given_up == (1,)


def test_what_comes_of_it_keeps_it_fresh():
    one = wanted("See the cellar", places=(2,))
    book = a_book(one, stale_after=5)
    idle(book, 1, 6)
    assert status(book, one) is Status.STALE
    book.take_over(turn(7, "down", after=at(CELLAR)))
    assert status(book, one) is Status.OPEN
    assert book.objectives[one.key].progressed == 7


def test_what_was_dropped_can_still_be_reached():
    one = wanted("Take the lamp", **TAKE)
    book = a_book(one, stale_after=1)
    idle(book, 1, 5)
    assert status(book, one) is Status.ABANDONED
    book.take_over(turn(6, "take lamp", **TAKEN))
    assert status(book, one) is Status.REACHED


def test_what_is_wanted_again_is_not_doubled_but_taken_up_again():
    book = a_book(wanted("Find out who lives here"), stale_after=2)
    idle(book, 1, 3)
    book.add([wanted("find out who LIVES here!", since=3)])
    [one] = book.pursued()
    assert (one.text, one.status, one.progressed) == ("Find out who lives here", Status.OPEN, 3)
    assert (book.counts["discovered"], book.counts["taken_up_again"]) == (1, 1)


def test_of_the_world_it_outlives_the_episode_and_what_the_restart_undid_is_wanted_again():
    take = wanted("Take the lamp", **TAKE)
    way = wanted("Try north", kind="way_tried", place=1, way="north", scope="world")
    mine = wanted("Go back for the lamp", kind="thing_at", thing=10, place=2)
    book = a_book(take, way, mine)
    book.take_over(turn(1, "take lamp", **TAKEN))
    book.take_over(turn(2, "n"))
    book.restart([])
    assert {one.text: one.status for one in book.objectives.values()} == {
        "Take the lamp": Status.OPEN,
        "Try north": Status.REACHED,
    }
    assert book.objectives[take.key].evidence[0].moment == Moment(1, 1)
    assert (book.last, book.visited, book.things, dict(book.counts)) == (None, set(), {}, {})


def test_it_is_given_up_for_good_after_three_episodes_in_vain_unless_it_was_ever_reached():
    vain = replace(wanted("Take the lamp", **TAKE), given_up=(1, 2, 3))
    assert restarted(vain).status is Status.ABANDONED
    once = replace(vain, evidence=(Evidence(Moment(1, 4), "game", "take lamp"),))
    assert restarted(once).status is Status.OPEN
    assert restarted(replace(vain, given_up=(1, 2))).status is Status.OPEN


def test_a_reader_s_judgement_needs_the_words_of_a_turn_after_it_was_set():
    one = wanted("Find out who lives here", since=2, done_when="Somebody says so.")
    other = wanted("Take the lamp", **TAKE)
    turns = {2: turn(2, "knock", "The miller lives here."), 3: turn(3, "ask", "“The  Miller,\nof course,” she says.")}
    book = a_book(one, other)
    wrong = [
        Judgement(one.key, 3, "The smith, of course"),
        Judgement(one.key, 2, "The miller lives here"),
        Judgement(one.key, 4, "The Miller"),
        Judgement(one.key, 3, "..."),
        Judgement(one.key, 3, "she says"),
        Judgement(one.key, 3, "iller, of course"),
        Judgement(other.key, 3, "The Miller"),
        Judgement("text:never heard of", 3, "The Miller"),
    ]
    book.judge(wrong, turns)
    assert len(book.pursued()) == 2
    assert book.counts["unsupported"] == 6
    book.judge([Judgement(one.key, 3, "the miller, of course")], turns)
    assert book.objectives[one.key].evidence == (Evidence(Moment(1, 3), "model", "the miller, of course"),)
    assert status(book, one) is Status.REACHED


def test_a_short_answer_of_the_game_may_be_quoted_whole():
    one = wanted("Close the lid")
    book = a_book(one)
    book.judge([Judgement(one.key, 1, "Closed")], {1: turn(1, "close lid", "Closed.\n")})
    assert status(book, one) is Status.REACHED


def test_refining_lays_aside_what_is_left_out_and_reaches_nothing():
    one, two, three = (wanted(f"Find number {word}", scope="world") for word in ("one", "two", "three"))
    book = a_book(one, two, three)
    book.keep([three.key, one.key, "text:never heard of"])
    assert [shown.text for shown in book.pursued()] == [three.text, one.text]
    assert status(book, two) is Status.ABANDONED
    assert book.objectives[two.key].given_up == ()
    book.restart([])
    assert len(book.pursued()) == 3


def test_a_book_comes_back_from_plain_values_and_goes_on_the_same():
    records = walked()
    book = a_book(
        wanted("Get fifty points", kind="score", points=50), wanted("Find out who lives here"), stale_after=20
    )
    for record in records[:40]:
        book.take_over(record)
    again = a_book(stale_after=20)
    restore_book(again, json.loads(json.dumps(book_to_dict(book))))
    for record in records:
        book.take_over(record)
        again.take_over(record)
    assert book_to_dict(again) == book_to_dict(book)
    assert book.counts["reached_by_ground_truth"] == 1


MOMENTS = st.builds(Moment, st.integers(1, 4), st.integers(0, 4))
EVIDENCE = st.builds(Evidence, MOMENTS, st.sampled_from(["game", "model"]), st.text(max_size=3), st.integers(0, 5))
RECORDS = st.builds(
    lambda text, origin, evidence, given_up: (
        Objective(
            text, wanted("x", **TAKE).condition, origin, Scope.WORLD, evidence=(), given_up=tuple(sorted(given_up))
        )
        if not evidence
        else merged(
            Objective(text, wanted("x", **TAKE).condition, origin, Scope.WORLD, evidence=tuple(evidence)),
            Objective(text, wanted("x", **TAKE).condition, origin, Scope.WORLD, given_up=tuple(sorted(given_up))),
        )
    ),
    st.text(max_size=3),
    MOMENTS,
    st.lists(EVIDENCE, max_size=7),
    st.sets(st.integers(1, 4)),
)


@given(RECORDS, RECORDS, RECORDS)
def test_records_merge_in_any_order_and_twice(one, two, three):
    assert merged(one, two) == merged(two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))
    assert merged(one, one) == one


@given(RECORDS)
def test_what_is_kept_is_read_back(one):
    assert objective_of(json.loads(json.dumps(kept(one)))) == one
