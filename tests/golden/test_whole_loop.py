"""Golden test of fifty turns of the bundled story, with a model in every role.

The models are scripted (`roles.py`, `story.py`) and answer over HTTP from a server on localhost. Everything else is
assembled by `main.py play` from a `pyproject.toml`. The test compares every prompt with its answer, the order of
questions, the files of the run, and the logs of both episodes. Times are replaced. A section or a long line that was
in an earlier prompt of the same role is named instead of repeated.

After an intended change of a prompt or file, write the golden files again and read the diff before you commit:

    uv run --all-groups pytest tests/golden --renew-golden
    git diff tests/golden
"""

import difflib
import io
import re
import threading
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.fixtures.chat_server import Answer, ChatServer, Reply, Request, Status
from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.walkthrough import bundled_story_path
from tests.golden import roles, story
from tests.golden.transcript import Question, dialogue, document, events, order, values
from zorkgpt.cli.app import run
from zorkgpt.cli.process import ExitCode
from zorkgpt.llm.roles import Role

GOLDEN = Path(__file__).parent / "expected"
RENEW = "uv run --all-groups pytest tests/golden --renew-golden"
_MODELS = ("agent", "critic", "memory", "analyst")
_MOST_LINES = 150
_CONFIGURATION = """
[tool.zorkgpt.llm]
client_base_url = "{url}"
agent_model = "agent"
critic_model = "critic"
memory_model = "memory"
analysis_model = "analyst"

[tool.zorkgpt.orchestrator]
max_turns_per_episode = 25
objective_update_interval = 8
knowledge_update_interval = 10
max_objectives_before_forced_refinement = 4
refined_objectives_target_count = 3
ask_in_background = false

[tool.zorkgpt.context]
history_tokens = 1500

[tool.zorkgpt.memory_deduplication]
provider = "llm"
candidate_threshold = 0.4
"""


class Models:
    """Answers for every role, and records questions with their turn."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self._at = "1.0"
        self._roles = {
            "agent": roles.Agent([*story.FIRST, *story.SECOND]),
            "critic": roles.critic,
            "memory": roles.Memory(),
        }

    def __call__(self, request: Request) -> Reply:
        if "Are you ready?" in request.prompt:
            return Answer('{"ready": true}')
        model = request.body["model"]
        messages = tuple((message["role"], message["content"]) for message in request.body["messages"])
        role, answering = (model, self._roles.get(model)) if model != "analyst" else _analyst(messages[0][1])
        if role == "agent":
            self._at = _turn_of(request.prompt)
            _let_vectors_load()
        reply = answering(request)
        answer = reply if isinstance(reply, str) else f"(status {reply.code})" if isinstance(reply, Status) else "?"
        self.questions.append(Question(self._at, role, messages, answer))
        return Answer(reply) if isinstance(reply, str) else reply


def _analyst(system: str):
    return next(found for beginning, found in roles.BY_SYSTEM.items() if system.startswith(beginning))


def _turn_of(prompt: str) -> str:
    turn, episode = re.search(r"^- Turn (\d+) of \d+, episode (\d+)", prompt, re.MULTILINE).groups()
    return f"{episode}.{turn}"


def _let_vectors_load() -> None:
    """Wait for vectors, so that they are available from a fixed turn on."""
    for thread in threading.enumerate():
        if thread.name == "zorkgpt-embeddings":
            thread.join()


def vector(text: str) -> list[float]:
    return HashingEmbeddings().embed(text).tolist()


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Iterator[dict[str, str]]:
    """Contents of each golden file according to this run."""
    folder, models = tmp_path_factory.mktemp("golden"), Models()
    with pytest.MonkeyPatch.context() as patch, ChatServer(models, models=_MODELS, embed=vector) as server:
        patch.chdir(folder)
        patch.delenv("OPENAI_BASE_URL", raising=False)
        (folder / "pyproject.toml").write_text(_CONFIGURATION.format(url=server.url), encoding="utf-8")
        options = ["--game", str(bundled_story_path()), "--workdir", str(folder / "files"), "--episodes", "2"]
        with redirect_stdout(io.StringIO()):
            assert run(["play", *options, "--quiet"]) == ExitCode.OK
    return _texts(models.questions, folder / "files")


def _texts(questions: list[Question], workdir: Path) -> dict[str, str]:
    read = {path.relative_to(workdir).as_posix(): path.read_text("utf-8") for path in _kept(workdir)}
    as_text = {".md": document, ".json": values, ".jsonl": lambda text: events(text.splitlines())}
    prompts = {f"{role}.txt": dialogue(question for question in questions if question.role == role) for role in Role}
    files = {
        name.replace("/", "_").replace(".jsonl", ".txt"): as_text[Path(name).suffix](text)
        for name, text in read.items()
    }
    return prompts | {"order.txt": order(questions)} | files


def _kept(workdir: Path) -> list[Path]:
    names = ("Memories.md", "knowledgebase.md", "map_state.json", "current_state.json")
    return [*(workdir / name for name in names), *sorted(workdir.glob("runs/*/episode_log.jsonl"))]


def test_fifty_turns_match_the_golden_files(played, request):
    if request.config.getoption("--renew-golden"):
        GOLDEN.mkdir(exist_ok=True)
        for path in GOLDEN.iterdir():
            path.unlink()
        for name, text in played.items():
            (GOLDEN / name).write_text(text, encoding="utf-8")
    golden = {path.name: path.read_text("utf-8") for path in GOLDEN.iterdir()}
    differences = [_difference(name, golden.get(name, ""), played.get(name, "")) for name in sorted(golden | played)]
    if any(differences):
        pytest.fail("".join(differences) + f"\nIf this is meant to be so: {RENEW}, and read the diff.", pytrace=False)


def _difference(name: str, golden: str, now: str) -> str:
    """Return a shortened diff, or "" if there is none."""
    lines = list(difflib.unified_diff(golden.splitlines(), now.splitlines(), f"golden {name}", name, lineterm="", n=2))
    more = f"\n({len(lines) - _MOST_LINES} more lines differ)" * (len(lines) > _MOST_LINES)
    return "\n".join(lines[:_MOST_LINES]) + more + "\n" if lines else ""
