"""The commands of `memories` that change what is remembered."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli.memories import (
    File,
    Game,
    Location,
    Title,
    Workdir,
    app,
    described,
    fail,
    memory_path,
    opened,
    place_given,
    say,
    world_of,
)
from zorkgpt.cli.paths import configured_paths
from zorkgpt.files import write_file
from zorkgpt.runlog.story_folder import StoryMark, stories_of
from zorkgpt.text import number_of

if TYPE_CHECKING:
    from game_interface.story import Story
    from zorkgpt.memory.editing import Edit
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.models import PlaceKey
    from zorkgpt.memory.storage.protocol import Store
    from zorkgpt.memory.upkeep.classification import Classifier

__all__ = ["app"]

BACKUP_SUFFIX = ".unclassified.backup"
Expected = Annotated[
    str | None, typer.Option("--expect", help="Change it only if this is its text, or the fingerprint it had.")
]
Reason = Annotated[str | None, typer.Option("--reason", help="For the history.")]


@app.command()
def edit(
    title: Title,
    text: Annotated[str | None, typer.Option("--text", help="What it shall say.")] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="SUCCESS, FAILURE, DISCOVERY, DANGER or NOTE.")
    ] = None,
    persistence: Annotated[str | None, typer.Option("--class", help="core or permanent.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="active, tentative or superseded.")] = None,
    expected: Expected = None,
    reason: Reason = None,
    location: Location = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Correct a memory: its text, its category, how long it stays true, how far it is believed."""
    from zorkgpt.memory.editing import Edit

    if (text, category, persistence, status) == (None, None, None, None):
        fail("Nothing to change: give --text, --category, --class or --status.")
    wanted = Edit(
        text=text,
        category=category and category.upper(),
        persistence=persistence and persistence.lower(),
        status=status and status.upper(),
        reason=reason,
    )
    _apply_edit(title, location, wanted, workdir, file, game, expected)


