"""Tests of every snippet of docs/models.md, against a server on localhost."""

import re
import shlex
from pathlib import Path

import pytest

from session.game_configuration import GameConfiguration, model_settings
from tests.fixtures.chat_server import ChatServer, Reply, Request
from tests.fixtures.command_line import command
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Message
from zorkgpt.llm.roles import Role

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
ADDRESS = re.compile(r"https?://[\w./:-]+/v1")


def snippets(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found


def reply(request: Request) -> Reply:
    if "Greet me" in request.prompt:
        return '{"text": "Bom dia", "language": "pt"}'
    return '{"should_remember": false}' if "You keep the memory" in request.prompt else "I listen.\nACTION: wait"


@pytest.fixture
def server():
    with ChatServer(reply, models=None) as server:
        yield server


@pytest.mark.parametrize("snippet", snippets("python"))
def test_python_snippets(snippet, server):
    exec(compile(ADDRESS.sub(server.url, snippet), "docs/models.md", "exec"), {"__name__": "snippet"})


@pytest.mark.parametrize("snippet", snippets("toml"))
def test_configuration_snippets(snippet, server, tmp_path):
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(ADDRESS.sub(server.url, snippet), encoding="utf-8")
    client = LLMClient(model_settings(GameConfiguration.load(pyproject=pyproject, environment={})))
    for role in Role:
        client.complete([Message("user", "What now?")], role=role)
    sent = [{key: value for key, value in request.body.items() if key != "messages"} for request in server.requests]
    assert sent == [
        {"model": "qwen3:8b", "temperature": 0.7, "top_p": 0.95, "max_tokens": 4000},
        {"model": "gemma3:4b", "max_tokens": 1000},
        {"model": "qwen3:8b", "temperature": 0.3, "max_tokens": 2000},
        {"model": "qwen3:32b", "max_tokens": 1000},
        {"model": "qwen3:32b", "max_tokens": 1000},
        {"model": "qwen3:32b", "max_tokens": 1000},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("snippet", snippets("sh"))
def test_command_snippets(snippet, server, tmp_path):
    environment = {"OPENAI_BASE_URL": server.url}
    for line in ADDRESS.sub(server.url, snippet).splitlines():
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            environment[name] = value
            continue
        words = shlex.split(line.removeprefix("uv run python main.py "))
        done = command(*words, "--episodes", "1", "--max-turns", "3", "--quiet", cwd=tmp_path, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
    agents = [request for request in server.requests if "ACTION: <one command>" in request.prompt]
    assert len(agents) == 3
