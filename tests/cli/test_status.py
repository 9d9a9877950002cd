"""The line that says what goes on, from the start to a slow model."""

import io
import time

import pytest
from rich.console import Console

from tests.fixtures.chat_server import Answer, ChatServer
from zorkgpt.cli.status import Status, StatusLine, report_if_silent
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Message
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings


class Clock:
    """Seconds that pass only when they are told to."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def status(clock):
    return Status(CurrentCall(clock), clock)


def test_a_phase_has_its_seconds_once_it_is_a_wait(status, clock):
    assert status.line() == ""
    status.begin("loading the story")
    assert status.line() == "loading the story"
    clock.time += 3
    assert status.line() == "loading the story (3 s)"


@pytest.mark.parametrize(
    ("role", "said"), [(Role.AGENT, "waiting for the model (6 s)"), (Role.CRITIC, "reviewing the action (6 s)")]
)
def test_a_call_is_named_by_what_it_is_for(status, clock, role, said):
    status.calls.call_began(role, "m")
    clock.time += 6
    assert status.line() == said
    status.calls.call_ended()
    assert status.line() == ""


def test_every_role_has_its_words(status):
    for role in Role:
        status.calls.call_began(role, "m")
        assert status.line()


def test_tokens_are_counted_where_the_client_tells_of_them(status, clock):
    status.calls.call_began(Role.AGENT, "m")
    clock.time += 2
    status.calls.tokens_received(412)
    assert status.line() == "waiting for the model (2 s, 412 tokens)"


def test_a_retry_says_how_many_there_are_and_how_long_it_may_take(status, clock):
    status.calls.call_began(Role.AGENT, "m")
    clock.time += 20
    status.calls.retry_began(2, 3, 60)
    clock.time += 20
    assert status.line() == "waiting for the server (retry 2 of 3, 40 s left)"


def test_the_client_tells_of_a_call_while_it_lasts():
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


def test_the_line_shows_on_a_terminal_and_leaves_nothing_behind(status):
    terminal, pipe = (
        Console(width=60, file=io.StringIO(), force_terminal=is_terminal, legacy_windows=False)
        for is_terminal in (True, False)
    )
    status.begin("loading the story")
    for console in (terminal, pipe):
        with StatusLine(console, status):
            console.print("said meanwhile")
    assert "loading the story …" in terminal.file.getvalue()
    assert pipe.file.getvalue() == "said meanwhile\n"


def test_a_narrow_line_keeps_the_seconds(status, clock):
    console = Console(width=40, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    status.begin("asking the server http://an.address.that.is.long:11434/v1")
    clock.time += 12
    with StatusLine(console, status):
        pass
    assert "asking the server http://an.a… (12 s) …" in console.file.getvalue()


def test_a_long_silence_is_told_once_and_a_quick_answer_is_not(status, capsys):
    line = StatusLine(Console(file=io.StringIO()), status)
    with report_if_silent(line, "the server x", 600, after_s=30):
        pass
    assert capsys.readouterr().err == ""
    with report_if_silent(line, "the server x", 600, after_s=0.01):
        time.sleep(0.2)
    assert capsys.readouterr().err.count("the server x has not answered") == 1
