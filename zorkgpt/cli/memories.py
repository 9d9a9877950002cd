"""`memories`: inspect memories. `memory_changes` has the commands that change them."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from zorkgpt.adapters.formats import FileFormat
from zorkgpt.cli.lookup import ambiguous, find_memories, find_place
from zorkgpt.cli.paths import SavedGameOption, WorkdirOption, run_paths
from zorkgpt.cli.process import ExitCode
from zorkgpt.errors import MemoryEditError, MemoryStoreError
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.places import is_place, place_in_words, place_label
from zorkgpt.text import indented, number_of, visible

if TYPE_CHECKING:
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.models import Memory, SubjectKey
    from zorkgpt.memory.provenance import AsOf, Provenance
    from zorkgpt.memory.retrieval import LocatedMemory
    from zorkgpt.memory.storage.history import HistoryRecord
    from zorkgpt.memory.storage.trials import Trial
    from zorkgpt.memory.upkeep.exchange import Skipped
    from zorkgpt.memory.world import World

app = typer.Typer(
    invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)

File = Annotated[
    str | None,
    typer.Option("--file", help="Memory file (.md or .sqlite), or a postgresql:// address."),
]
Title = Annotated[str, typer.Argument(metavar="MEMORY", help="Id, title or unique part of a title.")]
LocationOption = Annotated[
    str | None, typer.Option("--location", help="Only memories of this location: its name or number.")
]
_CONTINUED = " " * 12
"""Before all lines but the first of a text."""
_LONGEST_AS_OF = 100
"""Characters of an episode and a turn; Python reads no number of thousands of digits."""
_MOST_SKIPPED = 20
_MOST_TRIALS, _MOST_CHANGES = 10, 10
"""How many of each are shown, the last ones; --json has all of them."""


@app.callback()
def overview(
    context: typer.Context, workdir: WorkdirOption = None, file: File = None, game: SavedGameOption = None
) -> None:
    """Inspect and edit memories. Without a command: show statistics."""
    if context.invoked_subcommand is not None:
        context.default_map = {context.invoked_subcommand: {"workdir": workdir, "file": file, "game": game}}
        return
    path = memory_path(workdir, file, game)
    if isinstance(path, Path) and not path.exists():
        say(f"No memories yet: there is no memory file at {path}. Memories are made while playing.")
        return
    stats(workdir, file, game)
    say("")
    for command, what in (
        ("show [LOCATION]", "list memories"),
        ("search WORDS", "find memories"),
        ("explain MEMORY", "origin, use and changes of a memory"),
        ("edit, pin, hide", "correct, keep or hide a memory"),
        ("--help", "all commands"),
    ):
        say(f"  memories {command:<16} {what}")


@app.command()
def show(
    location: Annotated[
        str | None, typer.Argument(help="Name or number of a location, 'thing NUMBER' or 'game'. [default: all]")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="EPISODE:TURN", help="State after this turn, such as 3:120."),
    ] = None,
    workdir: WorkdirOption = None,
    file: File = None,
    game: SavedGameOption = None,
) -> None:
    """List the memories of a location, a thing or the game, or all memories."""
    with opened(workdir, file, game) as manager:
        memories = manager.all_memories() if as_of is None else _as_of(manager, as_of)
        wanted = None if location is None else place_given(manager, location)
        located = [one for one in memories if wanted in (None, one.location_id)]
        if not located:
            then = "" if as_of is None else f" as of {as_of}"
            fail(f"No memories{'' if wanted is None else f' of {place_in_words(wanted)}'}{then}.")
        place = None
        for one in located:
            if one.location_id != place:
                place = one.location_id
                say(place_label(place, one.location_name))
            say(f"  {described(one.location_id, one.memory)}")


@app.command()
def explain(
    memory: Title,
    location: LocationOption = None,
    json_: Annotated[bool, typer.Option("--json", help="Print everything as a JSON array.")] = False,
    workdir: WorkdirOption = None,
    file: File = None,
    game: SavedGameOption = None,
) -> None:
    """Show where a memory comes from, when it was shown, its results, and its changes."""
    with opened(workdir, file, game) as manager:
        place = None if location is None else place_given(manager, location)
        found = find_memories(manager, memory, place, also_removed=True)
        if len({one.title.casefold() for one in found}) > 1:
            raise ambiguous(memory, found)
        explained = [
            each
            for one in dict.fromkeys((one.place, one.title) for one in found)
            for each in manager.explain(one[1], one[0])
        ]
        if json_:
            typer.echo(json.dumps([one.to_dict() for one in explained], indent=1))
            return
        for one in explained:
            for line in _provenance_lines(one):
                say(line)


app.command("why", hidden=True)(explain)


@app.command()
def history(memory: Title, workdir: WorkdirOption = None, file: File = None, game: SavedGameOption = None) -> None:
    """List every change of a memory, also those that replaced it."""
    with opened(workdir, file, game) as manager:
        found = find_memories(manager, memory, also_removed=True)
        titles = {one.title.casefold() for one in found}
        if len(titles) > 1:
            raise ambiguous(memory, found)
        for record in manager.store.journal.records():
            change = record.change
            both = [one for one in (change.before, change.after) if one is not None]
            names = {one.title.casefold() for one in both} | {(one.superseded_by or "").casefold() for one in both}
            if titles & names:
                place = place_label(change.location_id, change.location_name)
                say(f"{record.at[:19]} {_kind(change.kind)}, {place} ({_SOURCES.get(record.source, record.source)})")
                if change.before and change.after and change.before.text != change.after.text:
                    say(f"    before: {described(change.location_id, change.before)}")
                say(f"    {described(change.location_id, both[-1])}")
                if change.reason and change.reason != both[-1].invalidation_reason:
                    say(f"    reason: {change.reason}")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="Words to search for.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of results.")] = 10,
    location: LocationOption = None,
    persistence: Annotated[str | None, typer.Option("--class", help="core or permanent.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="active, tentative or superseded. [default: active and tentative]")
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="SUCCESS, FAILURE, DISCOVERY, DANGER or NOTE.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="rule, procedure, danger, insight, text or location.")
    ] = None,
    episode: Annotated[str | None, typer.Option("--episode", help="First or last seen in this episode.")] = None,
    workdir: WorkdirOption = None,
    file: File = None,
    game: SavedGameOption = None,
) -> None:
    """Search all memories, best match first."""
    with opened(workdir, file, game) as manager:
        found = manager.search(
            text,
            limit,
            place=None if location is None else place_given(manager, location),
            persistence=persistence,
            status=status,
            category=category,
            kind=kind,
            episode=episode,
        )
        for result in found:
            place = result.located
            label = place_label(place.location_id, place.location_name)
            say(f"{label}: {described(place.location_id, place.memory)}")
        if not found:
            say("No matches.")


@app.command()
def stats(workdir: WorkdirOption = None, file: File = None, game: SavedGameOption = None) -> None:
    """Show how many memories there are, by class, status, category and kind."""
    with opened(workdir, file, game) as manager:
        located = manager.all_memories()
        places = {one.location_id for one in located if is_place(one.location_id)}
        say(f"{number_of(len(places), 'location', 'locations')}, ", end="")
        say(number_of(len(located), "memory", "memories"))
        for field in ("persistence", "status", "category", "kind"):
            counts = Counter(getattr(one.memory, field) or "unknown" for one in located)
            say(f"  {field}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
        lasting = manager.store.lasting
        say(f"  visits: {sum(heading.visits for heading in lasting.headings(lasting.places()).values())}")


@app.command()
def check(workdir: WorkdirOption = None, file: File = None, game: SavedGameOption = None) -> None:
    """List lines of the file that can't be parsed. Exits with 1 if there are any."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.storage.document import parse, render
        from zorkgpt.memory.storage.lasting import EVERY

        # A database has no lines: they are those of the exported file.
        document = parse(render(manager.store.document))
        found = list(document.problems())
        for problem in found:
            say(f"line {problem.line}: {problem.message}")
        memories = len(document.find(EVERY))
        unparsed = number_of(len(found), "line", "lines")
        say(f"{number_of(memories, 'memory', 'memories')} read, {unparsed} not parsed and left unchanged.")
    if found:
        raise typer.Exit(ExitCode.NOT_UNDERSTOOD)


