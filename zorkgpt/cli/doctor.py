"""The command `doctor`: check the installation and suggest fixes."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.text import Text

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import Story
from orchestration.assembly import prepare_workdir
from orchestration.player_choice import choose_player
from session.game_configuration import GameConfiguration
from zorkgpt.cli.display import console_for
from zorkgpt.cli.games import facts_line
from zorkgpt.cli.process import ExitCode
from zorkgpt.embeddings.choose import without_embeddings
from zorkgpt.errors import ZorkGPTError
from zorkgpt.llm.client import LLMClient, ModelStatus
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.runlog.story_folder import StoryMark, check_story, kept_folder
from zorkgpt.text import number_of, printable


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    subject: str
    works: bool
    message: str
    needed: bool = True
    """Whether the game needs it."""


def examine(workdir: Path | None, game: str | None) -> int:
    """Check everything that a game needs. Return the exit code."""
    console = console_for(sys.stdout)
    findings = list(_findings(workdir, game))
    for finding in findings:
        sign = ("ok", "green") if finding.works else ("missing" if finding.needed else "none", "red")
        console.print(Text.assemble(f"{finding.subject:<12}", sign, f"  {printable(finding.message)}"), soft_wrap=True)
    return ExitCode.OK if all(finding.works or not finding.needed for finding in findings) else ExitCode.BAD_INPUT


def _findings(workdir: Path | None, game: str | None) -> Iterator[Finding]:
    try:
        config = GameConfiguration.load(arguments={"zork_game_workdir": str(workdir) if workdir else None})
    except ZorkGPTError as error:
        yield Finding("settings", False, str(error))
        return
    yield Finding("settings", True, "pyproject.toml and the environment were read")
    story, finding = _story(game)
    yield finding
    yield _model(config)
    yield from _interpreter()
    yield _embeddings()
    yield _files(config, story, is_given=workdir is not None)
    if config.memory_address:
        yield _memories(config)


def _story(game: str | None) -> tuple[Story | None, Finding]:
    try:
        with JerichoInterface(game) as interface:
            interface.reset()
            story, facts = interface.story, interface.facts
    except ZorkGPTError as error:
        return None, Finding("story", False, str(error))
    return story, Finding("story", True, f"{story.title or story.path.stem} starts ({story.path}); {facts_line(facts)}")


def _model(config: GameConfiguration) -> Finding:
    try:
        choice = choose_player("auto", config)
        if choice.models is None:
            how = "Name one when you play (--model) or in pyproject.toml, see docs/models.md"
            return Finding("model", False, f"{choice.why}. {how}", needed=False)
        served = LLMClient(choice.models).check()
    except ZorkGPTError as error:
        return Finding("model", False, str(error))
    return Finding("model", True, "; ".join(map(_status_line, served)))


def _status_line(status: ModelStatus) -> str:
    return f"{status.model} at {status.base_url} ({status.dialect})"


def _interpreter() -> Iterator[Finding]:
    lean = "To leave spaCy out: pip install 'zorkgpt[play]' && pip install --no-deps jericho"
    if find_spec("jericho") is None:
        message = f"not installed. It needs a C compiler and make, and brings spaCy (118 MB). {lean}"
        yield Finding("jericho", False, message)
    elif find_spec("spacy") is not None:
        message = f"installed. It also brought spaCy (118 MB), which ZorkGPT doesn't use. {lean}"
        yield Finding("jericho", True, message, needed=False)


def _embeddings() -> Finding:
    installed = [name for name in ("onnxruntime", "sentence_transformers") if find_spec(name)]
    if not installed:
        return Finding("embeddings", False, without_embeddings("auto"), needed=False)
    return Finding("embeddings", True, f"{', '.join(installed)} installed", needed=False)


def _memories(config: GameConfiguration) -> Finding:
    try:
        with SimpleMemoryManager(path=config.memory_address) as manager:
            store, count = manager.store, manager.get_persistent_count()
            message = f"{store.name} has {number_of(count, 'memory', 'memories')}"
            if find_spec("numpy") is not None:
                message += f"; {_vectors(store)}"
    except ZorkGPTError as error:
        return Finding("memories", False, str(error))
    return Finding("memories", True, message)


def _vectors(store: Store) -> str:
    try:
        return f"vectors are stored {store.vectors().kept}"
    except ZorkGPTError as error:
        return f"vectors are not stored: {error}"


def _files(config: GameConfiguration, story: Story | None, *, is_given: bool) -> Finding:
    workdir = Path(config.zork_game_workdir)
    try:
        if story is not None:
            mark = StoryMark.of(story.summary())
            if is_given:
                check_story(workdir, mark)
            else:
                workdir = kept_folder(workdir, mark, may_share=not config.names_workdir) or workdir
        prepare_workdir(workdir)
    except ZorkGPTError as error:
        return Finding("files", False, str(error))
    memories = workdir / config.memory_file
    size = f"{memories} has {memories.stat().st_size} bytes" if memories.exists() else "no memories yet"
    return Finding("files", True, f"{workdir} is writable; {size}")
