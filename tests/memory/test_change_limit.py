"""Tests of the limit on changes that a model makes without confirming them, and of undoing changes."""

import logging
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.fixtures.memory import NOTHING, Answers, memory, remember
from zorkgpt.cli.memory_changes import app
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.objects import PlacedObject
from zorkgpt.memory.upkeep.undoing import undo_since

OLD = [f"Old {number}" for number in range(45)]


class Destroyer:
    """A model that supersedes one old memory each turn."""

    def __init__(self, *, confirms=False):
        self.confirms = confirms
        self.doubts = []

    def synthesize(self, request):
        self.doubts += request.doubts
        if request.doubts and not self.confirms:
            return NOTHING
        number = request.context.turn - 1
        return remember(f"New {number}", text=f"Wrong, {number} times.", supersedes_memory_titles={f"Old {number}"})


def opened(home, synthesizer, state=None):
    state = state or SimpleNamespace(episode_id=2, turn_count=0)
    config = SimpleNamespace(embedding_provider="")
    manager = home.open(logger=logging.getLogger("test"), config=config, game_state=state, synthesizer=synthesizer)
    manager.state = state
    return manager


def filled(manager, titles=OLD):
    for title in titles:
        manager.add_memory(5, "Hall", memory(title))
    return manager


def play(manager, *turns):
    for turn in turns:
        manager.state.turn_count = turn
        manager.record_action_outcome(5, "Hall", f"read page {turn}", "You do.", {"score_delta": 1, "turn": turn})


def active(manager, start="Old"):
    return [
        memory.title
        for memory in manager.memory_cache[5]
        if memory.status == "ACTIVE" and memory.title.startswith(start)
    ]


def confirmation_counts(manager):
    metrics = manager.get_status()["metrics"]
    return metrics["changes_questioned"], metrics["changes_not_confirmed"]


def test_unconfirmed_changes_beyond_ten_are_refused(home, caplog):
    model = Destroyer()
    with filled(opened(home, model), OLD[:15]) as manager:
        play(manager, *range(1, 16))
        assert active(manager) == OLD[10:15]
        assert active(manager, "New") == [f"New {number}" for number in range(15)]
        assert confirmation_counts(manager) == (5, 5)
        manager.new_episode()
        assert confirmation_counts(manager) == (0, 0)
    assert model.doubts[0] == (
        "You have changed many memories. “Old 10” says 'The text of Old 10.'. You want to replace it with “New 10”, "
        "which says 'Wrong, 10 times.'. Is this right?"
    )
    assert [memory.getMessage() for memory in caplog.records if "confirm" in memory.getMessage()] == [
        "the model changes many memories and must confirm each further change"
    ]


def test_confirmed_changes_are_made(home):
    with filled(opened(home, Destroyer(confirms=True)), OLD[:15]) as manager:
        play(manager, *range(1, 16))
        assert active(manager) == []
        assert confirmation_counts(manager) == (5, 0)


def test_changes_of_one_answer_are_confirmed_one_by_one(home):
    wrong = MemorySynthesisResponse(
        should_remember=False, invalidate_memory_titles={"Old 0", "Old 1", "Old 2"}, invalidation_reason="It isn't so."
    )
    only = wrong.model_copy(update={"invalidate_memory_titles": {"Old 1"}})
    later = wrong.model_copy(update={"invalidate_memory_titles": {"Old 2", "Old 3"}})
    earlier = [
        remember(f"New {number}", text=f"Wrong, {number} times.", supersedes_memory_titles={f"Old {number}"})
        for number in range(4, 13)
    ]
    model = Answers(*earlier, wrong, only, NOTHING, later)
    with filled(opened(home, model), OLD[:13]) as manager:
        play(manager, *range(1, 11))
        assert active(manager) == ["Old 2", "Old 3"]
        assert confirmation_counts(manager) == (2, 1)
        play(manager, 11)
        assert active(manager) == ["Old 2", "Old 3"]
        assert confirmation_counts(manager) == (4, 3)
    doubts = [doubt for request in model.requests for doubt in request.doubts]
    assert [doubt.split("”")[0] for doubt in doubts] == [
        f"You have changed many memories. “Old {number}" for number in (1, 2, 2, 3)
    ]
    assert doubts[0].endswith('You want to mark it as wrong, because "It isn\'t so.". Is this right?')


def test_changes_before_the_window_do_not_count(home):
    with filled(opened(home, Destroyer())) as manager:
        # In turns 11 to 20 and 31 to 40, ten changes were made within the last 20 turns.
        play(manager, *range(1, 42))
        assert active(manager) == [*OLD[10:20], *OLD[30:40], *OLD[41:]]


def test_resumed_episode_keeps_its_count(home, tmp_path):
    state = SimpleNamespace(episode_id=2, turn_count=0)
    with filled(opened(home, Destroyer(), state)) as manager:
        play(manager, *range(1, 13))
        assert confirmation_counts(manager) == (2, 2)
        assert manager.save_session(tmp_path / "session.json")
    with opened(home, Destroyer(), state) as again:
        assert again.restore_session(tmp_path / "session.json")
        assert confirmation_counts(again) == (2, 2)
        play(again, 13)
        assert confirmation_counts(again) == (3, 3)
        assert active(again) == OLD[10:]


