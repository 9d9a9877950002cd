"""Tests of `play` with a model: usage, limits, recordings and failures."""

import json
import logging
import re
from pathlib import Path
from threading import Event

import pytest

from tests.fixtures import runs
from tests.fixtures.chat_server import MODEL, Answer, Body, ChatServer, Silence, Status, Trickle
from tests.fixtures.walkthrough import get_bundled_walkthrough
from zorkgpt.cli.app import run
from zorkgpt.cli.process import ExitCode
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.memory.storage.document import parse
from zorkgpt.run_folder import MODEL_CALLS, run_directory
from zorkgpt.runlog.episodes import read_episode, read_events, turns_in
from zorkgpt.runlog.events import ModelCalled

pytestmark = pytest.mark.slow

KEY = "sk-very-secret-0123456789"
NOTHING = '{"should_remember": false}'
READ = '{"is_room_description": true, "exits": [], "combat": false, "enemies": []}'
NO_LESSONS = '{"new": [], "confirmed": [], "contradicted": []}'
FINE = '{"score": 0.5, "reason": "Why not."}'


def reply(request):
    if "You judge the commands" in request.prompt:
        return Answer(FINE)
    if "You read what a text adventure" in request.prompt:
        return Answer(READ)
    if "You keep the knowledge base" in request.prompt:
        return Answer(NO_LESSONS)
    if "You keep the list of objectives" in request.prompt:
        return Answer('{"new": []}')
    return Answer(NOTHING if "You keep the memory" in request.prompt else "I look about.\nACTION: look")


