"""Tests of what was remembered at the end of a turn, from the journal and the logs."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from session.history import TurnRecord
from tests.fixtures.memory import Answers, memory, remember
from tests.fixtures.runs import AfterTurn, a_run, a_walkthrough
from tests.fixtures.stores import journal_file, past_of
from zorkgpt.cli.memories import app
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.provenance import is_known
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.lasting import by_place
from zorkgpt.memory.upkeep.undoing import undo_since
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.viewer.memory_threads import MemoryThreads
from zorkgpt.viewer.run_files import open_run


class Play:
    """A manager that copies all memories after every turn."""

    def __init__(self, folder, episode):
        self.state = SimpleNamespace(episode_id=episode, turn_count=0)
        self.manager = SimpleMemoryManager(game_state=self.state, path=folder / "Memories.md")
        self.seen = {}

    def turn(self, number, *changes):
        self.state.turn_count = number
        for change in changes:
            change(self.manager)
        self.seen[self.state.episode_id, number] = self.lasting()
        self.manager.process_turn()

    def lasting(self):
        self.manager.all_memories()
        return {place: list(kept) for place, kept in self.manager.memory_cache.items()}


def adds(title, place=5, persistence="permanent"):
    return lambda manager: manager.add_memory(place, "Hall", memory(title, persistence, episode=2, turns="1"))


def invalidates(title, place=5):
    return lambda manager: manager.invalidate_memory(place, title, "wrong")


def updates(title, place=5):
    return lambda manager: manager.update(title, place, text="The bell rings at noon.")


def test_memories_as_of_every_turn(tmp_path):
    play = Play(tmp_path, 2)
    play.turn(1)
    play.turn(2, adds("A"), adds("B"), adds("C", 6))
    play.turn(5, invalidates("A"))
    play.turn(7, updates("C", 6))
    play.turn(9, adds("B"))
    play.state.episode_id = 3
    play.turn(1, adds("D"))
    for (episode, turn), expected in play.seen.items():
        assert play.manager.as_of(episode, turn) == expected
    assert play.manager.as_of(2, 4) == play.seen[2, 2]
    assert play.manager.as_of(2, 400) == play.seen[2, 9]
    assert play.manager.as_of(1, 400) == {}
    assert play.manager.as_of(4, 1) == play.seen[3, 1]


def test_as_of_after_a_restored_journal(tmp_path):
    play = Play(tmp_path, 2)
    play.turn(1, adds("A"))
    point = play.manager.snapshot()
    play.turn(2, adds("B"), invalidates("A"))
    play.turn(3, adds("C"))
    path = tmp_path / "Memories.md"
    reader = MemoryThreads(path.parent)
    reader.refresh(path.name)
    assert len(reader.of_place(5)) == 3
    resumed = Play(tmp_path, 2)
    resumed.manager.revert_to(point)
    resumed.turn(2, adds("Another"))
    resumed.turn(3)
    for turn, titles in ((1, ["A"]), (2, ["A", "Another"]), (9, ["A", "Another"])):
        assert [memory.title for memory in resumed.manager.as_of(2, turn)[5]] == titles
    reader.refresh(path.name)
    assert [[version["kind"] for version in thread] for thread in reader.of_place(5)] == [["added"], ["added"]]


@pytest.mark.parametrize("persistence", ["permanent", "ephemeral"])
def test_repeated_turn_counts_as_the_latest(tmp_path, persistence):
    play = Play(tmp_path, 2)
    for turn, title in ((5, "A"), (7, "B"), (3, "C")):
        play.turn(turn, adds(title, persistence=persistence))
    past = past_of(tmp_path / "Memories.md")
    titles = [[memory.title for memory in past(2, turn).get(5, ())] for turn in (4, 6, 7)]
    assert titles == [[], ["A"], ["A", "B", "C"]]


def test_changes_after_the_last_turn_belong_to_it_until_the_next_one(tmp_path):
    play = Play(tmp_path, 2)
    play.turn(1, adds("A"))
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as by_hand:
        by_hand.add_memory(5, "Hall", memory("By hand"))

    def titles(turn):
        return [memory.title for memory in past_of(tmp_path / "Memories.md")(2, turn)[5]]

    assert titles(1) == ["A", "By hand"]
    play.turn(2)
    assert (titles(1), titles(2)) == (["A"], ["A", "By hand"])


def test_memories_older_than_the_journal_were_always_there(tmp_path):
    path = tmp_path / "Memories.md"
    play = Play(tmp_path, 1)
    play.turn(1, adds("Old"))
    journal_file(path).unlink()
    play = Play(tmp_path, 2)
    play.turn(3, adds("New"))
    assert [memory.title for memory in play.manager.as_of(2, 2)[5]] == ["Old"]
    assert [memory.title for memory in play.manager.as_of(2, 3)[5]] == ["Old", "New"]


def test_edit_in_the_file_belongs_to_the_turn_that_finds_it(tmp_path):
    path = tmp_path / "Memories.md"
    play = Play(tmp_path, 2)
    play.turn(1, adds("A"))
    play.turn(7)
    path.write_text(path.read_text().replace("The text of A.", "Said better."))
    play.turn(8, adds("B"))
    texts = [[memory.text for memory in play.manager.as_of(2, turn)[5]] for turn in (1, 7, 8, 9)]
    assert texts == [["The text of A."]] * 2 + [["Said better.", "The text of B."]] * 2


def test_every_view_has_an_edit_in_the_same_turn(tmp_path):
    """A memory is learned in turn 5 and edited in turn 20."""
    path = tmp_path / "Memories.md"

    def learn():
        run.simple_memory.add_memory(181, "Hall", memory("Bell", episode=1, turns="5"))

    def edit():
        path.write_text(path.read_text().replace("The text of Bell.", "Said better."))

    watchers = (AfterTurn(5, learn), AfterTurn(19, edit))
    with a_walkthrough(tmp_path, *["wait"] * 25, turns=25, watchers=watchers) as run:
        run.play_episode()
    files = open_run(tmp_path)
    with SimpleMemoryManager.open(path) as manager:
        bell = manager.get("Bell")
        [explained] = manager.explain("Bell")

        def as_of(turn):
            return [memory.text for memory in manager.as_of(1, turn).get(181, ())]

        def of_history(turn):
            changes = [each for each in manager.history(bell.id) if (each.episode, each.turn) <= (1, turn)]
            return [each.after.text for each in changes[-1:]]

        def explanation(turn):
            records = [each for each in explained.records if (1, each.turn_stamp.turn) <= (1, turn)]
            return [each.change.after.text for each in records[-1:]]

        def moment(turn):
            last = [each for each in manager.history() if each.turn is None or each.turn <= turn][-1]
            by_position, by_time = (manager.as_of(moment=at).get(181, []) for at in (last.position, last.at))
            assert by_position == by_time
            return [memory.text for memory in by_time]

        def page_of_history(turn):
            pages = [manager.history(after=each.position, limit=1) for each in manager.history(place=181)]
            pages = [manager.history(place=181, limit=1), *pages[:-1]]
            assert [len(page) for page in pages] == [1, 1]
            return [page[0].after.text for page in pages if page[0].turn <= turn][-1:]

        def undo(turn):
            changes = undo_since(manager.store, 1, turn + 1, apply=False)
            [change] = [each for each in changes if each.location_id == 181] or [None]
            return [bell.memory.text] if change is None else [change.kept_because]

        def command(turn):
            shown = CliRunner().invoke(app, ["show", "--workdir", str(tmp_path), "--as-of", f"1:{turn}"]).stdout
            return [text for text in ("The text of Bell.", "Said better.") if text in shown]

        def page(turn):
            [thread] = files.threads.of_place(181)
            return [each["memory"]["text"] for each in thread if each["at"] <= 1_000_000 + turn][-1:]

        for view in (as_of, of_history, explanation, moment, page_of_history, command, page):
            assert [view(turn) for turn in (4, 5, 10, 19, 20, 25)] == [
                [],
                ["The text of Bell."],
                ["The text of Bell."],
                ["The text of Bell."],
                ["Said better."],
                ["Said better."],
            ], view.__name__
        assert [undo(turn) for turn in (4, 5, 20, 25)] == [["changed by a person since"], *[["Said better."]] * 3]


def test_answer_belongs_to_the_turn_in_which_it_arrives(tmp_path):
    state = SimpleNamespace(episode_id=1, turn_count=5)
    path, answers = tmp_path / "Memories.md", Answers(remember("Lever"))
    with SimpleMemoryManager(game_state=state, path=path, synthesizer=answers) as manager:
        question = manager.take_turn(5, "Hall", "pull lever", "Click.", {"score_delta": 5, "turn": 5})
        manager.process_turn()
        state.turn_count = 6
        manager.process_turn()
        state.turn_count = 8
        manager.learn_from(question)
        manager.process_turn()
        [added] = [change for change in manager.history("Lever") if change.kind == "added"]
        [explained] = manager.explain("Lever")
        known = {turn: "Lever" in {each.title for each in manager.as_of(1, turn).get(5, ())} for turn in range(5, 9)}
    assert known == {5: False, 6: False, 7: False, 8: True}
    assert (added.episode, added.turn) == (1, 8)
    assert explained.made.turn_stamp == TurnStamp(1, 8, "pull lever", "Click.", taught_in=5)
    shown = CliRunner().invoke(app, ["explain", "Lever", "--file", str(path)]).stdout
    assert "learned in episode 1, turn 8" in shown
    assert "after “pull lever” in turn 5" in shown


@pytest.mark.parametrize(
    "given",
    [{}, {"episode": 1}, {"turn": 2}, {"episode": 1, "turn": 2, "moment": 3}, {"moment": -1}, {"moment": "yesterday"}],
)
def test_as_of_needs_a_turn_or_a_moment(path, given):
    with SimpleMemoryManager.open(path) as manager, pytest.raises(ValueError, match="Give either|position|The time"):
        manager.as_of(**given)


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from(["add", "wrong", "by hand", "reopen", "next episode"]), st.integers(5, 7)
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(EVENTS)
def test_as_of_matches_recorded_states(tmp_path_factory, events):
    folder = tmp_path_factory.mktemp("as_of")
    play, episode, turn = Play(folder, 1), 1, 0
    seen = {}
    for number, (later, what, place) in enumerate(events):
        turn += later
        play.state.turn_count = turn
        if what == "add":
            play.manager.add_memory(place, "Room", memory(f"Memory {number}", episode=episode, turns=str(turn)))
        elif what == "wrong" and play.manager.memory_cache.get(place):
            play.manager.invalidate_memory(place, play.manager.memory_cache[place][0].title, "wrong")
        elif what == "next episode":
            episode, turn = episode + 1, 0
        if what in ("reopen", "next episode"):
            play = Play(folder, episode)
            play.state.turn_count = turn
        seen[episode, turn] = play.lasting()
    for (episode, turn), expected in seen.items():
        assert play.manager.as_of(episode, turn) == expected


@pytest.fixture
def played(tmp_path):
    """Play two episodes with rules. Return the folder and the memories after each turn."""
    seen = {}
    with a_run(tmp_path, turns=60) as run:
        for episode in (1, 2):
            run.reset_episode()
            for turn in range(60):
                held = run.game_state.current_inventory
                record = run.process_turn(f"drop {held[-1]}" if held and turn % 4 == 0 else None)
                memory = run.simple_memory
                if turn == 59:
                    # Attempts that are not listed yet are listed in the last turn of an episode.
                    assert memory.save_session(tmp_path / "saved.json")
                found = by_place((each.location_id, each.memory) for each in memory.all_memories())
                seen[episode, record.turn] = {place: list(map(comparable, kept)) for place, kept in found.items()}
    return tmp_path, seen


def comparable(memory):
    return (
        memory.title,
        memory.text,
        memory.persistence,
        memory.status,
        memory.observation_count,
        memory.superseded_by,
        memory.worked,
    )


@pytest.mark.slow
def test_every_turn_of_a_real_run_matches(played):
    folder, seen = played
    then = past_of(folder / "Memories.md")
    assert any(row[2] == "ephemeral" for kept in seen.values() for place in kept.values() for row in place)
    for (episode, turn), expected in seen.items():
        remembered = then(episode, turn)
        assert {place: [comparable(memory) for memory in kept] for place, kept in remembered.items()} == expected, (
            episode,
            turn,
        )


@pytest.mark.slow
def test_shown_memories_are_those_of_the_turn_before(played):
    folder, _ = played
    then = past_of(folder / "Memories.md")
    line_count = 0
    for event in read_episode(folder, 2):
        if isinstance(event, TurnRecord) and event.memory_shown:
            # Those of things at hand are shown too.
            texts = {memory.text for kept in then(2, event.turn - 1).values() for memory in kept}
            lines = [line for line in event.memory_shown.splitlines() if line.lstrip().startswith("[")]
            line_count += len(lines)
            assert all(any(text in line for text in texts) for line in lines)
    assert line_count > 20


@pytest.mark.parametrize("episode", ["..", "../..", "a/b", "", ".", "\0", 99, "another"])
def test_unknown_episode_has_no_memories_of_its_own(tmp_path, episode):
    play = Play(tmp_path / "work", 2)
    play.turn(1, adds("A"))
    (tmp_path / "episode_log.jsonl").write_text('{"event": "turn_played", "turn": 1, "memory_events": "ephemeral"}\n')
    assert [memory.persistence for memory in play.manager.as_of(episode, 5).get(5, [])] in (["permanent"], [])


def test_episode_without_changes_is_known_from_its_log(tmp_path):
    Play(tmp_path, 2).turn(1, adds("A"))
    log = tmp_path / "runs" / "3" / "episode_log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("{}\n")
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        assert [is_known(manager.store, episode) for episode in (2, 3, 4)] == [True, True, False]
