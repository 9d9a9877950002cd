"""Tests of resuming an episode that was killed or interrupted."""

import json
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from game_interface.story import find_story
from orchestration.player_choice import PlayerChoice
from orchestration.players import PLAYERS
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.history import TurnRecord
from tests.fixtures.kills import kill, killed
from tests.fixtures.runs import MODEL, AfterTurn, CtrlC, a_run, a_walkthrough, comparable_turns, resume
from tests.fixtures.saved import change_checkpoint, kinds_in, saved_in
from tests.fixtures.stories import of_another_build
from zorkgpt.errors import CheckpointError, LLMError, MemoryStoreError
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.player import AgentDecision, Player, PlayerContext
from zorkgpt.runlog.episodes import last_end, playing_lock, read_episode
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed
from zorkgpt.runlog.saved_episodes import find_resumable
from zorkgpt.runlog.story_folder import StoryMark, mark_folder

pytestmark = pytest.mark.slow

LOG = "episode_log.jsonl"
COMMANDS = ("take penny", "north", "examine me", "south", "drop penny", "north", "look", "west", "east", "wait")


def play_and_die(workdir: Path, at: int, turns: int = 12) -> None:
    a_run(workdir, turns=turns, watchers=(AfterTurn(at, kill),)).play_episode()


def play_and_interrupt(workdir: Path, at: int = 4, **options) -> None:
    with a_run(workdir, turns=12, watchers=(CtrlC(at),), **options) as run, pytest.raises(KeyboardInterrupt):
        run.play_episode()


@pytest.fixture(scope="module")
def interrupted_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted")
    play_and_interrupt(folder)
    return folder


@pytest.fixture
def interrupted(interrupted_folder, tmp_path) -> Path:
    """Working directory of an episode that was interrupted after four turns."""
    return shutil.copytree(interrupted_folder, tmp_path, dirs_exist_ok=True)


def test_killed_episode_resumes(tmp_path):
    with a_run(tmp_path / "whole", turns=10) as run:
        whole = run.play_episode()
    killed(play_and_die, tmp_path / "killed", 5)
    with a_run(tmp_path / "killed", turns=10) as run:
        end = run.play_episode(resume=1)
    assert (end.turns, end.score, end.places, end.memories) == (10, whole.score, whole.places, whole.memories)
    assert comparable_turns(tmp_path / "killed") == comparable_turns(tmp_path / "whole")


@contextmanager
def full_disk(run: ZorkOrchestratorV2) -> Iterator[None]:
    """Let no turn be recorded in this block."""
    failing = "SELECT RAISE(FAIL, 'the disk is full')"
    fail = f"CREATE TRIGGER full BEFORE INSERT ON zorkgpt_events WHEN new.kind = 'turn' BEGIN {failing}; END"
    run.services.record.put(fail, [()])
    yield
    run.services.record.put("DROP TRIGGER full", [()])


def test_turn_that_cannot_be_committed_is_played_again(tmp_path):
    with a_run(tmp_path / "whole", turns=12) as run:
        run.play_episode()
    with a_run(tmp_path / "full", turns=12) as run:
        for _ in range(3):
            run.process_turn()
        state = run.services.game.save_state()
        with full_disk(run), pytest.raises(MemoryStoreError, match="the disk is full"):
            run.process_turn()
        assert run.services.game.save_state() == state
        assert saved_in(tmp_path / "full").checkpoint.turn == 3
    with a_run(tmp_path / "full", turns=12) as run:
        run.play_episode(resume=1)
    assert comparable_turns(tmp_path / "full") == comparable_turns(tmp_path / "whole")
    memories = [(tmp_path / name / "Memories.md").read_bytes() for name in ("full", "whole")]
    assert memories[0] == memories[1]


def test_log_records_interruption_and_resumption(interrupted):
    with a_run(interrupted, turns=6) as run:
        run.play_episode(resume=1)
    events = read_episode(interrupted, 1)
    rest = [event for event in events[1:] if not isinstance(event, TurnRecord)]
    ends = [event for event in rest if isinstance(event, EpisodeEnded | EpisodeResumed)]
    assert [type(event) for event in ends] == [EpisodeEnded, EpisodeResumed, EpisodeEnded]
    assert [end.reason for end in (ends[0], ends[2])] == ["interrupted", "turn limit"]
    assert last_end(events) is ends[2]
    assert [turn[0] for turn in comparable_turns(interrupted)] == [1, 2, 3, 4, 5, 6]


def test_finished_episode_resumes_with_a_higher_limit(tmp_path):
    with a_run(tmp_path, turns=3) as run:
        run.play_episode()
    with pytest.raises(CheckpointError, match="3 turns is reached; allow more with --max-turns"):
        find_resumable(tmp_path, LOG)
    assert find_resumable(tmp_path, LOG, max_turns=5).checkpoint.turn == 3
    with a_run(tmp_path, turns=5) as run:
        assert run.play_episode(resume=1).turns == 5