def test_changes_by_a_person_or_audit_do_not_count(home):
    with filled(opened(home, Destroyer())) as manager:
        for number in range(10):
            manager.edit_memory(5, OLD[-number - 1], Edit(status="SUPERSEDED", reason="No."))
            claim = Claim(Relation.HERE, number + 1)
            manager.add_memory(5, "Hall", memory(f"Here {number}", "core", claims=(claim,)))
        manager.audit([PlacedObject(number + 1, "pear", 6, "Attic", movable=True) for number in range(10)])
        assert active(manager, "Here") == []
        play(manager, 1)
        assert confirmation_counts(manager) == (0, 0)


@pytest.mark.parametrize("fields", [{"persistence": "ephemeral"}, {"pinned": True}])
def test_changes_of_ephemeral_and_pinned_memories_are_not_questioned(home, fields):
    with filled(opened(home, Destroyer()), OLD[:10]) as manager:
        for title in OLD[10:13]:
            manager.add_memory(5, "Hall", memory(title, **fields))
        play(manager, *range(1, 14))
        assert confirmation_counts(manager) == (0, 0)


def test_changes_by_rules_do_not_count(home):
    rules = Destroyer()
    rules.asks_a_model = False
    with filled(opened(home, rules)) as manager:
        play(manager, *range(1, 13))
        assert active(manager) == OLD[12:]
        assert confirmation_counts(manager) == (0, 0)


def destroyed(home):
    """Return a manager in which a model superseded five memories.

    A person edited one of them, and another one was seen again.
    """
    manager = filled(opened(home, Destroyer()), OLD[:6])
    play(manager, *range(1, 4))
    seen = next(memory for memory in manager.memory_cache[5] if memory.title == "Old 5")
    assert manager.update_memory_metadata(seen, 5, "Gate", 3, 2)
    play(manager, 4, 5)
    manager.edit_memory(5, "New 4", Edit(text="Right, in fact."))
    return manager


def test_undo_restores_everything_but_edits_by_a_person(home):
    with destroyed(home) as manager:
        before = manager.memory_cache
        listed = undo_since(manager.store, 2, 3, apply=False)
        assert manager.memory_cache == before
        assert undo_since(manager.store, 2, 3) == listed
        assert {(memory.title, memory.status) for memory in manager.memory_cache[5]} == {
            ("Old 0", "SUPERSEDED"),
            ("New 0", "ACTIVE"),
            ("Old 1", "SUPERSEDED"),
            ("New 1", "ACTIVE"),
            ("Old 2", "ACTIVE"),
            ("Old 3", "ACTIVE"),
            ("Old 4", "SUPERSEDED"),
            ("New 4", "ACTIVE"),
            ("Old 5", "ACTIVE"),
        }
        assert [memory.now.title for memory in listed if memory.kept_because] == ["New 4", "Old 4"]
        # Undone changes are not undone again.
        undo_since(manager.store, 2, 1)
        assert active(manager) == ["Old 0", "Old 1", "Old 2", "Old 3", "Old 5"]
        assert active(manager, "New") == ["New 4"]
        play(manager, 6)
        assert active(manager) != ["Old 0", "Old 1", "Old 2", "Old 3", "Old 5"]
        undo_since(manager.store, 2, 1)
    with home.open() as again:
        assert active(again) == ["Old 0", "Old 1", "Old 2", "Old 3", "Old 5"]


def test_undo_command_lists_and_undoes(home):
    destroyed(home).close()

    def run(*arguments):
        done = CliRunner().invoke(app, ["undo", *arguments, "--file", str(home.address)])
        return done.exit_code, [line.split(": ")[0] for line in (done.stdout or done.stderr).splitlines()]

    what = ["removed", "restored", "removed", "restored"]
    kept = ["kept, changed by a person since", "kept, replaced by “New 4”, changed by a person since"]
    code, lines = run("--since", "2:3", "--list")
    assert (code, lines[-1]) == (0, "Only listed. Without --list")
    assert lines[:-1] == [*what, *kept]
    code, lines = run("--since", "2:3")
    assert (code, lines[-1]) == (0, "4 memories undone since turn 3 of episode 2, 2 kept.")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--since", "2"], "--since 2 is not EPISODE:TURN, such as 3:120."),
        (["--since", "9:1"], "--since 9:1: there is no episode 9."),
        (["--since", "2:9"], "There is nothing to undo since turn 9 of episode 2."),
        (["--since", "2:3", "--title", "Old"], "Give --since or --title, not both."),
    ],
)
@pytest.mark.parametrize("home", ["file"], indirect=True)
def test_undo_without_changes_is_refused(home, arguments, error):
    with filled(opened(home, Destroyer()), OLD[:1]) as manager:
        play(manager, 1)
    done = CliRunner().invoke(app, ["undo", *arguments, "--file", str(home.address)])
    assert (done.exit_code, done.stderr) == (2, f"zorkgpt: {error}\n")
