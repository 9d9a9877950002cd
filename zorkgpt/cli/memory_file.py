"""What the commands of `memories` share: opening the file, and saying what is in it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from zorkgpt.cli.places import places
from zorkgpt.errors import MemoryEditError, MemoryStoreError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_BAD_INPUT = 2

Workdir = Annotated[
    Path | None,
    typer.Option("--workdir", help="Where Memories.md is kept. [default: the story's folder in game_files]"),
]
Game = Annotated[
    str | None, typer.Option("--game", help="The story: its file or its name. [default: the one played last]")
]
File = Annotated[Path | None, typer.Option("--file", help="The memory file itself, where it has another name.")]
Title = Annotated[str, typer.Argument(help="A memory's title.")]
Location = Annotated[int | None, typer.Option("--location", help="Its location's number, where others have one too.")]


@contextmanager
def opened(
    workdir: Path | None,
    file: Path | None,
    game: str | None = None,
    *,
    must_exist: bool = True,
    provider: str | None = None,
) -> Iterator:
    from zorkgpt.memory.manager import SimpleMemoryManager

    path = memory_path(workdir, file, game, make=not must_exist)
    # What these commands have to say, they print; `check` lists what is not understood.
    logging.getLogger("zorkgpt").addHandler(logging.NullHandler())
    try:
        with SimpleMemoryManager(path=path, **_comparing(provider)) as manager:
            if manager.store.recovered:
                typer.echo(f"zorkgpt: {manager.store.recovered.describe()}", err=True)
            if must_exist and not manager.store.file.path.exists():
                fail(
                    f"There is no memory file at {path}. "
                    "Name its story with --game, its folder with --workdir, or itself with --file."
                )
            yield manager
    except (MemoryStoreError, MemoryEditError) as error:
        fail(str(error))


def memory_path(workdir: Path | None, file: Path | None, game: str | None, *, make: bool = False) -> Path:
    """The memory file itself, or the one of the story's folder."""
    if file is not None:
        return file
    found = places(workdir, game, make=make)
    return found.workdir / found.memory


def _comparing(provider: str | None) -> dict:
    """What the manager needs to compare memories, as configured; the model judges what is unsure, if there is one."""
    if provider is None:
        return {}
    from session.game_configuration import GameConfiguration
    from session.model_settings import model_settings
    from zorkgpt.llm.client import LLMClient
    from zorkgpt.memory.dedup.judge import ModelJudge

    config = GameConfiguration.load(arguments={"embedding_provider": provider, "enable_semantic_deduplication": True})
    models = model_settings(config)
    return {"config": config, "judge": ModelJudge(LLMClient(models)) if models else None}


def described(memory) -> str:
    state = "" if memory.status == "ACTIVE" else f", {memory.status.lower()}"
    if memory.superseded_by and memory.superseded_by != "INVALIDATED":
        state += f" by {memory.superseded_by!r}"
    if memory.invalidation_reason:
        state += f": {memory.invalidation_reason}"
    seen = f", seen {memory.observation_count}x" if memory.observation_count > 1 else ""
    seen += f", worked {memory.worked}/{memory.tried}" if memory.tried else ""
    marks = "".join(f", {mark}" for mark in ("pinned", "vetoed") if getattr(memory, mark))
    head = f"[{memory.category} {memory.persistence}{state}{marks}] {memory.title}"
    return f"{head} ({seen_when(memory)}{seen}): {memory.text}"


def seen_when(memory) -> str:
    """Episode and turn, first and last where they differ."""
    if memory.first_episode is None:
        return f"episode {memory.episode}, turn {memory.turns}"
    from zorkgpt.memory.storage.changes import seen_first, seen_last

    first, last = seen_first(memory), seen_last(memory)
    return f"episode {first.episode}, turn {first.turn} → episode {last.episode}, turn {last.turn}"


def said_on(record) -> str:
    """When a line of the history was written, and by whom."""
    stamp = record.turn_stamp
    turn = f"in episode {stamp.episode}, turn {stamp.turn}" if stamp else ""
    source = "" if record.source == "agent" else f"({record.source})"
    return " ".join(filter(None, [turn, f"on {record.at[:10]} at {record.at[11:16]}", source]))


def number_of(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def say(text: str, end: str = "\n") -> None:
    # What a memory says is data: nothing in it may steer the terminal.
    typer.echo("".join(char if char.isprintable() else "\ufffd" for char in text) + end, nl=False)


def fail(message: str) -> None:
    typer.echo(f"zorkgpt: {message}", err=True)
    raise typer.Exit(_BAD_INPUT)
