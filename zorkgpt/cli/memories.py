"""`memories`: look at what is remembered, and care for it."""

import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from zorkgpt.errors import MemoryStoreError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_BAD_INPUT = 2
_NOT_UNDERSTOOD = 1

Workdir = Annotated[Path, typer.Option("--workdir", help="Where Memories.md is kept.")]
File = Annotated[Path | None, typer.Option("--file", help="The memory file itself, where it has another name.")]
WORKDIR = Path("game_files")


@app.command()
def show(
    location: Annotated[int | None, typer.Argument(help="A location's number; without one, all of them.")] = None,
    workdir: Workdir = WORKDIR,
    file: File = None,
) -> None:
    """What is known of a location, or of all: every memory, with what became of it."""
    with _manager(workdir, file) as manager:
        located = [one for one in manager.all_memories() if location in (None, one.location_id)]
        if not located:
            _fail("Nothing is remembered." if location is None else f"Nothing is remembered of location {location}.")
        place = None
        for one in located:
            if one.location_id != place:
                place = one.location_id
                _say(f"Location {place}: {one.location_name}".rstrip(": "))
            _say(f"  {_described(one.memory)}")


@app.command()
def check(workdir: Workdir = WORKDIR, file: File = None) -> None:
    """List what in the file was not understood, with line numbers. Exits with 1 if there is anything."""
    with _manager(workdir, file) as manager:
        from zorkgpt.memory.codec import parse

        document = parse(manager.store.file.path.read_bytes())
        problems = list(document.problems())
        for problem in problems:
            _say(f"line {problem.line}: {problem.message}")
        memories = sum(map(len, document.all_memories().values()))
        _say(f"{_number(memories, 'memory', 'memories')} read, {len(problems)} not understood and kept as found.")
    if problems:
        raise typer.Exit(_NOT_UNDERSTOOD)


@app.command()
def stats(workdir: Workdir = WORKDIR, file: File = None) -> None:
    """How many memories there are, of which kinds."""
    with _manager(workdir, file) as manager:
        located = manager.all_memories()
        _say(f"{_number(len({one.location_id for one in located}), 'location', 'locations')}, ", end="")
        _say(_number(len(located), "memory", "memories"))
        for field in ("persistence", "status", "category"):
            counts = Counter(getattr(one.memory, field) for one in located)
            _say(f"  {field}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
        _say(f"  visits: {sum(section.visits for section in manager.store.document.sections)}")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="Words to look for.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 10,
    workdir: Workdir = WORKDIR,
    file: File = None,
) -> None:
    """Memories of any location that share words with the text, best first."""
    with _manager(workdir, file) as manager:
        found = manager.search(text, limit)
        for result in found:
            place = result.located
            _say(f"{place.location_id} {place.location_name}: {_described(place.memory)}")
        if not found:
            _say("Nothing found.")


@app.command()
def export(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array; without this, the file as it is.")] = False,
    workdir: Workdir = WORKDIR,
    file: File = None,
) -> None:
    """Write all memories to the standard output."""
    with _manager(workdir, file) as manager:
        from zorkgpt.memory.exchange import rows

        if as_json:
            typer.echo(json.dumps(rows(manager.all_memories()), indent=1))
        else:
            typer.echo(manager.store.file.path.read_bytes(), nl=False)


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(help="What export --json wrote, or another memory file.")],
    workdir: Workdir = WORKDIR,
    file: File = None,
) -> None:
    """Add the memories of another file; those that are known already are left out."""
    with _manager(workdir, file, must_exist=False) as manager:
        from zorkgpt.memory.exchange import read_memories, with_memories

        memories = read_memories(source)
        outcome = manager.store.apply(lambda document: with_memories(document, memories))
        _say(f"{len(outcome.changes)} of {_number(len(memories), 'memory', 'memories')} added.")


@app.command()
def move(
    old: Annotated[int, typer.Argument(help="The location's number until now.")],
    new: Annotated[int, typer.Argument(help="Its number from now on.")],
    workdir: Workdir = WORKDIR,
    file: File = None,
) -> None:
    """Give a location another number, with all that is known of it."""
    with _manager(workdir, file) as manager:
        from zorkgpt.memory import changes

        if not manager.store.document.of(old):
            _fail(f"There is no location {old} in {manager.store.file.path}.")
        if old == new:
            _fail(f"Location {old} has that number already.")
        outcome = manager.store.apply(lambda document: changes.moved(document, old, new))
        _say(f"{_number(len(outcome.changes) // 2, 'memory', 'memories')} moved from location {old} to {new}.")


@app.command()
def history(
    title: Annotated[str, typer.Argument(help="A memory's title.")], workdir: Workdir = WORKDIR, file: File = None
) -> None:
    """What became of the memories of this title: what replaced what, when and why."""
    with _manager(workdir, file) as manager:
        # A folder that can only be read has a history all the same.
        with suppress(MemoryStoreError):
            manager.store.reconcile()
        wanted = title.casefold().strip()
        found = False
        for record in manager.store.history.records():
            change = record.change
            both = [memory for memory in (change.before, change.after) if memory is not None]
            names = {memory.title.casefold() for memory in both} | {(m.superseded_by or "").casefold() for m in both}
            if wanted in names:
                found = True
                _say(f"{record.at[:19]} {change.kind} at {change.location_id} {change.location_name} ({record.source})")
                if change.before and change.after and change.before.text != change.after.text:
                    _say(f"    was: {_described(change.before)}")
                _say(f"    {_described(both[-1])}")
                if change.reason and change.reason != both[-1].invalidation_reason:
                    _say(f"    why: {change.reason}")
        if not found:
            _fail(f"There is no memory titled {title!r} in the history.")