def test_interrupted_episode_resumes_after_a_later_one(interrupted):
    with a_run(interrupted, turns=6) as run:
        assert run.play_episode().turns == 6
        assert run.play_episode(resume=1).turns == 6
    assert saved_in(interrupted).checkpoint.turn == 6


def test_victory_leaves_nothing_to_resume(tmp_path):
    from tests.fixtures.walkthrough import get_bundled_walkthrough

    commands = get_bundled_walkthrough()
    with a_walkthrough(tmp_path, *commands, turns=len(commands)) as run:
        assert run.play_episode().reason == "victory"
    assert kinds_in(tmp_path) == {"trail"}
    with pytest.raises(CheckpointError, match="it is over"):
        find_resumable(tmp_path, LOG)


def test_episode_that_is_being_played_is_not_resumed(interrupted):
    with playing_lock(interrupted / "runs" / "1").acquire():
        with pytest.raises(CheckpointError, match="another process plays it"):
            find_resumable(interrupted, LOG)
        with a_run(interrupted) as run, pytest.raises(CheckpointError, match="being played by another process"):
            run.resume_episode(1)
    with a_run(interrupted, turns=12) as playing, a_run(interrupted, turns=12) as second:
        playing.resume_episode(1)
        with pytest.raises(CheckpointError, match="being played by another process"):
            second.resume_episode(1)


def test_last_episode_that_nobody_plays_is_resumed(interrupted):
    with a_run(interrupted) as run:
        run.process_turn()
        assert find_resumable(interrupted, LOG).episode == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [({"seed": 2}, "started with seed 1, not 2"), ({"remember": False}, "started with remember True, not False")],
)
def test_settings_of_the_episode_cannot_change(interrupted, options, message):
    with a_run(interrupted, **options) as run, pytest.raises(CheckpointError, match=message):
        run.resume_episode(1)
    assert [turn.turn for turn in find_resumable(interrupted, LOG).played] == [1, 2, 3, 4]


def test_episode_of_another_story_is_refused(tmp_path, bundled_story):
    other = find_story(of_another_build(bundled_story, tmp_path / "other.z5"))
    play_and_interrupt(tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "second", ignore=shutil.ignore_patterns("story.json"))
    mark_folder(tmp_path / "second", StoryMark.of(other.summary()))
    before = saved_in(tmp_path / "second")
    with a_run(tmp_path / "second", story=other) as run, pytest.raises(CheckpointError, match="another story"):
        run.resume_episode(1)
    assert saved_in(tmp_path / "second") == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"game": None}, "is malformed: 1 validation error for Checkpoint"),
        ({"run": {"seed": 1}}, "is malformed"),
        ({"turn": 5}, "lacks turn 5"),
        ({"turn": -1}, "is malformed"),
        ({"memory": {"score": float("inf")}}, "is malformed"),
        ({"questions": None}, "is malformed"),
    ],
)
def test_invalid_checkpoint_is_refused_and_kept(interrupted, changes, message):
    change_checkpoint(interrupted, **changes)
    before = contents_of(interrupted)
    with pytest.raises(CheckpointError, match=message):
        find_resumable(interrupted, LOG)
    assert contents_of(interrupted) == before


def contents_of(workdir: Path) -> dict[Path, bytes]:
    # SQLite creates a file while it reads another one.
    files = (path for path in workdir.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {path: path.read_bytes() for path in files}


@pytest.mark.parametrize("damage", [b"", b'{"event": "turn_played"'])
def test_damaged_log_prevents_no_resumption(interrupted, damage):
    (interrupted / "runs" / "1" / LOG).write_bytes(damage)
    with a_run(interrupted, turns=10) as run:
        assert run.play_episode(resume=1).turns == 10
    assert [turn for turn, *_ in comparable_turns(interrupted)][-6:] == list(range(5, 11))
    assert [type(event) for event in read_episode(interrupted, 1) if isinstance(event, EpisodeResumed)] == [
        EpisodeResumed
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"game": "AAAA"},
        {"game": "?"},
        {"memory": {}},
    ],
)
def test_checkpoint_with_damaged_parts_changes_no_file(interrupted, changes):
    change_checkpoint(interrupted, **changes)
    before = contents_of(interrupted)
    with a_run(interrupted, turns=12) as run, pytest.raises(CheckpointError, match="Episode 1 can't be resumed"):
        run.resume_episode(1)
    assert contents_of(interrupted) == before


def test_edits_by_a_person_are_kept(interrupted):
    path = interrupted / "Memories.md"
    path.write_text(path.read_text("utf-8") + "\nMy own note.\n", "utf-8")
    with a_run(interrupted, turns=6) as run:
        run.play_episode(resume=1)
    assert "My own note." in path.read_text("utf-8")


