"""Tests of background questions: they never block a turn, survive a kill, and can be replayed."""

import json
import random
import time
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from session.history import TurnRecord
from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.kills import kill, killed, left_behind
from tests.fixtures.runs import MODEL, AfterTurn, CtrlC, a_run, a_walkthrough, turns_of
from tests.fixtures.saved import saved_in
from tests.golden.roles import fenced, remembered
from zorkgpt.cli.app import run as run_command
from zorkgpt.cli.process import ExitCode
from zorkgpt.llm.scripted import RecordedLLM
from zorkgpt.memory.answers import FurtherFact
from zorkgpt.runlog.episodes import read_episode, recording_in
from zorkgpt.runlog.events import EpisodeEnded

pytestmark = pytest.mark.slow

COMMANDS = ("take penny", "north", "examine me", "south", "drop penny", "north", "look", "west", "east", "wait")
TURNS = len(COMMANDS)
LOG = "episode_log.jsonl"
MEMORY = "You keep the memory"
USAGE_PARTS = {"events", "metrics"}
"""Parts of `left_behind` that include the usage of the model."""


def answer_to(request) -> Answer:
    prompt = request.prompt
    if MEMORY in prompt:
        return Answer(json.dumps(remembered(prompt) | {"exits": ["up"]}))
    if "You keep the list of objectives" in prompt:
        return Answer(
            '{"new": [{"text": "Learn why the bell rings", "done_when": "somebody says so", "scope": "world"}]}'
        )
    if "You keep the knowledge base" in prompt:
        return Answer('{"new": [], "confirmed": [], "contradicted": []}')
    return Answer('{"ready": true}')


class Gate:
    """A model that answers questions about memories and objectives only when it is open."""

    def __init__(self) -> None:
        self.open = Event()

    def __call__(self, request) -> Answer:
        if any(role in request.prompt for role in (MEMORY, "You keep the list of objectives")):
            self.open.wait(60)
        return answer_to(request)


def walkthrough_with_model(
    workdir: Path, url: str | None, *watchers: AfterTurn, commands: tuple[str, ...] = COMMANDS, **options
):
    """Return a run of these commands, with a model at this address for all other roles."""
    return a_walkthrough(workdir, *commands, url=url, watchers=watchers, **{"turns": len(commands)} | options)


def play_and_die(workdir: Path, url: str, turn: int) -> None:
    walkthrough_with_model(workdir, url, AfterTurn(turn, kill)).play_episode()


def memory_prompts(server: ChatServer) -> list[str]:
    return [request.prompt for request in server.requests if MEMORY in request.prompt]


def comparable_turns(workdir: Path, episode: int = 1) -> list[TurnRecord]:
    """Return the turns without durations and usage."""
    return [replace(record, duration_s=0.0, spent=None) for record in turns_of(workdir, episode)]


def titles(run) -> set[str]:
    return {memory.title for kept in run.simple_memory.memory_cache.values() for memory in kept}


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def server(gate):
    with ChatServer(gate) as server:
        yield server
        gate.open.set()


def test_silent_memory_model_blocks_no_turn(server, gate, tmp_path):
    seen = []

    def look() -> None:
        # The last questions may not have reached the server yet.
        for _ in range(100):
            if len(memory_prompts(server)) > 5:
                break
            time.sleep(0.1)
        seen.append((titles(run), len(memory_prompts(server))))
        gate.open.set()

    with walkthrough_with_model(tmp_path, server.url, AfterTurn(TURNS, look)) as run:
        end = run.play_episode()
        learned = titles(run)
    before, questions = seen[0]
    assert not any(title.startswith("What is at") for title in before)
    assert questions > 5
    assert sum(title.startswith("What is at") for title in learned) > 1
    assert {record.answers for record in turns_of(tmp_path)} == {()}
    assert {"objectives 0", *(f"memory {turn}" for turn in range(4))} <= set(end.answers)
    assert {event.turn for event in end.memory_events} >= {0, 1, 2}


def test_memory_question_includes_the_answer_to_an_earlier_one(tmp_path):
    actions = iter(("take penny", "examine penny"))

    def slow_player(request) -> Answer:
        if "You are playing a text adventure" not in request.prompt:
            return answer_to(request)
        time.sleep(0.3)
        return Answer(f"ACTION: {next(actions)}")

    with ChatServer(slow_player) as server:
        with a_run(tmp_path, choice=MODEL, url=server.url, turns=2) as run:
            run.play_episode()
        prompts = memory_prompts(server)
    assert "memory 0" in turns_of(tmp_path)[0].answers
    assert "What is at" in prompts[1]