@app.command()
def pin(
    title: Title,
    undo: Annotated[bool, typer.Option("--undo", help="Take the mark away.")] = False,
    reason: Reason = None,
    location: Location = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Keep a memory as it is, and show it first: no model and no rule replaces it or marks it as wrong."""
    from zorkgpt.memory.editing import Edit

    _apply_edit(title, location, Edit(pinned=not undo, reason=reason), workdir, file, game)


@app.command()
def veto(
    title: Title,
    undo: Annotated[bool, typer.Option("--undo", help="Take the mark away.")] = False,
    reason: Reason = None,
    location: Location = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Never show a memory, and never learn it again."""
    from zorkgpt.memory.editing import Edit

    _apply_edit(title, location, Edit(vetoed=not undo, reason=reason), workdir, file, game)


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
def move(
    old: Annotated[str, typer.Argument(help="The location's number or text until now.")],
    new: Annotated[str, typer.Argument(help="Its number or text from now on.")],
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Give a location another number or text, with all that is known of it."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.storage import changes

        place, wanted = place_given(old), place_given(new)
        if not manager.store.document.sections_of(place):
            fail(f"There is no location {old} in {manager.store.name}.")
        if place == wanted:
            fail(f"Location {old} has that number already.")
        outcome = manager.store.apply(lambda document: changes.moved(document, place, wanted))
        moved = len(outcome.changes) // 2 if outcome else 0
        say(f"{number_of(moved, 'memory', 'memories')} moved from location {old} to {new}.")


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(help="What export --json wrote, or another memory file.")],
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Add the memories of another file; those that are known already are left out."""
    with opened(workdir, file, game, must_exist=False) as manager:
        from zorkgpt.memory.upkeep.exchange import take_in

        added, given = take_in(manager.store, source)
        say(f"{added} of {number_of(given, 'memory', 'memories')} added.")


@app.command()
def compact(workdir: Workdir = None, file: File = None, game: Game = None) -> None:
    """Shorten the history: observations and trials of a memory that follow one another become one line."""
    with opened(workdir, file, game) as manager:
        before, after = manager.store.compact_history()
        say(f"{number_of(before, 'line', 'lines')} of history, now {after}.")


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
        before = _backup_of(manager.store)
        made = manager.merge(merges)
        say(f"{repeats}, {made} merged. The file as it was: {before}. `memories undo` takes one back.")


@app.command()
def classify(
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write the marks without asking.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Propose by rules, also where a model is configured.")] = False,
) -> None:
    """Propose core or permanent for each memory that has no mark yet, and write the marks after a yes."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.upkeep.classification import proposals, with_marks

        proposed = list(proposals(manager.store.document, _classifier(rules, file)))
        if not proposed:
            say("Every memory has its mark.")
            return
        for proposal in proposed:
            located = proposal.located
            say(f"{proposal.persistence:<9} {located.location_id} {located.location_name}: {located.memory.title}")
            say(f"          {located.memory.text} ({proposal.why})")
        if not yes and not _confirmed(len(proposed)):
            say("Nothing was changed.")
            return
        backup = Path(f"{manager.store.path}{BACKUP_SUFFIX}")
        _copy(manager.store, backup)
        outcome = manager.store.apply(lambda document: with_marks(document, proposed))
        marked = len(outcome.changes) if outcome else 0
        say(f"{number_of(marked, 'memory', 'memories')} marked. The file as it was: {backup}")


@app.command()
def audit(
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
    seed: Annotated[int, typer.Option("--seed", min=1, help="Of the interpreter's random generator.")] = 1,
    apply: Annotated[bool, typer.Option("--apply", help="Mark them as wrong; without this, only show.")] = False,
) -> None:
    """Show which core memories a fresh world contradicts, and mark them as wrong if asked to."""
    path = memory_path(workdir, file, game)
    with opened(None, str(path)) as manager:
        from game_interface.core.jericho_interface import JerichoInterface
        from session.ground_truth import audited_things
        from zorkgpt.memory.upkeep.audit import tally

        folder = path.parent if isinstance(path, Path) else None
        with JerichoInterface(story=_story_of(folder, game), seed=seed) as fresh:
            findings = manager.audit(audited_things(fresh), apply=apply)
        for finding in findings:
            located = finding.located
            say(f"{finding.verdict.value}: {located.location_id} {located.location_name}: {described(located.memory)}")
            if finding.evidence:
                say(f"    {finding.evidence}")
        counts = tally(findings)
        told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "."
        say(told if apply or not counts.get("contradicted") else f"{told} Mark what is contradicted with --apply.")


def _apply_edit(
    title: str,
    location: str | None,
    wanted: "Edit",
    workdir: Path | None,
    file: str | None,
    game: str | None,
    expected: str | None = None,
) -> None:
    with opened(workdir, file, game) as manager:
        place = _location_of(manager, title) if location is None else place_given(location)
        memory = manager.edit_memory(place, title, wanted, expected=expected)
        say(f"Location {place}: {described(memory)}")


def _location_of(manager: "SimpleMemoryManager", title: str) -> "PlaceKey":
    wanted = " ".join(title.split()).casefold()
    places = {
        one.location_id: one.location_name for one in manager.all_memories() if one.memory.title.casefold() == wanted
    }
    if not places:
        fail(f"There is no memory titled {title!r}.")
    if len(places) > 1:
        some = ", ".join(f"{place} {name}".rstrip() for place, name in places.items())
        fail(f"There are memories titled {title!r} at several locations; say which with --location: {some}.")
    return next(iter(places))


def _backup_of(store: "Store") -> Path:
    path = store.path
    names = (path.with_name(f"{path.name}.before-dedupe-{number}.backup") for number in range(1, 1000))
    copy = next(name for name in names if not name.exists())
    _copy(store, copy)
    return copy


def _copy(store: "Store", to: Path) -> None:
    from zorkgpt.memory.storage.shelves import joined

    write_file(to, joined(store.document))


def _story_of(folder: Path | None, game: str | None) -> "Story":
    """Return the story that the memories of a folder are about; None: only the player can say."""
    from game_interface.story import find_story, list_stories

    if folder is None:
        if game is None:
            fail("Memories in a database may be of any story: name the story file with --game.")
        return find_story(game)
    theirs = stories_of(folder, configured_paths().log)
    named = " and of ".join(map(str, theirs.values()))
    if game is None and theirs:
        there = [each.story for each in list_stories() if each.story and each.story.sha256 in theirs]
        if len(there) != 1 or len(theirs) != 1:
            fail(f"{folder} keeps the memories of {named}: name the story file with --game.")
        return there[0]
    story = find_story(game)
    if theirs and story.sha256 not in theirs:
        fail(f"{folder} keeps the memories of {named}, not of {StoryMark.of(story.summary())}.")
    return story


def _confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        fail(f"{number_of(count, 'mark', 'marks')} proposed, and nobody to say yes: give --yes to write them.")
    return typer.confirm(f"Write {number_of(count, 'mark', 'marks')}?")


def _classifier(rules: bool, file: str | None) -> "Classifier":
    from zorkgpt.memory.upkeep.classification import ModelClassifier, RuleClassifier

    if rules:
        return RuleClassifier()
    from session.game_configuration import GameConfiguration
    from session.model_settings import model_settings
    from zorkgpt.llm.client import LLMClient

    models = model_settings(GameConfiguration.load())
    return ModelClassifier(LLMClient(models), world_of(file)) if models else RuleClassifier()