def test_memories_of_another_process_are_kept(interrupted):
    with SimpleMemoryManager.open(interrupted) as other:
        other.add_memory(9999, "Attic", Memory("NOTE", "Dust", 1, "1", 0, "Thick.", "permanent"))
    with a_run(interrupted, turns=6) as run:
        run.play_episode(resume=1)
        assert "Thick." in run.simple_memory.get_location_memory(9999)


def drop_and_die(workdir: Path) -> None:
    a_walkthrough(workdir, "take penny", "drop penny", "look", watchers=(AfterTurn(2, kill),)).play_episode()


def test_ephemeral_memories_are_restored(tmp_path):
    killed(drop_and_die, tmp_path)
    with a_walkthrough(tmp_path, "take penny", "drop penny", "look") as run:
        resume(run, 2)
        place = run.game_state.current_room_id
        assert "Now here: Copper penny. [session]" in run.simple_memory.get_location_memory(place)
        assert run.simple_memory.get_ephemeral_count(place) == 1


class Changing(Player):
    """Never chooses the same command again."""

    commands = iter(COMMANDS)

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        return AgentDecision(next(self.commands), "")


@pytest.mark.parametrize(("given", "player"), [(None, "changing"), ("inventory", "given")])
def test_own_players_decision_is_played_again_unless_an_action_is_given(tmp_path, monkeypatch, given, player):
    monkeypatch.setitem(PLAYERS, "changing", lambda services: Changing())
    choice = PlayerChoice("changing", "a test", None)
    with a_run(tmp_path, choice=choice) as run:
        run.process_turn()
        monkeypatch.setattr(Changing, "commands", iter(["wait"]))
        fail = "BEGIN SELECT RAISE(FAIL, 'the disk is full'); END"
        run.services.record.put(
            f"CREATE TRIGGER full BEFORE INSERT ON zorkgpt_events WHEN new.kind = 'turn' {fail}", [()]
        )
        with pytest.raises(MemoryStoreError, match="the disk is full"):
            run.process_turn()
        run.services.record.put("DROP TRIGGER full", [()])
    monkeypatch.setattr(Changing, "commands", iter(COMMANDS))
    with a_run(tmp_path, choice=choice) as run:
        resume(run, 1)
        record = run.process_turn(given)
    assert (record.turn, record.transition.action, record.player) == (2, given or "wait", player)


def scripted(workdir: Path, log: Path, *, die_at: int | None = None) -> ZorkOrchestratorV2:
    """Return a run with a model that writes its prompts to a file and may kill the process instead of answering."""

    def answer(messages, role):
        prompts = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
        prompt = "\n".join(message.content for message in messages)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps([role, prompt]) + "\n")
        if die_at is not None and len(prompts) + 1 == die_at:
            kill()
        if role == "agent":
            # Each command has one prompt. A repeated turn repeats its prompt.
            turn = len({text for role_asked, text in prompts if role_asked == "agent"} - {prompt})
            return f"I think of turn {turn + 1}.\nACTION: {COMMANDS[turn]}"
        if role == "memory" and "NOTE" in prompt:
            title = f"Noted {zlib.crc32(prompt.encode()) % 1000}"
            return {
                "should_remember": True,
                "category": "NOTE",
                "memory_title": title,
                "memory_text": f"{title}: something was seen.",
                "persistence": "permanent",
            }
        return LLMError("Nobody is there.")

    settings = {"enable_critic": False}
    return a_run(workdir, choice=MODEL, turns=len(COMMANDS), llm=ScriptedLLM(answer), settings=settings)


def ask_and_die(workdir: Path, log: Path, die_at: int) -> None:
    scripted(workdir, log, die_at=die_at).play_episode()


def agent_prompts(log: Path) -> list[str]:
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    # A repeated turn repeats its prompt.
    return list(dict.fromkeys(prompt for role, prompt in rows if role == "agent"))


@pytest.mark.parametrize("die_at", [5, 10, 15, 18])
def test_killed_run_asks_the_model_the_same_questions(tmp_path, die_at):
    with scripted(tmp_path / "whole", tmp_path / "whole.prompts") as run:
        run.play_episode()
    log = tmp_path / "killed.prompts"
    killed(ask_and_die, tmp_path / "killed", log, die_at)
    with scripted(tmp_path / "killed", log) as run:
        run.play_episode(resume=1)
    assert agent_prompts(log) == agent_prompts(tmp_path / "whole.prompts")
    assert (tmp_path / "killed" / "Memories.md").read_bytes() == (tmp_path / "whole" / "Memories.md").read_bytes()
    assert comparable_turns(tmp_path / "killed") == comparable_turns(tmp_path / "whole")