def test_note_has_no_turn_when_background_answers_are_applied(server, gate, tmp_path):
    def note() -> None:
        fact = FurtherFact(
            category="NOTE",
            memory_title="Bell",
            memory_text="The bell is cracked.",
            persistence="permanent",
            kind="insight",
        )
        place = run.services.game.observe().location
        run.simple_memory.note(place.num, place.num, place.name, fact)
        gate.open.set()
        time.sleep(0.5)

    with walkthrough_with_model(tmp_path, server.url, AfterTurn(5, note)) as run:
        run.play_episode()
    record = turns_of(tmp_path)[5]
    assert record.answers
    assert [event.turn for event in record.memory_events if event.title == "Bell"] == [None]


def test_late_extraction_reaches_map_and_log(server, gate, tmp_path):
    with walkthrough_with_model(
        tmp_path, server.url, AfterTurn(4, gate.open.set), commands=(*COMMANDS, *["wait"] * 5)
    ) as run:
        run.reset_episode()
        start = run.services.game.observe().location.num
        known = []
        for _ in range(TURNS + 5):
            record = run.process_turn()
            known.append("up" in run.services.map.graph.rooms[start].exits)
            if record.turn > 4:
                time.sleep(0.05)
        rooms = {number: set(room.exits) for number, room in run.services.map.graph.rooms.items()}
    turns = turns_of(tmp_path)
    late = {each.location.num for record in turns for each in record.named_exits}
    assert not any(known[:4])
    assert known[-1]
    assert {record.extraction.by for record in turns[:4] if record.extraction} <= {"rules", "nobody"}
    assert start in late
    assert all("up" in rooms[place] for place in late)


def test_answers_are_applied_in_turn_order(server, gate, tmp_path):
    gate.open.set()
    with walkthrough_with_model(tmp_path, server.url) as run:
        run.play_episode()
        kept = [memory for memories in run.simple_memory.memory_cache.values() for memory in memories]
        origins = {
            change.turn_stamp.turn
            for place in run.simple_memory.memory_cache
            for change in run.simple_memory.store.journal.records(place)
            if change.turn_stamp is not None and change.change.kind == "added"
        }
    names = [name for event in read_episode(tmp_path, 1) for name in getattr(event, "answers", ())]
    numbers = [int(name.split()[1]) for name in names if name.startswith("memory")]
    assert numbers == sorted(numbers)
    assert len(origins) > 2
    assert {int(memory.turns.split("-")[0].split("→")[0]) for memory in kept} <= {0, *range(1, TURNS + 1)}


def test_run_killed_with_open_questions_resumes(server, gate, tmp_path):
    with walkthrough_with_model(tmp_path / "whole", server.url, AfterTurn(TURNS, gate.open.set)) as run:
        run.play_episode()
    whole = left_behind(tmp_path / "whole", 1)
    questions = sorted(memory_prompts(server))
    gate.open.clear()
    server.requests.clear()
    killed(play_and_die, tmp_path / "killed", server.url, 6)
    saved = saved_in(tmp_path / "killed")
    assert saved.checkpoint.turn == 6
    assert len(saved.checkpoint.questions) > 4
    server.requests.clear()
    with walkthrough_with_model(tmp_path / "killed", server.url, AfterTurn(TURNS, gate.open.set)) as run:
        run.play_episode(resume=1)
    assert sorted(memory_prompts(server)) == questions
    resumed = left_behind(tmp_path / "killed", 1)
    # The order of answers of different kinds is random.
    ends = [left["end"] | {"answers": sorted(left["end"]["answers"])} for left in (resumed, whole)]
    assert ends[0] == ends[1]
    for left in (resumed, whole):
        left["journal"].sort(key=lambda record: str(record.change.location_id))
    for part in whole.keys() - USAGE_PARTS - {"end"}:
        assert resumed[part] == whole[part], part
    assert comparable_turns(tmp_path / "killed") == comparable_turns(tmp_path / "whole")