@app.command()
def export(
    target: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="New file, or new folder for basic-memory. [default: print]")
    ] = None,
    file_format: Annotated[FileFormat, typer.Option("--to", help="Format.")] = FileFormat.MARKDOWN,
    workdir: WorkdirOption = None,
    file: File = None,
    game: SavedGameOption = None,
) -> None:
    """Print all memories, or write them to a new file."""
    if file_format.is_folder and target is None:
        fail(f"The format {file_format} is a folder of notes. Name a new folder.")
    with opened(workdir, file, game) as manager:
        from zorkgpt.adapters.formats.transfer import export_as, write_new

        exported = export_as(manager, file_format)
        if target is None:
            typer.echo(exported.files[""], nl=False)
        else:
            write_new(target, exported, file_format)
        exported_count = number_of(exported.count, "memory", "memories")
        lines = [f"{exported_count} exported, {len(exported.skipped)} skipped.", *skipped_lines(exported.skipped)]
        if target is not None or exported.skipped:
            # The memories themselves may have been printed.
            typer.echo("\n".join(lines), err=target is None)


def skipped_lines(skipped: "Sequence[Skipped]") -> Iterator[str]:
    """Return a line for each thing that an import or export left out; at most 20."""
    for each in skipped[:_MOST_SKIPPED]:
        yield f"  {visible(each.where)}: {each.reason}"
    if len(skipped) > _MOST_SKIPPED:
        yield f"  and {len(skipped) - _MOST_SKIPPED} more"


