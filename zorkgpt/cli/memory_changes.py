"""The commands of `memories` that change memories."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.adapters.formats import ImportFormat
from zorkgpt.cli.lookup import contains, find_memory
from zorkgpt.cli.memories import (
    File,
    LocationOption,
    Title,
    app,
    described,
    fail,
    memory_command,
    memory_path,
    opened,
    past_turn,
    place_given,
    place_key,
    say,
)
from zorkgpt.cli.options import SavedGameOption, WorkdirOption
from zorkgpt.files import write_file
from zorkgpt.memory.ids import MemoryId
from zorkgpt.memory.places import place_label
from zorkgpt.runlog.story_folder import StoryMark, read_mark
from zorkgpt.text import number_of, visible

if TYPE_CHECKING:
    from game_interface.story import Story
    from zorkgpt.memory.editing import Edit
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.storage.sql_store import Store

__all__ = ["app"]

_MAX_SKIPPED = 20
Expected = Annotated[str | None, typer.Option("--expect", help="Change it only if this is its current text.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Reason, kept in the history.")]


@memory_command()
def edit(
    manager: "SimpleMemoryManager",
    title: Title,
    text: Annotated[str | None, typer.Option(help="New text.")] = None,
    category: Annotated[str | None, typer.Option(help="SUCCESS, FAILURE, DISCOVERY, DANGER or NOTE.")] = None,
    persistence: Annotated[str | None, typer.Option("--class", help="core or permanent.")] = None,
    status: Annotated[str | None, typer.Option(help="active, tentative or superseded.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="rule, procedure, danger, insight, text or location; empty if unknown.")
    ] = None,
    expected: Expected = None,
    reason: Reason = None,
    location: LocationOption = None,
) -> None:
    """Change the text, category, class, status or kind of a memory. No model changes it afterwards."""
    from zorkgpt.memory.editing import Edit

    if (text, category, persistence, status, kind) == (None,) * 5:
        fail("Nothing to change: give --text, --category, --class, --status or --kind.")
    wanted = Edit(
        text=text,
        category=category and category.upper(),
        persistence=persistence and persistence.lower(),
        status=status and status.upper(),
        kind=kind and kind.lower(),
        reason=reason,
    )
    _apply_edit(manager, title, location, wanted, expected)


@memory_command()
def pin(
    manager: "SimpleMemoryManager",
    title: Title,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the mark.")] = False,
    reason: Reason = None,
    location: LocationOption = None,
) -> None:
    """Show a memory first, and never let a model or rule replace or invalidate it."""
    from zorkgpt.memory.editing import Edit

    _apply_edit(manager, title, location, Edit(pinned=not undo, reason=reason))


@memory_command()
def hide(
    manager: "SimpleMemoryManager",
    title: Title,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the mark.")] = False,
    reason: Reason = None,
    location: LocationOption = None,
) -> None:
    """Never show a memory to the player, and never learn it again."""
    from zorkgpt.memory.editing import Edit

    _apply_edit(manager, title, location, Edit(vetoed=not undo, reason=reason))


@memory_command()
def undo(
    manager: "SimpleMemoryManager",
    list_: Annotated[bool, typer.Option("--list", help="List what can be undone, latest first.")] = False,
    title: Annotated[str | None, typer.Option(help="The latest one with this in a title.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="EPISODE:TURN", help="All changes of lasting memories from this turn on.")
    ] = None,
) -> None:
    """Undo the last merge, replacement or deletion by hand, or all changes since a turn. Merges are never repeated."""
    if since is not None:
        if title is not None:
            fail("Give --since or --title, not both.")
        _undo_since(manager, since, apply=not list_)
        return
    from zorkgpt.memory.upkeep.undoing import undo, undoable

    operations = undoable(manager.store)
    if title is not None:
        operations = [each for each in operations if any(contains(name, title) for name in each.titles())]
    if not operations:
        fail("There is nothing to undo.")
    if list_:
        for operation in operations:
            say(operation.describe())
        return
    latest = operations[0]
    found = undo(manager.store, latest)
    kept = sum(bool(each.kept_because) for each in found)
    if latest.is_deletion:
        say(f"{number_of(len(found) - kept, 'memory', 'memories')} brought back.")
    elif kept:
        fail(f"Can't be undone, because the memory was changed since: {latest.describe()}")
    else:
        say(f"Undone: {latest.describe()}")


@memory_command()
def move(
    manager: "SimpleMemoryManager",
    old: Annotated[str, typer.Argument(help="Current name or number of the location.")],
    new: Annotated[str, typer.Argument(help="New number or key.")],
) -> None:
    """Move all memories of a location to another number or key."""
    place, wanted = place_given(manager, old), place_key(new)
    if not manager.store.lasting.headings([place]):
        fail(f"There is no location {old} in {manager.store.name}.")
    if place == wanted:
        fail(f"Location {old} already has this number.")
    with manager.store.transaction(source="person") as draft:
        moved = draft.move(place, wanted)
    say(f"{number_of(moved, 'memory', 'memories')} moved from location {old} to {new}.")


@memory_command("import", must_exist=False)
def import_(
    manager: "SimpleMemoryManager",
    source: Annotated[Path, typer.Argument(metavar="FILE", help="File or folder to import.")],
    file_format: Annotated[
        ImportFormat | None, typer.Option("--from", help="Format of FILE. [default: markdown or jsonl, by content]")
    ] = None,
) -> None:
    """Add the memories of another file, except those already known."""
    from zorkgpt.adapters.formats.transfer import import_as

    report = import_as(manager.store, source, file_format or ImportFormat.MARKDOWN)
    imported = number_of(report.added, "memory", "memories")
    say(f"{imported} imported, {report.known} already known, {len(report.skipped)} skipped.")
    for entry in report.skipped[:_MAX_SKIPPED]:
        say(f"  {visible(entry.where)}: {entry.reason}")
    if (more := len(report.skipped) - _MAX_SKIPPED) > 0:
        say(f"  and {more} more")


@app.command()
def convert(
    target: Annotated[str, typer.Argument(help="A new file, .md or .sqlite, or a postgresql:// address.")],
    workdir: WorkdirOption = None,
    file: File = None,
    game: SavedGameOption = None,
) -> None:
    """Copy the memories with their history to another kind of store, also those of an earlier version."""
    from zorkgpt.memory.storage.earlier import earlier_store
    from zorkgpt.memory.upkeep.exchange import convert

    with ExitStack() as stack:
        earlier = None if file is None else earlier_store(file)
        if earlier is not None:
            stack.enter_context(closing(earlier))
        source = earlier or stack.enter_context(opened(workdir, file, game)).store
        other = stack.enter_context(opened(None, target, must_exist=False))
        count = convert(source, other.store)
        say(f"{number_of(count, 'memory', 'memories')} copied to {other.store.name}.")


@app.command()
def dedupe(
    apply: Annotated[bool, typer.Option("--apply", help="Merge them. [default: only list them]")] = False,
    threshold: Annotated[float | None, typer.Option(min=0, max=1, help="Minimum cosine similarity.")] = None,
    provider: Annotated[str, typer.Option(help="Embedding provider: auto, onnx, none ...")] = "auto",
    workdir: WorkdirOption = None,
    file: File = None,
    game: SavedGameOption = None,
) -> None:
    """List duplicate memories by location with the reason, and merge them with --apply."""
    with opened(workdir, file, game, provider=provider) as manager:
        merges = manager.consolidate(apply=False, threshold=threshold)
        place = None
        for merge in merges:
            if merge.location_id != place:
                place = merge.location_id
                say(place_label(place, merge.location_name))
            for line in merge.describe().splitlines():
                say(f"  {line}")
        repeats = number_of(len(merges), "memory repeats another", "memories repeat others")
        if not merges or not apply:
            say(f"{repeats}." + (" Merge with --apply." if merges else ""))
            return
        backup = _backup(manager.store)
        merged = manager.merge(merges)
        say(f"{repeats}, {merged} merged. Backup: {backup}. Undo a merge with `memories undo`.")


@app.command()
def audit(
    workdir: WorkdirOption = None,
    file: File = None,
    game: SavedGameOption = None,
    seed: Annotated[int, typer.Option(min=1, help="Random seed for the interpreter.")] = 1,
    apply: Annotated[bool, typer.Option("--apply", help="Invalidate wrong ones. [default: only list them]")] = False,
) -> None:
    """Check remembered starting facts against a new game, and invalidate wrong ones with --apply."""
    path = memory_path(workdir, file, game)
    with opened(None, str(path)) as manager:
        from game_interface.core.jericho_interface import JerichoInterface
        from zorkgpt.memory.upkeep.audit import tally

        folder = path.parent if isinstance(path, Path) else None
        with JerichoInterface(story=_story_of(folder, game), seed=seed) as fresh:
            findings = manager.audit(fresh.all_objects(), apply=apply)
        for finding in findings:
            located = finding.located
            label = place_label(located.location_id, located.location_name)
            say(f"{finding.verdict.value}: {label}: {described(located.location_id, located.memory)}")
            if finding.evidence:
                say(f"    {finding.evidence}")
        counts = tally(findings)
        summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "."
        say(summary if apply or not counts.get("contradicted") else f"{summary} Invalidate them with --apply.")


def _undo_since(manager: "SimpleMemoryManager", since: str, *, apply: bool) -> None:
    from zorkgpt.memory.upkeep.undoing import undo_since

    episode, turn = past_turn(manager, "--since", since)
    changes = undo_since(manager.store, episode, turn, apply=apply)
    if not changes:
        fail(f"There is nothing to undo since turn {turn} of episode {episode}.")
    for change in changes:
        if change.kept_because:
            result, memory = f"kept, {change.kept_because}", change.now or change.before
        else:
            result, memory = "restored" if change.before else "removed", change.before or change.now
        assert memory is not None
        label = place_label(change.location_id, change.location_name)
        say(f"{result}: {label}: {described(change.location_id, memory)}")
    kept = sum(bool(change.kept_because) for change in changes)
    undone = f"{number_of(len(changes) - kept, 'memory', 'memories')} undone since turn {turn} of episode {episode}"
    say(f"{undone}, {kept} kept." if apply else f"Only listed. Without --list: {undone}, {kept} kept.")


def _apply_edit(
    manager: "SimpleMemoryManager", title: str, location: str | None, wanted: "Edit", expected: str | None = None
) -> None:
    found = find_memory(manager, title, None if location is None else place_given(manager, location))
    place = found.location_id
    memory = manager.edit_memory(place, MemoryId(found.id), wanted, expected=expected)
    say(f"{place_label(place, found.location_name)}: {described(place, memory)}")


def _backup(store: "Store") -> Path:
    from zorkgpt.memory.storage.document import render

    path = store.path
    names = (path.with_name(f"{path.name}.before-dedupe-{number}.backup") for number in range(1, 1000))
    copy = next(name for name in names if not name.exists())
    write_file(copy, render(store.document))
    return copy


def _story_of(folder: Path | None, game: str | None) -> "Story":
    """Return the story to which the memories in a folder belong."""
    from game_interface.story import find_story, list_stories

    if folder is None:
        if game is None:
            fail("Memories in a database can belong to any story. Choose the story with --game.")
        return find_story(game)
    mark = read_mark(folder)
    if game is None and mark:
        available = (each.story for each in list_stories() if each.story and each.story.sha256 == mark.sha256)
        return next(available, None) or fail(f"{folder} has the memories of {mark}. Choose the story with --game.")
    story = find_story(game)
    if mark and story.sha256 != mark.sha256:
        fail(f"{folder} has the memories of {mark}, not of {StoryMark.of(story.summary())}.")
    return story