@app.command()
def undo(
    list_: Annotated[bool, typer.Option("--list", help="Only show what could be undone, the last first.")] = False,
    title: Annotated[str | None, typer.Option("--title", help="The last one that has to do with this title.")] = None,
    workdir: Workdir = WORKDIR,
    file: File = None,
) -> None:
    """Take back the last merge, refinement or verdict on a contradiction; the two are kept apart from then on."""
    with _manager(workdir, file) as manager:
        from zorkgpt.memory.undo import undo, undoable

        manager.store.reconcile()
        found = undoable(manager.store.history)
        if title is not None:
            wanted = title.casefold().strip()
            found = [one for one in found if wanted in one.titles()]
        if not found:
            _fail("There is nothing to undo.")
        if list_:
            for one in found:
                _say(one.describe())
            return
        if not undo(manager.store, found[0]):
            _fail(f"It was changed since, so it can't be undone: {found[0].describe()}")
        _say(f"Undone: {found[0].describe()}")


@app.command()
def dedupe(
    apply: Annotated[bool, typer.Option("--apply", help="Merge; without this, only show.")] = False,
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=0, max=1, help="Cosine below which nothing is merged.")
    ] = None,
    provider: Annotated[str, typer.Option("--provider", help="Of vectors: auto, onnx, none ...")] = "auto",
    workdir: Workdir = WORKDIR,
    file: File = None,
) -> None:
    """Show which memories say the same, place by place and why, and merge them if asked to."""
    with _manager(workdir, file, provider=provider) as manager:
        merges = manager.consolidate(apply=False, threshold=threshold)
        place = None
        for merge in merges:
            if merge.location_id != place:
                place = merge.location_id
                _say(f"Location {place}: {merge.location_name}".rstrip(": "))
            for line in merge.describe().splitlines():
                _say(f"  {line}")
        repeats = _number(len(merges), "memory repeats another", "memories repeat others")
        if not merges or not apply:
            _say(f"{repeats}." + (" Merge with --apply." if merges else ""))
            return
        before = _copied(manager.store.file.path)
        made = manager.merge(merges)
        _say(f"{repeats}, {made} merged. The file as it was: {before}. `memories undo` takes one back.")


@contextmanager
def _manager(workdir: Path, file: Path | None, *, must_exist: bool = True, provider: str | None = None) -> Iterator:
    from zorkgpt.memory.manager import SimpleMemoryManager

    path = file or workdir / "Memories.md"
    # What these commands have to say, they print; `check` lists what is not understood.
    logging.getLogger("zorkgpt").addHandler(logging.NullHandler())
    try:
        with SimpleMemoryManager.open(path, **_comparing(provider)) as manager:
            if manager.store.recovered:
                typer.echo(f"zorkgpt: {path} was missing or damaged; its backup has taken its place.", err=True)
            if must_exist and not manager.store.file.path.exists():
                _fail(f"There is no memory file at {path}. Name its folder with --workdir, or itself with --file.")
            yield manager
    except MemoryStoreError as error:
        _fail(str(error))


def _copied(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.before-dedupe-{number}.backup") for number in range(1, 1000))
    copy = next(name for name in names if not name.exists())
    return Path(shutil.copy2(path, copy))


def _comparing(provider: str | None) -> dict:
    """What the manager needs to compare memories, as configured; the model judges what is unsure, if there is one."""
    if provider is None:
        return {}
    from session.game_configuration import GameConfiguration
    from session.model_settings import model_settings
    from zorkgpt.llm.client import LLMClient
    from zorkgpt.memory.judge import ModelJudge

    config = GameConfiguration.load(arguments={"embedding_provider": provider, "enable_semantic_deduplication": True})
    models = model_settings(config)
    return {"config": config, "judge": ModelJudge(LLMClient(models)) if models else None}


def _described(memory) -> str:
    state = "" if memory.status == "ACTIVE" else f", {memory.status.lower()}"
    if memory.superseded_by and memory.superseded_by != "INVALIDATED":
        state += f" by {memory.superseded_by!r}"
    if memory.invalidation_reason:
        state += f": {memory.invalidation_reason}"
    seen = f", seen {memory.observation_count}x" if memory.observation_count > 1 else ""
    head = f"[{memory.category} {memory.persistence}{state}] {memory.title}"
    return f"{head} (episode {memory.episode}, turn {memory.turns}{seen}): {memory.text}"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _say(text: str, end: str = "\n") -> None:
    # What a memory says is data: nothing in it may steer the terminal.
    typer.echo("".join(char if char.isprintable() else "\ufffd" for char in text) + end, nl=False)


def _fail(message: str) -> None:
    typer.echo(f"zorkgpt: {message}", err=True)
    raise typer.Exit(_BAD_INPUT)