def _as_of(manager: "SimpleMemoryManager", given: str) -> "list[LocatedMemory]":
    from zorkgpt.memory.retrieval import LocatedMemory

    past, episode, turn = past_turn(manager, "--as-of", given)
    memories = past.all_memories(episode, turn)
    headings = manager.store.lasting.headings(memories)
    names = {place: heading.name for place, heading in headings.items()}
    return [LocatedMemory(place, names.get(place, ""), memory) for place, kept in memories.items() for memory in kept]


def past_turn(manager: "SimpleMemoryManager", option: str, given: str) -> "tuple[AsOf, int | str, int]":
    """Return the past of the memories, and the episode and turn that an option names."""
    from zorkgpt.memory.provenance import AsOf
    from zorkgpt.run_folder import RUNS

    episode, colon, turn = given.rpartition(":")
    if not colon or not turn.isdecimal() or not episode or len(given) > _LONGEST_AS_OF:
        fail(f"{option} {given} is not EPISODE:TURN, such as 3:120.")
    which = int(episode) if episode.isdecimal() else episode
    past = AsOf(manager.store.journal, manager.store.path.parent / RUNS)
    if not past.knows(which):
        fail(f"{option} {given}: there is no episode {episode}.")
    return past, which, int(turn)


def _provenance_lines(one: "Provenance") -> Iterator[str]:
    yield place_label(one.location_id, one.location_name)
    if one.memory:
        yield f"  {described(one.location_id, one.memory)}"
    else:
        yield f"  {one.title}: no longer remembered"
    yield "  Origin"
    yield from _origin_lines(one)
    if one.shown:
        yield "  Shown to the player"
    for seen in one.shown:
        times = number_of(seen.times, "time", "times")
        turns = f"turns {seen.first_turn} to {seen.last_turn}" if seen.times > 1 else f"turn {seen.first_turn}"
        yield f"    {times} in episode {seen.episode}, {turns}"
    if one.trials:
        yield "  Results when followed"
    yield from _at_most([_trial_line(trial) for trial in one.trials], _MOST_TRIALS, "earlier results")
    changes = [record for record in one.records if record is not one.made and record.change.kind != "credited"]
    if changes:
        yield "  Changes"
    yield from _at_most([_change_line(record) for record in changes], _MOST_CHANGES, "earlier changes")


def _origin_lines(one: "Provenance") -> Iterator[str]:
    if one.made is None:
        yield "    unknown: it is older than the history"
        return
    moment = one.made.turn_stamp
    action = f" after “{moment.action}”" if moment and moment.action else ""
    yield f"    learned {_written(one.made)}{action}"
    if moment and moment.response:
        yield f"    game response: {moment.response}"


def _trial_line(trial: "Trial") -> str:
    verdict = "worked" if trial.worked else "did not work"
    return f"    episode {trial.episode}, turn {trial.turn}: “{trial.action}” {verdict}: {trial.result}"


def _change_line(record: "HistoryRecord") -> str:
    change = record.change
    reason = change.reason or (change.after.superseded_by if change.after else None)
    return f"    {_kind(change.kind)} {_written(record)}{f': {reason}' if reason else ''}"


def _kind(kind: str) -> str:
    return {"vetoed": "hidden", "unvetoed": "no longer hidden"}.get(kind, kind)


def _at_most(lines: list[str], most: int, what: str) -> Iterator[str]:
    if len(lines) > most:
        yield f"    ({len(lines) - most} {what}; use --json to see all)"
    yield from lines[-most:]


@contextmanager
def opened(
    workdir: Path | None,
    file: str | None,
    game: str | None = None,
    *,
    must_exist: bool = True,
    provider: str | None = None,
) -> "Iterator[SimpleMemoryManager]":
    """Open the memory file. Errors end the command with a message."""
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.storage.postgres import is_postgres

    path = memory_path(workdir, file, game, make=not must_exist)
    # These commands print what they have to say; `check` lists what is not understood.
    logging.getLogger("zorkgpt").addHandler(logging.NullHandler())
    try:
        with SimpleMemoryManager(path=path, **_comparison(provider, world_of(file))) as manager:
            if manager.store.recovered:
                typer.echo(f"zorkgpt: {manager.store.recovered.describe()}", err=True)
            if must_exist and not is_postgres(path) and not manager.store.path.exists():
                fail(
                    f"There is no memory file at {path}. "
                    "Choose a story with --game, a folder with --workdir, or a file with --file."
                )
            yield manager
    except (MemoryStoreError, MemoryEditError) as error:
        fail(str(error))


