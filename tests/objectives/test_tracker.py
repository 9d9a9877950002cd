"""Tests of objectives over turns and episodes."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.objectives import CELLAR, LAMP, a_book, at, turn, walked, wanted
from zorkgpt.memory.objects import ObjectMove
from zorkgpt.objectives.finder import ReachedReport, own_lines
from zorkgpt.objectives.models import (
    EpisodeTurn,
    Objective,
    ObjectiveEvidence,
    ObjectiveStatus,
    Scope,
    merged,
    prompt_line,
    restarted,
)
from zorkgpt.objectives.saved import logged_objective, memory_of, objective_in_log, objectives_of

TAKE = {"kind": "holds", "thing": 10, "scope": "world"}
TAKEN = {"after": at(carried=[LAMP], score=5)}


def status(tracker, one: Objective) -> ObjectiveStatus:
    return tracker.objectives[one.key].status


def idle(tracker, first: int, last: int) -> None:
    for number in range(first, last + 1):
        tracker.update(turn(number))


def test_evidence_is_kept():
    one = wanted("Take the lamp", **TAKE)
    tracker = a_book(one)
    tracker.update(turn(7, "take lamp", **TAKEN))
    assert tracker.objectives[one.key].evidence == (ObjectiveEvidence(EpisodeTurn(1, 7), "game", "take lamp", 5),)
    assert tracker.counts["reached_by_ground_truth"] == 1


def test_already_reached_objective_is_not_credited_to_an_action():
    one = wanted("Have the lamp in the cellar", kind="thing_at", thing=10, place=2, scope="world", places=(2,))
    there = at(CELLAR, visible=[replace(LAMP, parent=2)])
    found, brought = a_book(one), a_book(one)
    found.update(turn(7, "down", after=there))
    put = ObjectMove(LAMP.num, LAMP.name, 4, "you", 2, "Cellar")
    brought.update(turn(7, "drop lamp", before=at(CELLAR, carried=[LAMP]), after=there, moved=(put,)))
    lines = [prompt_line(tracker.objectives[one.key], {2: "Cellar"}) for tracker in (found, brought)]
    wording = "Have the lamp in the cellar; done when the brass lamp is at Cellar (2); reached in episode 1, turn 7"
    assert lines == [wording, f"{wording}, by “drop lamp”"]
    found.start_episode([])
    assert prompt_line(found.objectives[one.key], {}).endswith("; to be done again, found done in episode 1, turn 7")


def test_repeated_turn_counts_once():
    tracker, records = a_book(wanted("Take the lamp", **TAKE)), [turn(1), turn(2, "take lamp", **TAKEN), turn(3)]
    for record in records:
        tracker.update(record)
    once = dict(tracker.objectives), dict(tracker.counts)
    for record in records:
        tracker.update(record)
    assert (tracker.objectives, tracker.counts) == once


def test_objective_without_progress_becomes_stale_and_is_dropped():
    one, other = wanted("Find out who lives here"), wanted("Take the lamp", since=3, kind="holds", thing=10)
    tracker = a_book(one, other, stale_after=5)
    idle(tracker, 1, 4)
    assert [status(tracker, one), status(tracker, other)] == [ObjectiveStatus.OPEN, ObjectiveStatus.OPEN]
    idle(tracker, 5, 7)
    assert [status(tracker, one), status(tracker, other)] == [ObjectiveStatus.STALE, ObjectiveStatus.OPEN]
    assert [shown.text for shown in tracker.pursued()] == [other.text, one.text]
    idle(tracker, 8, 10)
    assert [status(tracker, one), status(tracker, other)] == [ObjectiveStatus.ABANDONED, ObjectiveStatus.STALE]
    assert tracker.objectives[one.key].given_up == (1,)


def test_progress_keeps_an_objective_fresh():
    one = wanted("See the cellar", places=(2,))
    tracker = a_book(one, stale_after=5)
    idle(tracker, 1, 6)
    assert status(tracker, one) is ObjectiveStatus.STALE
    tracker.update(turn(7, "down", after=at(CELLAR)))
    assert status(tracker, one) is ObjectiveStatus.OPEN
    assert tracker.objectives[one.key].progressed == 7


def test_dropped_objective_can_still_be_reached():
    one = wanted("Take the lamp", **TAKE)
    tracker = a_book(one, stale_after=1)
    idle(tracker, 1, 5)
    assert status(tracker, one) is ObjectiveStatus.ABANDONED
    tracker.update(turn(6, "take lamp", **TAKEN))
    assert status(tracker, one) is ObjectiveStatus.REACHED


def test_repeated_proposal_revives_the_objective():
    tracker = a_book(wanted("Find out who lives here"), stale_after=2)
    idle(tracker, 1, 3)
    tracker.add([wanted("find out who LIVES here!", since=3)])
    [one] = tracker.pursued()
    assert (one.text, one.status, one.progressed) == ("Find out who lives here", ObjectiveStatus.OPEN, 3)
    assert (tracker.counts["discovered"], tracker.counts["taken_up_again"]) == (1, 1)


def test_world_objective_is_wanted_again_after_a_restart():
    take = wanted("Take the lamp", **TAKE)
    way = wanted("Try north", kind="way_tried", place=1, way="north", scope="world")
    mine = wanted("Go back for the lamp", kind="thing_at", thing=10, place=2)
    tracker = a_book(take, way, mine)
    tracker.update(turn(1, "take lamp", **TAKEN))
    tracker.update(turn(2, "n"))
    tracker.start_episode([])
    assert {objective.text: objective.status for objective in tracker.objectives.values()} == {
        "Take the lamp": ObjectiveStatus.OPEN,
        "Try north": ObjectiveStatus.REACHED,
    }
    assert tracker.objectives[take.key].evidence[0].turn == EpisodeTurn(1, 1)
    assert (tracker.last, tracker.visited, tracker.things, dict(tracker.counts)) == (None, {}, {}, {})


def test_unreached_objective_is_given_up_after_three_episodes():
    vain = replace(wanted("Take the lamp", **TAKE), given_up=(1, 2, 3))
    assert restarted(vain).status is ObjectiveStatus.ABANDONED
    once = replace(vain, evidence=(ObjectiveEvidence(EpisodeTurn(1, 4), "game", "take lamp"),))
    assert restarted(once).status is ObjectiveStatus.OPEN
    assert restarted(replace(vain, given_up=(1, 2))).status is ObjectiveStatus.OPEN


def test_dropped_objective_is_pursued_again_in_the_next_episode():
    tracker = a_book(wanted("Take the lamp", **TAKE))
    for episode in (1, 2, 3):
        assert [objective.text for objective in tracker.pursued()] == ["Take the lamp"]
        tracker.accept_claims([], EpisodeTurn(episode, 1), ["Take the lamp"])
        assert tracker.pursued() == []
        saved = objectives_of(map(memory_of, tracker.lasting()))
        tracker.end_episode()
        tracker.start_episode(saved)
    assert tracker.pursued() == []
    tracker.add([wanted("Take the lamp", episode=4, **TAKE)])
    assert [objective.text for objective in tracker.pursued()] == ["Take the lamp"]


def test_verdict_requires_words_of_a_later_turn():
    one = wanted("Find out who lives here", since=2, done_when="Somebody says so.")
    other = wanted("Take the lamp", **TAKE)
    turns = {2: turn(2, "knock", "The miller lives here."), 3: turn(3, "ask", "“The  Miller,\nof course,” she says.")}
    tracker = a_book(one, other)
    wrong = [
        ReachedReport(one.key, 3, "The smith, of course"),
        ReachedReport(one.key, 2, "The miller lives here"),
        ReachedReport(one.key, 4, "The Miller"),
        ReachedReport(one.key, 3, "..."),
        ReachedReport(one.key, 3, "she says"),
        ReachedReport(one.key, 3, "iller, of course"),
        ReachedReport(other.key, 3, "The Miller"),
        ReachedReport("text:never heard of", 3, "The Miller"),
    ]
    tracker.accept_reports(wrong, turns)
    assert len(tracker.pursued()) == 2
    assert tracker.counts["unsupported"] == 6
    tracker.accept_reports([ReachedReport(one.key, 3, "the miller, of course")], turns)
    assert tracker.objectives[one.key].evidence == (
        ObjectiveEvidence(EpisodeTurn(1, 3), "model", "the miller, of course"),
    )
    assert status(tracker, one) is ObjectiveStatus.REACHED


def test_short_response_can_be_quoted_whole():
    one = wanted("Close the lid")
    tracker = a_book(one)
    tracker.accept_reports([ReachedReport(one.key, 1, "Closed")], {1: turn(1, "close lid", "Closed.\n")})
    assert status(tracker, one) is ObjectiveStatus.REACHED


def test_refining_drops_the_others():
    one, two, three = (wanted(f"Find number {word}", scope="world") for word in ("one", "two", "three"))
    tracker = a_book(one, two, three)
    tracker.prioritize([three.key, one.key, "text:never heard of"], among={one.key, two.key, three.key})
    assert [shown.text for shown in tracker.pursued()] == [three.text, one.text]
    assert status(tracker, two) is ObjectiveStatus.ABANDONED
    assert tracker.objectives[two.key].given_up == ()
    tracker.start_episode([])
    assert len(tracker.pursued()) == 3


@pytest.mark.slow
def test_tracker_is_restored_from_the_log():
    records = walked()
    tracker = a_book(
        wanted("Get fifty points", kind="score", points=50), wanted("Find out who lives here"), stale_after=20
    )
    for record in records[:40]:
        tracker.update(record)
    again = a_book(stale_after=20)
    for record in records[:40]:
        again.update(record)
    logged = json.loads(json.dumps([logged_objective(each) for each in tracker.of_episode(1)]))
    again.replace_all(map(objective_in_log, logged), tracker.counts)
    for record in records:
        tracker.update(record)
        again.update(record)
    assert (again.objectives, again.counts) == (tracker.objectives, tracker.counts)
    assert tracker.counts["reached_by_ground_truth"] == 1


MOMENTS = st.builds(EpisodeTurn, st.integers(1, 4), st.integers(0, 4))
EVIDENCE = st.builds(
    ObjectiveEvidence, MOMENTS, st.sampled_from(["game", "model"]), st.text(max_size=3), st.integers(0, 5)
)
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
def test_merging_is_commutative_and_idempotent(one, two, three):
    assert merged(one, two) == merged(two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))
    assert merged(one, one) == one


@given(RECORDS)
def test_record_is_read_back(one):
    memory = memory_of(one)
    assert objectives_of([replace(memory, metadata=json.loads(json.dumps(memory.metadata)))]) == [restarted(one)]


@pytest.mark.parametrize("claim", ["0", "2", "-1", "1" * 5000, "²", "", "find out", "`1`\n2"])
def test_claim_that_names_no_objective_settles_none(claim):
    tracker = a_book(wanted("Find out who lives here"))
    tracker.accept_claims([claim], EpisodeTurn(1, 3))
    assert tracker.counts["unsupported"] == 1
    assert len(tracker.pursued()) == 1


def test_players_decision_is_saved():
    one = wanted("Find out who lives here", scope="world")
    tracker = a_book(one)
    tracker.accept_claims(["1"], EpisodeTurn(1, 3))
    kept = tracker.objectives[one.key]
    assert kept.evidence == (ObjectiveEvidence(EpisodeTurn(1, 3), "player", ""),)
    assert objectives_of([memory_of(kept)])[0].evidence == kept.evidence
    assert "the game said" not in prompt_line(kept, {})


def test_player_drops_objectives_by_number():
    tracker = a_book(wanted("Reach the roof"), wanted("Feed the cat"), wanted("Find a rope"))
    first, second, third = (objective.text for objective in tracker.pursued())
    lines = own_lines("I am done.\nDONE: 1\nDROP OBJECTIVE: 2.\nDROP OBJECTIVE: 9")
    tracker.accept_claims(lines.done, EpisodeTurn(1, 4), lines.dropped)
    assert [objective.text for objective in tracker.pursued()] == [third]
    statuses = {objective.text: objective.status for objective in tracker.settled()}
    assert statuses == {first: ObjectiveStatus.REACHED, second: ObjectiveStatus.ABANDONED}
    assert (tracker.counts["dropped_by_player"], tracker.counts["unsupported"]) == (1, 1)
