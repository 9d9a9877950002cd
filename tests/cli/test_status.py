"""Tests of the status line, which shows the current phase or model call."""

import io
import time

import pytest
from rich.console import Console

from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.clock import Clock
from zorkgpt.cli.status import Status, StatusLine, report_if_silent
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Message
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def status(clock):
    return Status(CurrentCall(clock), clock)


def test_phase_shows_elapsed_seconds(status, clock):
    assert status.line() == ""
    status.begin("loading the story")
    assert status.line() == "loading the story"
    clock.time += 3
    assert status.line() == "loading the story (3 s)"


def test_progress_of_the_run_precedes_the_activity(status):
    status.progress = lambda: "episode 1 of 2  turn 8/20"
    assert status.line() == "episode 1 of 2  turn 8/20"
    status.calls.call_began(Role.AGENT, "m")
    assert status.line() == "episode 1 of 2  turn 8/20  waiting for the model"


@pytest.mark.parametrize(
    ("role", "expected"), [(Role.AGENT, "waiting for the model (6 s)"), (Role.CRITIC, "reviewing the action (6 s)")]
)
def test_model_call_is_described_by_role(status, clock, role, expected):
    status.calls.call_began(role, "m")
    clock.time += 6
    assert status.line() == expected
    status.calls.call_ended()
    assert status.line() == ""


def test_every_role_has_a_description(status):
    for role in Role:
        status.calls.call_began(role, "m")
        assert status.line()


def test_received_tokens_are_counted(status, clock):
    status.calls.call_began(Role.AGENT, "m")
    clock.time += 2
    status.calls.tokens_received(412)
    assert status.line() == "waiting for the model (2 s, 412 tokens)"


def test_retry_shows_number_and_time_left(status, clock):
    status.calls.call_began(Role.AGENT, "m")
    clock.time += 20
    status.calls.retry_began(2, 3, 60)
    clock.time += 20
    assert status.line() == "waiting for the server (retry 2 of 3, 40 s left)"


def test_client_reports_calls():
    roles: list[Role] = []

    class Seen(CurrentCall):
        def call_began(self, role: Role, model: str) -> None:
            roles.append(role)
            super().call_began(role, model)

    calls = Seen()
    with ChatServer(Answer("ACTION: look")) as server:
        client = LLMClient(LLMSettings.single(server.model, base_url=server.url), observer=calls)
        client.complete([Message("user", "What now?")], role=Role.CRITIC)
    assert roles == [Role.CRITIC]
    assert calls.in_progress is None


def test_status_line_is_shown_on_terminals_only(status):
    terminal, pipe = (
        Console(width=60, file=io.StringIO(), force_terminal=is_terminal, legacy_windows=False)
        for is_terminal in (True, False)
    )
    status.begin("loading the story")
    for console in (terminal, pipe):
        with StatusLine(console, status):
            console.print("between")
    assert "loading the story …" in terminal.file.getvalue()
    assert pipe.file.getvalue() == "between\n"


def test_narrow_line_keeps_the_seconds(status, clock):
    console = Console(width=40, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    status.begin("asking the server http://an.address.that.is.long:11434/v1")
    clock.time += 12
    with StatusLine(console, status):
        pass
    assert "asking the server http://an.a… (12 s) …" in console.file.getvalue()


def test_long_wait_is_reported_once(status, capsys):
    line = StatusLine(Console(file=io.StringIO()), status)
    with report_if_silent(line, "the server x", 600, after_s=30):
        pass
    assert capsys.readouterr().err == ""
    with report_if_silent(line, "the server x", 600, after_s=0.01):
        time.sleep(0.2)
    assert capsys.readouterr().err.count("the server x has not answered") == 1