def memory_path(workdir: Path | None, file: str | None, game: str | None, *, make: bool = False) -> Path | str:
    """Return the given memory file or address, or the file in the story's folder."""
    from zorkgpt.memory.storage.addresses import is_address

    if file is not None:
        return file if is_address(file) else Path(file)
    found = run_paths(workdir, game, make=make)
    return found.address or found.workdir / found.memory


def world_of(file: str | None) -> "World":
    """Return the world in whose words a model is asked: a file that is named by itself may be of any."""
    from zorkgpt.memory.world import NEUTRAL, TEXT_ADVENTURE

    return TEXT_ADVENTURE if file is None else NEUTRAL


def _comparison(provider: str | None, world: "World") -> dict[str, Any]:
    """Return the manager's arguments for comparing memories; a configured model judges pairs that are unsure."""
    if provider is None:
        return {}
    from session.game_configuration import GameConfiguration, model_settings
    from zorkgpt.llm.client import LLMClient
    from zorkgpt.memory.dedup.judge import ModelJudge

    config = GameConfiguration.load(arguments={"embedding_provider": provider, "enable_semantic_deduplication": True})
    models = model_settings(config)
    return {"config": config, "judge": ModelJudge(LLMClient(models), world) if models else None}


def described(place: "SubjectKey", memory: "Memory") -> str:
    """Return a memory in one line, with its id."""
    from zorkgpt.memory.credit.assignment import results_in_words

    state = "" if memory.status == "ACTIVE" else f", {memory.status.lower()}"
    if memory.superseded_by and memory.superseded_by != "INVALIDATED":
        state += f" by {memory.superseded_by!r}"
    if memory.invalidation_reason:
        state += f": {memory.invalidation_reason}"
    seen = f", seen {memory.observation_count}x" if memory.observation_count > 1 else ""
    if results := results_in_words(memory):
        seen += f", {results}"
    marks = ", pinned" * memory.pinned + ", hidden" * memory.vetoed
    marks += f", expires {memory.expires_at[:16]} UTC" if memory.expires_at else ""
    kind = "" if memory.kind is None else f" {memory.kind}"
    head = f"{memory_id(place, memory)}  [{memory.category}{kind} {memory.persistence}{state}{marks}] {memory.title}"
    return f"{head} ({_seen(memory)}{seen}): {memory.text}"


def _seen(memory: "Memory") -> str:
    """Return the episode and turn when it was learned, and when it was last confirmed if that was later."""
    if memory.first_episode is None:
        return f"episode {memory.episode}, turn {memory.turns}"
    from zorkgpt.memory.storage.versions import seen_first, seen_last

    first, last = seen_first(memory), seen_last(memory)
    return f"episode {first.episode}, turn {first.turn} → episode {last.episode}, turn {last.turn}"


_SOURCES = {"agent": "by the player", "person": "by a person", "hand": "edited in the file"}


def _written(record: "HistoryRecord") -> str:
    """Return when a change was made, and by whom if not by the player."""
    moment = record.turn_stamp
    turn = f"in episode {moment.episode}, turn {moment.turn}" if moment else ""
    source = "" if record.source == "agent" else f"({_SOURCES.get(record.source, record.source)})"
    return " ".join(filter(None, [turn, f"on {record.at[:10]} at {record.at[11:16]}", source]))


def place_given(manager: "SimpleMemoryManager", text: str) -> "SubjectKey":
    """Return the place that a word of the command line names: see `find_place`."""
    lasting = manager.store.lasting
    headings = lasting.headings(lasting.places())
    return find_place({place: heading.name for place, heading in headings.items()}, text)


def place_key(text: str) -> "SubjectKey":
    """Return the key of a place that need not exist: a number, or a text with or without quotes."""
    from zorkgpt.memory.places import checked_place, parse_place

    try:
        return parse_place(text)
    except ValueError:
        pass
    try:
        return checked_place(text)
    except ValueError as error:
        fail(str(error))


def say(text: str, end: str = "\n") -> None:
    """Print data: of several lines all but the first are indented, and control characters are replaced."""
    lines = ("".join(char if char.isprintable() else "\ufffd" for char in line) for line in text.split("\n"))
    typer.echo(indented("\n".join(lines), _CONTINUED) + end, nl=False)


def fail(message: str) -> NoReturn:
    """End the command with a message."""
    typer.echo(f"zorkgpt: {message}", err=True)
    raise typer.Exit(ExitCode.BAD_INPUT)
