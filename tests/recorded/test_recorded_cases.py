"""Recorded cases: six stories with two seeds. Memories, prompts and the memories as of every turn must not change.

After an intended change, write the recorded files again and read the diff before you commit:

    uv run --all-groups pytest tests/recorded --renew-golden
    git diff tests/recorded
"""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType

import pytest

from tests.recorded.cases import SEEDS, STORIES, record
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.asynchronous import AsyncMemory
from zorkgpt.memory.manager import SimpleMemoryManager

pytestmark = pytest.mark.slow
EXPECTED = Path(__file__).parent / "expected"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("story", STORIES)
def test_run_leaves_what_was_recorded(story: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest):
    folder, now = EXPECTED / f"{story}-{seed}", record(story, seed, tmp_path).files()
    if request.config.getoption("--renew-golden"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in now.items():
            (folder / name).write_text(text, encoding="utf-8")
    assert now == {name: (folder / name).read_text("utf-8") for name in now}


def test_public_signatures_are_unchanged(request: pytest.FixtureRequest):
    path, now = EXPECTED / "signatures.txt", "".join(f"{line}\n" for line in _signatures())
    if request.config.getoption("--renew-golden"):
        path.write_text(now, encoding="utf-8")
    assert now == path.read_text("utf-8")


def _signatures() -> Iterator[str]:
    for owner in (AgentMemory, SimpleMemoryManager, AsyncMemory):
        for name in sorted(name for name in dir(owner) if not name.startswith("_")):
            is_method = isinstance(inspect.getattr_static(owner, name), FunctionType | classmethod | staticmethod)
            yield f"{owner.__name__}.{name}{_arguments(getattr(owner, name)) if is_method else ''}"


def _arguments(method: Callable[..., object]) -> str:
    """Return the parameters without their types, which are written differently by each version of Python."""
    parameters = inspect.signature(method).parameters.values()
    plain = [each.replace(annotation=each.empty, default=_named(each.default)) for each in parameters]
    return str(inspect.Signature(plain))


def _named(default: object) -> object:
    return default.__name__ if inspect.isfunction(default) else default
