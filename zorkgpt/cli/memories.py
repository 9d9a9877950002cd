"""`memories`: look at what is remembered, and care for it."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from zorkgpt.cli.memory_file import File, Game, Workdir, app, described, fail, number_of, opened, say

_NOT_UNDERSTOOD = 1


@app.command()
def check(workdir: Workdir = None, file: File = None, game: Game = None) -> None:
    """List what in the file was not understood, with line numbers. Exits with 1 if there is anything."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.storage.codec import parse

        document = parse(manager.store.file.path.read_bytes())
        problems = list(document.problems())
        for problem in problems:
            say(f"line {problem.line}: {problem.message}")
        memories = sum(map(len, document.all_memories().values()))
        say(f"{number_of(memories, 'memory', 'memories')} read, {len(problems)} not understood and kept as found.")
    if problems:
        raise typer.Exit(_NOT_UNDERSTOOD)


@app.command()
def stats(workdir: Workdir = None, file: File = None, game: Game = None) -> None:
    """How many memories there are, of which kinds."""
    with opened(workdir, file, game) as manager:
        located = manager.all_memories()
        say(f"{number_of(len({one.location_id for one in located}), 'location', 'locations')}, ", end="")
        say(number_of(len(located), "memory", "memories"))
        for field in ("persistence", "status", "category"):
            counts = Counter(getattr(one.memory, field) for one in located)
            say(f"  {field}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
        say(f"  visits: {sum(section.visits for section in manager.store.document.sections)}")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="Words to look for.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 10,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Memories of any location that share words with the text, best first."""
    with opened(workdir, file, game) as manager:
        found = manager.search(text, limit)
        for result in found:
            place = result.located
            say(f"{place.location_id} {place.location_name}: {described(place.memory)}")
        if not found:
            say("Nothing found.")


@app.command()
def export(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array; without this, the file as it is.")] = False,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Write all memories to the standard output."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.upkeep.exchange import rows

        if as_json:
            typer.echo(json.dumps(rows(manager.all_memories()), indent=1))
        else:
            typer.echo(manager.store.file.path.read_bytes(), nl=False)


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(help="What export --json wrote, or another memory file.")],
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Add the memories of another file; those that are known already are left out."""
    with opened(workdir, file, game, must_exist=False) as manager:
        from zorkgpt.memory.upkeep.exchange import read_memories, with_memories

        memories = read_memories(source)
        outcome = manager.store.apply(lambda document: with_memories(document, memories))
        say(f"{len(outcome.changes)} of {number_of(len(memories), 'memory', 'memories')} added.")


@app.command()
def move(
    old: Annotated[int, typer.Argument(help="The location's number until now.")],
    new: Annotated[int, typer.Argument(help="Its number from now on.")],
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Give a location another number, with all that is known of it."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.storage import changes

        if not manager.store.document.of(old):
            fail(f"There is no location {old} in {manager.store.file.path}.")
        if old == new:
            fail(f"Location {old} has that number already.")
        outcome = manager.store.apply(lambda document: changes.moved(document, old, new))
        say(f"{number_of(len(outcome.changes) // 2, 'memory', 'memories')} moved from location {old} to {new}.")


@app.command()
def undo(
    list_: Annotated[bool, typer.Option("--list", help="Only show what could be undone, the last first.")] = False,
    title: Annotated[str | None, typer.Option("--title", help="The last one that has to do with this title.")] = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Take back the last merge, refinement or verdict on a contradiction; the two are kept apart from then on."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.dedup.consolidation import undo, undoable

        manager.store.reconcile()
        found = undoable(manager.store.history)
        if title is not None:
            wanted = title.casefold().strip()
            found = [one for one in found if wanted in one.titles()]
        if not found:
            fail("There is nothing to undo.")
        if list_:
            for one in found:
                say(one.describe())
            return
        if not undo(manager.store, found[0]):
            fail(f"It was changed since, so it can't be undone: {found[0].describe()}")
        say(f"Undone: {found[0].describe()}")


@app.command()
def dedupe(
    apply: Annotated[bool, typer.Option("--apply", help="Merge; without this, only show.")] = False,
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=0, max=1, help="Cosine below which nothing is merged.")
    ] = None,
    provider: Annotated[str, typer.Option("--provider", help="Of vectors: auto, onnx, none ...")] = "auto",
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Show which memories say the same, place by place and why, and merge them if asked to."""
    with opened(workdir, file, game, provider=provider) as manager:
        merges = manager.consolidate(apply=False, threshold=threshold)
        place = None
        for merge in merges:
            if merge.location_id != place:
                place = merge.location_id
                say(f"Location {place}: {merge.location_name}".rstrip(": "))
            for line in merge.describe().splitlines():
                say(f"  {line}")
        repeats = number_of(len(merges), "memory repeats another", "memories repeat others")
        if not merges or not apply:
            say(f"{repeats}." + (" Merge with --apply." if merges else ""))
            return
        before = _copied(manager.store.file.path)
        made = manager.merge(merges)
        say(f"{repeats}, {made} merged. The file as it was: {before}. `memories undo` takes one back.")


def _copied(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.before-dedupe-{number}.backup") for number in range(1, 1000))
    copy = next(name for name in names if not name.exists())
    return Path(shutil.copy2(path, copy))