@pytest.fixture
def play(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def played(server, *options):
        given = ["--model", server.model, "--base-url", server.url, "--workdir", str(tmp_path / "files")]
        code = run(["play", *given, "--episodes", "1", "--max-turns", "4", *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return played


def test_model_usage_is_in_summary_and_log(play, tmp_path):
    with ChatServer(reply, key=KEY) as server:
        code, out, _ = play(server, "--json")
    (episode,) = json.loads(out)["episodes"]
    usage = episode["model_usage"]
    asked = [request for request in server.requests if "You keep the memory" in request.prompt]
    assert code == ExitCode.OK
    assert {role: took["calls"] for role, took in usage.items()} == {
        "agent": 4,
        # One for the episode and its last turns.
        "knowledge": 1,
        "memory": len(asked),
        # One for the opening text.
        "objectives": 1,
    }
    assert (usage["agent"]["prompt_tokens"], usage["agent"]["completion_tokens"]) == (40, 20)
    *_, ended = read_episode(tmp_path / "files", 1)
    assert ended.metrics["model_usage"] == usage


def test_roles_with_useless_answers_are_named_once(play):
    with ChatServer("north") as server:
        code, out, err = play(server, "--synchronous", "--max-turns", "12")
    useless = "The model gives no usable answers in the role '{}': "
    for role in ("memory", "critic"):
        assert (err.count(useless.format(role)), out.count(useless.format(role))) == (1, 1)
    assert useless.format("agent") not in err + out
    (agent,) = (line for line in out.splitlines() if line.startswith("Model (agent): "))
    calls, used = re.match(r"Model \(agent\): (\d+) calls, (\d+) used", agent).groups()
    assert (code, int(calls) >= 12, int(used)) == (ExitCode.OK, True, 12)


def test_wait_for_a_loading_model_is_shown(play):
    loading = Status(503, body={"error": {"message": "Loading model"}}, headers={"Retry-After": "2"})
    with ChatServer(loading, reply) as server:
        code, _, err = play(server, "--quiet")
    assert code == ExitCode.OK
    assert "zorkgpt: the server is loading the model: asking again in 2 s (Loading model)\n" in err


def test_start_does_not_wait_for_embeddings(play, monkeypatch):
    monkeypatch.setenv("ZORKGPT_MEMORY_DEDUPLICATION__PROVIDER", "llm")
    is_playing, waited = Event(), []

    def embed(text):
        waited.append(is_playing.wait(20))
        return [1.0, 0.0]

    def answer(request):
        if "You are playing a text adventure" in request.prompt:
            is_playing.set()
        return reply(request)

    with ChatServer(answer, embed=embed) as server:
        code, _, _ = play(server, "--quiet")
    assert code == ExitCode.OK
    assert waited
    assert all(waited)


def test_plain_model_sees_only_the_transcript(play, tmp_path):
    with ChatServer(reply) as server:
        code, out, _ = play(server, "--json", "--player", "plain")
    summary = json.loads(out)
    (episode,) = summary["episodes"]
    assert code == ExitCode.OK
    assert (summary["player"], summary["language_model"], summary["memory"]) == ("plain", server.model, False)
    assert {role: took["calls"] for role, took in episode["model_usage"].items()} == {"agent": 4}
    last = server.requests[-1].prompt
    assert re.findall(r"^## .*", last, re.MULTILINE) == ["## The episode so far"]
    assert re.findall(r"^Turn (\d+), ", last, re.MULTILINE) == ["1", "2", "3"]
    assert not (tmp_path / "files" / "Memories.md").exists()


def test_evaluation_compares_with_plain_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with ChatServer(reply) as server:
        given = ["--model", server.model, "--base-url", server.url, "--out", str(tmp_path / "out"), "--jobs", "1"]
        assert run(["eval", "learning-1x3", "--seeds", "1", "--ablate", "plain", *given]) == ExitCode.OK
    assert "on − plain" in capsys.readouterr().out
    assert run(["eval", "learning-1x3", "--player", "rules", "--ablate", "plain"]) == ExitCode.BAD_INPUT
    assert "Name a --model" in capsys.readouterr().err


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    """Record two episodes played by a model."""
    folder = tmp_path_factory.mktemp("recording") / "files"
    numbers = iter(range(100))
    actions = ["north", "look", "wait", "south"]

    def varied(request):
        if "You are playing a text adventure" in request.prompt:
            return Answer(f"Thought {next(numbers)}.\nACTION: {actions[next(numbers) % 4]}")
        return reply(request)

    with ChatServer(varied) as server:
        model = ["--model", server.model, "--base-url", server.url, "--workdir", str(folder)]
        assert run(["play", *model, "--episodes", "2", "--max-turns", "4", "--quiet"]) == ExitCode.OK
    return folder


def test_recorded_run_replays_without_a_model(recording, tmp_path, capsys):
    again = tmp_path / "again"
    assert run(["play", "--replay", str(recording), "--workdir", str(again), "--json"]) == ExitCode.OK
    summary = json.loads(capsys.readouterr().out)
    assert (summary["player"], len(summary["episodes"])) == ("model", 2)
    for episode in (1, 2):
        turns = [
            [(t.action, t.response, t.reasoning) for t in turns_in(read_episode(each, episode)).values()]
            for each in (recording, again)
        ]
        assert turns[0] == turns[1]
        assert len(turns[0]) == 4
    assert (again / "Memories.md").read_bytes() == (recording / "Memories.md").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workdir", "{recording}"], "already has episodes"),
        (["--workdir", "other", "--max-turns", "6"], "The recording has no answer to this question"),
        (["--workdir", "other", "--replay", "nowhere"], "there is no run of a model"),
    ],
)
def test_unsuitable_recording_is_refused(recording, tmp_path, monkeypatch, options, message, capsys):
    monkeypatch.chdir(tmp_path)
    code = run(["play", "--replay", str(recording), *(option.format(recording=recording) for option in options)])
    printed = capsys.readouterr()
    assert code in (ExitCode.BAD_INPUT, ExitCode.EPISODE_FAILED)
    output = " ".join((printed.out + printed.err).split())
    assert message in output
    assert "--resume" not in output


def test_model_calls_are_logged(play, tmp_path):
    with ChatServer(reply) as server:
        play(server, "--quiet")
    calls = list(read_events(run_directory(tmp_path / "files", 1) / MODEL_CALLS))
    assert all(isinstance(call, ModelCalled) for call in calls)
    # The first request only checks that the model answers.
    assert len(calls) == len(server.requests) - 1
    agent = [called for called in calls if called.call.role == "agent"]
    assert [called.turn for called in agent] == [1, 2, 3, 4]
    assert agent[0].call.answer == "I look about.\nACTION: look"
    assert [message.speaker for message in agent[0].call.messages] == ["system", "user"]


def test_token_limit_ends_the_episode(play, tmp_path):
    with ChatServer(reply) as server:
        code, out, _ = play(server, "--json", "--max-tokens", "40", "--episodes", "3", "--synchronous")
    (episode,) = json.loads(out)["episodes"]
    assert code == ExitCode.OK
    assert (episode["ending"], len(server.requests)) == ("budget", 3)
    # Each request takes 15 tokens, including the one at the start.
    assert "The ceiling of 40 tokens is reached: 45 were used." in episode["message"]
    *_, ended = read_episode(tmp_path / "files", 1)
    assert ended.reason == "budget"


def test_turn_record_includes_tokens_used_so_far(tmp_path):
    with ChatServer(reply) as server, runs.a_run(tmp_path, choice=runs.MODEL, url=server.url) as run:
        spent = [run.process_turn().spent.tokens for _ in range(2)]
    assert 0 < spent[0] < spent[1]


def test_cost_limit_requires_prices(play, tmp_path):
    with ChatServer(reply) as server:
        code, _, err = play(server, "--max-cost", "1")
        assert (code, server.requests) == (ExitCode.BAD_INPUT, [])
        assert "The price of test-model is unknown. Add it to the prices ([tool.zorkgpt.llm.prices]" in err
        table = "[tool.zorkgpt.llm.prices]\n'test-*' = { prompt = 100000, completion = 0 }\n"
        (tmp_path / "pyproject.toml").write_text(table)
        code, out, _ = play(server, "--json", "--max-cost", "2", "--synchronous")
    (episode,) = json.loads(out)["episodes"]
    assert (code, episode["ending"], len(server.requests)) == (ExitCode.OK, "budget", 2)
    # The request at the start cost the rest.
    assert sum(took["cost"] for took in episode["model_usage"].values()) == 1


def test_prices_can_be_set_in_the_environment(play, monkeypatch):
    monkeypatch.setenv("ZORKGPT_LLM__PRICES", '{"test-model": {"prompt": 100000, "completion": 0}}')
    with ChatServer(reply) as server:
        _, out, _ = play(server, "--json", "--max-cost", "2")
    assert json.loads(out)["episodes"][0]["ending"] == "budget"


def test_repeated_model_failures_end_the_episode(play, tmp_path, monkeypatch):
    monkeypatch.setenv("ZORKGPT_LLM__MAX_FAILURES", "2")

    def fail_from_turn_3(request):
        asked = sum("You are playing a text adventure" in each.prompt for each in server.requests)
        return reply(request) if asked < 3 else Status(500)

    with ChatServer(fail_from_turn_3) as server:
        code, out, _ = play(server, "--json")
    (episode,) = json.loads(out)["episodes"]
    assert code == ExitCode.EPISODE_FAILED
    assert (episode["ending"], episode["turns"]) == ("error", 2)
    # A background question may have failed too.
    assert re.search(r"[23] calls in a row failed", episode["message"])
    assert (tmp_path / "files" / "map_state.json").exists()


PAGE = Body(b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>")


def fail_at(turn: int, server: ChatServer, fault, *, times: int):
    """Return a reply function that fails `times` times, beginning with the agent's request for `turn`."""

    def serve(request):
        asked = sum("You are playing a text adventure" in each.prompt for each in server.requests)
        is_agent = "You are playing a text adventure" in request.prompt
        return fault if is_agent and turn <= asked < turn + times else reply(request)

    return serve


@pytest.mark.parametrize("nested", [False, True], ids=["a web page", "a nested answer"])
def test_single_bad_response_costs_no_turn(play, tmp_path, nested):
    fault = Answer('{"action": ' + "[" * 200_000) if nested else PAGE
    with ChatServer(lambda request: fail_at(3, server, fault, times=1)(request)) as server:
        code, out, _ = play(server, "--json")
    (episode,) = json.loads(out)["episodes"]
    turns = runs.turns_of(tmp_path / "files")
    assert (code, episode["turns_by_rules"]) == (ExitCode.OK, 0)
    assert [turn.player for turn in turns] == ["model"] * 4


def test_repeated_web_pages_end_the_episode_resumably(play, tmp_path, monkeypatch):
    monkeypatch.setenv("ZORKGPT_LLM__MAX_FAILURES", "2")
    with ChatServer(lambda request: fail_at(3, server, PAGE, times=4)(request)) as server:
        # Two requests per failure, because a stream without an answer is requested again whole. Synchronous, so that
        # no other question is answered between the two failures.
        code, out, _ = play(server, "--json", "--synchronous")
        (failed,) = json.loads(out)["episodes"]
        assert (code, failed["ending"], failed["turns"]) == (ExitCode.EPISODE_FAILED, "error", 2)
        assert "2 calls in a row failed" in failed["message"]
        code, out, _ = play(server, "--json", "--resume")
    (resumed,) = json.loads(out)["episodes"]
    assert (code, resumed["episode"], resumed["turns"]) == (ExitCode.OK, 1, 4)


@pytest.mark.parametrize("failure", [None, Status(401, f"wrong key {KEY}"), Status(500, f"Bearer {KEY}")], ids=str)
def test_api_key_is_never_printed_or_saved(play, tmp_path, failure, caplog, monkeypatch):
    monkeypatch.setenv("ZORKGPT_LLM__MAX_FAILURES", "2")
    caplog.set_level(logging.DEBUG)
    with ChatServer(lambda request: failure if failure and len(server.requests) > 2 else reply(request)) as server:
        _, out, err = play(server)
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    left = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(left) >= 3
    assert [text for text in left if KEY.encode() in text] == []
    assert KEY not in out + err + caplog.text


def test_run_reports_memory_model_that_misreads_its_prompt(play, tmp_path):
    core = '{"should_remember": true, "category": "NOTE", "memory_title": "Air %d", "memory_text": "Damp.", '
    made, actions = iter(range(100)), iter(["look", "jump", "sing", "sleep", "wave", "swim"])

    def insists(request):
        if "You keep the memory" in request.prompt:
            return core % next(made) + '"persistence": "core"}'
        return f"ACTION: {next(actions)}" if "You are playing" in request.prompt else reply(request)

    with ChatServer(insists) as server:
        _, out, _ = play(server, "--quiet", "--max-turns", "6")
    assert "The memory model misreads its prompt" in out
    kept = parse((tmp_path / "files" / "Memories.md").read_bytes()).by_place().values()
    assert {memory.persistence for memories in kept for memory in memories} == {"core", "permanent"}


@pytest.mark.parametrize(
    "fault", [Trickle(Answer("ACTION: look" + " " * 2000), 0.05), Silence()], ids=["trickle", "silence"]
)
def test_endless_model_response_ends_the_episode(play, tmp_path, monkeypatch, fault):
    monkeypatch.setenv("ZORKGPT_LLM__DEADLINE_S", "0.3")
    monkeypatch.setenv("ZORKGPT_LLM__MAX_FAILURES", "2")
    with ChatServer(lambda request: fault if "You are playing" in request.prompt else reply(request)) as server:
        code, out, err = play(server, "--json")
    (episode,) = json.loads(out)["episodes"]
    assert (code, err) == (ExitCode.EPISODE_FAILED, "")
    assert (episode["ending"], episode["turns"]) == ("error", 0)
    assert server.model in episode["message"]
    *_, ended = read_episode(tmp_path / "files", 1)
    assert ended.reason == "error"


def test_rules_replace_a_model_that_gives_no_commands(play, tmp_path):
    def rambles(request):
        return "Certainly! Let me think." if "You are playing" in request.prompt else reply(request)

    with ChatServer(rambles) as server:
        code, _, _ = play(server, "--quiet")
    turns = runs.turns_of(tmp_path / "files")
    assert (code, [turn.player for turn in turns]) == (ExitCode.OK, ["rules"] * 4)


def test_unusable_answer_without_fallback_ends_the_episode(tmp_path):
    def rambles(request):
        return "Let me think!" if "You are playing" in request.prompt else reply(request)

    model = {"choice": runs.MODEL, "stand_in": False}
    with ChatServer(rambles) as server, runs.a_run(tmp_path, url=server.url, **model) as run:
        end = run.play_episode()
    assert (end.reason, end.turns) == ("error", 0)
    assert runs.turns_of(tmp_path) == []


def test_weak_model_plays_with_structured_output(play, tmp_path):
    def typed(request):
        if "You are playing" not in request.prompt:
            return reply(request)
        by_schema = "response_format" in request.body
        return '{"reasons": "Why not.", "action": "look"}' if by_schema else "Certainly! Let me think."

    with ChatServer(typed) as server:
        code, _, _ = play(server, "--quiet")
    turns = runs.turns_of(tmp_path / "files")
    assert code == ExitCode.OK
    assert [(turn.player, turn.action, turn.reasoning) for turn in turns] == [("model", "look", "Why not.")] * 4


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Status(500, "out of memory"), "out of memory"),
        (Status(503, "loading model"), "loading model"),
        (Body(b"<!doctype html><html></html>"), "sent a web page.*most end in /v1"),
        (Silence(), "timed out"),
    ],
    ids=["500", "503", "a web page", "silence"],
)
def test_model_failure_at_start_exits_with_code_3(play, tmp_path, monkeypatch, fault, message):
    monkeypatch.setenv("ZORKGPT_LLM__TIMEOUT_S", "0.3")
    with ChatServer(fault) as server:
        code, _, err = play(server)
    assert code == ExitCode.MODEL_UNREACHABLE
    assert re.search(message, err)
    assert not (tmp_path / "files" / "runs").exists()