def test_open_questions_at_the_end_are_dropped(server, gate, tmp_path, caplog):
    with walkthrough_with_model(tmp_path, server.url, settings={"background_wait_seconds": 0}) as run:
        end = run.play_episode()
        assert not any(title.startswith("What is at") for title in titles(run))
        gate.open.set()
        run.reset_episode()
    assert not any(name.startswith("memory") for name in end.answers)
    [dropped, *_] = [
        record.questions for record in caplog.records if record.msg.startswith("open questions are dropped")
    ]
    assert {"objectives 0", "memory 0", "memory 1"} <= set(dropped)


def test_interrupted_episode_asks_open_questions_when_resumed(server, gate, tmp_path):
    with walkthrough_with_model(tmp_path, server.url, CtrlC(5)) as run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    gate.open.set()
    with walkthrough_with_model(tmp_path, server.url) as run:
        run.play_episode(resume=1)
        assert any(title.startswith("What is at") for title in titles(run))


def test_resumed_work_uses_the_answers_that_it_had(tmp_path):
    held, commands = Event(), ("pray", *COMMANDS, *["wait"] * 9)

    def slip(request) -> Answer:
        if MEMORY in request.prompt and "is a SUCCESS, but" in request.prompt:
            held.wait(60)
        elif MEMORY in request.prompt and fenced(request.prompt, "At this place the player did") == "pray":
            note = {"memory_title": "A look at oneself", "memory_text": "One looks fine.", "persistence": "permanent"}
            return Answer(json.dumps(note | {"should_remember": True, "kind": "insight", "category": "SUCCESS"}))
        return answer_to(request)

    def about_praying(chat: ChatServer) -> list[str]:
        return [prompt for prompt in memory_prompts(chat) if fenced(prompt, "At this place the player did") == "pray"]

    with ChatServer(slip) as chat:
        options = {"commands": commands, "settings": {"background_wait_seconds": 0}}
        with walkthrough_with_model(tmp_path, chat.url, CtrlC(12), **options) as run:
            with pytest.raises(KeyboardInterrupt):
                run.play_episode()
            asked = about_praying(chat)
        saved = saved_in(tmp_path)
        assert saved.checkpoint.turn == 12
        assert [len(each["answers"]) for each in saved.checkpoint.questions].count(1) == 1
        held.set()
        with walkthrough_with_model(tmp_path, chat.url, commands=commands) as run:
            run.play_episode(resume=1)
        # Only the question that was open is asked again.
        assert about_praying(chat)[len(asked) :] == asked[-1:]
    assert saved_in(tmp_path).checkpoint.turn == 20


def test_recorded_run_replays_background_answers(tmp_path):
    rng = random.Random(5)

    def unevenly(request) -> Answer:
        time.sleep(rng.random() * 0.05)
        return answer_to(request)

    with ChatServer(unevenly) as chat, walkthrough_with_model(tmp_path / "first", chat.url) as run:
        run.play_episode()
        run.play_episode()
    recording = recording_in(tmp_path / "first")
    assert sum(map(len, recording.answers.values())) > 5
    again = tmp_path / "again"
    recorded = {"llm": RecordedLLM(recording.calls), "recorded_answers": recording.answers}
    with walkthrough_with_model(again, None, **recorded) as run:
        run.play_episode()
        run.play_episode()
    for episode in (1, 2):
        first, second = left_behind(tmp_path / "first", episode), left_behind(again, episode)
        for part in first.keys() - USAGE_PARTS:
            assert second[part] == first[part], part
        assert comparable_turns(again, episode) == comparable_turns(tmp_path / "first", episode)


def test_synchronous_option_waits_for_every_answer(server, gate, tmp_path, capsys):
    gate.open.set()
    workdir = tmp_path / "files"
    given = ["--model", server.model, "--base-url", server.url, "--workdir", str(workdir), "--episodes", "1"]
    walkthrough = tmp_path / "commands"
    walkthrough.write_text("\n".join(COMMANDS), encoding="utf-8")
    command = ["play", *given, "--max-turns", "4", "--walkthrough", str(walkthrough), "--synchronous", "--quiet"]
    assert run_command(command) == ExitCode.OK
    assert {record.answers for record in turns_of(workdir)} == {()}
    (ended,) = (event for event in read_episode(workdir, 1) if isinstance(event, EpisodeEnded))
    assert ended.answers == ()