def test_doctor_reports_server_capabilities(tmp_path, monkeypatch, capsys):
    def refuses(request):
        form = request.body.get("response_format", {}).get("type")
        return Status(500, "response_format: json_schema") if form == "json_schema" else '{"ready": true}'

    with ChatServer(refuses, models={"test-model": {"max_model_len": 8192}}) as server:
        monkeypatch.setenv("ZORKGPT_LLM__AGENT_MODEL", server.model)
        monkeypatch.setenv("ZORKGPT_LLM__CLIENT_BASE_URL", server.url)
        run(["doctor", "--workdir", str(tmp_path)])
    output = " ".join(capsys.readouterr().out.split())
    assert "(typed answers by json_object with a schema, a context of 8192 tokens)" in output


_SMALL_CONTEXT = 2_048


@pytest.mark.parametrize("schemas", [True, False], ids=["schemas", "no schemas"])
@pytest.mark.parametrize("listed", [True, False], ids=["in the listing", "in an error"])
def test_prompts_fit_a_small_context(play, tmp_path, listed, schemas):
    commands = iter(get_bundled_walkthrough())
    too_long = []

    def small(request):
        tokens = estimated_tokens(request.prompt) + request.body.get("max_tokens", 0)
        if tokens > _SMALL_CONTEXT:
            too_long.append(request)
            return Status(400, f"This model's maximum context length is {_SMALL_CONTEXT} tokens.")
        playing = "You are playing" in request.prompt
        return f"It is the next step.\nACTION: {next(commands)}" if playing else reply(request)

    models = {MODEL: {"max_model_len": _SMALL_CONTEXT} if listed else {}}
    with ChatServer(small, json_schema=schemas, models=models) as server:
        code, out, _ = play(server, "--json", "--max-turns", "20")
    (episode,) = json.loads(out)["episodes"]
    turns = runs.turns_of(tmp_path / "files")
    assert (code, episode["turns"], {turn.player for turn in turns}) == (ExitCode.OK, 20, {"model"})
    # Before the first answer, several roles may be refused at the same time.
    assert len(too_long) < (1 if listed else 10)
    asked = [request.prompt for request in server.requests if "You are playing" in request.prompt]
    assert all("ACTION: and one command." in prompt and "## Certain" in prompt for prompt in asked)
    # With its first answer the agent learns the size of the context, and then requests no more than fits.
    assert not any("\n[...]\n" in prompt for prompt in asked[1:])
