"""The commands of `memories` that only read. `memory_changes` has those that change memories."""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from zorkgpt.cli.lookup import ambiguous, find_memories, find_place
from zorkgpt.cli.options import SavedGameOption, WorkdirOption, as_command, run_configuration
from zorkgpt.cli.process import ExitCode
from zorkgpt.errors import MemoryEditError, MemoryStoreError
from zorkgpt.memory.places import is_place, place_in_words, place_label
from zorkgpt.text import indented, number_of, printable

if TYPE_CHECKING:
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.models import Memory, SubjectKey
    from zorkgpt.memory.provenance import Provenance
    from zorkgpt.memory.retrieval import LocatedMemory
    from zorkgpt.memory.storage.history import HistoryRecord, Trial
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
_WHERE = {"workdir": WorkdirOption, "file": File, "game": SavedGameOption}
"""The options that tell where a memory is."""
_CONTINUATION_INDENT = " " * 12
_MAX_AS_OF_LENGTH = 100
"""Maximum characters of EPISODE:TURN. Python can't parse numbers with thousands of digits."""
_MAX_TRIALS, _MAX_CHANGES = 10, 10
"""Only the last ones are shown, unless --json is given."""


def memory_command(name: str | None = None, *, must_exist: bool = True) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that adds a command, which gets the opened memory as its first argument.

    The options that tell where the memory is are added to its own ones.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(workdir: Path | None, file: str | None, game: str | None, **given: Any) -> None:
            with opened(workdir, file, game, must_exist=must_exist) as manager:
                command(manager, **given)

        where = (Parameter(each, Parameter.KEYWORD_ONLY, default=None, annotation=_WHERE[each]) for each in _WHERE)
        parameters = [*list(signature(command).parameters.values())[1:], *where]
        return app.command(name)(as_command(run, command, parameters))  # type: ignore[no-any-return]

    return decorate


@app.callback()
def overview(
    context: typer.Context, workdir: WorkdirOption = None, file: File = None, game: SavedGameOption = None
) -> None:
    """Inspect and edit memories. Without a command: show statistics."""
    if context.invoked_subcommand is not None:
        context.default_map = {context.invoked_subcommand: {"workdir": workdir, "file": file, "game": game}}
        return
    path = memory_path(workdir, file, game)
    if isinstance(path, Path) and not _exists(path):
        say(f"No memories yet: {path} does not exist. Memories are learned while playing.")
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


@memory_command()
def show(
    manager: "SimpleMemoryManager",
    location: Annotated[
        str | None, typer.Argument(help="Name or number of a location, 'thing NUMBER' or 'game'. [default: all]")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="MOMENT", help="State after this turn, such as 3:120, or at this time."),
    ] = None,
) -> None:
    """List the memories of a location, a thing or the game, or all memories."""
    memories = manager.all_memories() if as_of is None else _as_of(manager, as_of)
    wanted = None if location is None else place_given(manager, location)
    memories = [located for located in memories if wanted in (None, located.location_id)]
    if not memories:
        where = "" if wanted is None else f" of {place_in_words(wanted)}"
        when = "" if as_of is None else f" as of {as_of}"
        fail(f"No memories{where}{when}.{'' if when else _last_deletion(manager, wanted)}")
    place = None
    for located in memories:
        if located.location_id != place:
            place = located.location_id
            say(place_label(place, located.location_name))
        say(f"  {described(located.location_id, located.memory)}")


def _last_deletion(manager: "SimpleMemoryManager", place: "SubjectKey | None") -> str:
    """Return a hint about memories that were deleted from the file last, or "" if there are none."""
    from zorkgpt.memory.upkeep.undoing import deletions

    deleted = next((each for each in deletions(manager.store) if place is None or place in each.places()), None)
    return "" if deleted is None else f" {deleted.describe()} To bring them back: `memories undo`."


@memory_command()
def explain(
    manager: "SimpleMemoryManager",
    memory: Title,
    location: LocationOption = None,
    json_: Annotated[bool, typer.Option("--json", help="Print everything as a JSON array.")] = False,
) -> None:
    """Show where a memory comes from, when it was shown, its results, and its changes."""
    place = None if location is None else place_given(manager, location)
    found = find_memories(manager, memory, place, also_removed=True)
    if len({match.memory.title.casefold() for match in found}) > 1:
        raise ambiguous(memory, found)
    explained: list[Provenance] = []
    for place, title in dict.fromkeys((match.location_id, match.memory.title) for match in found):
        explained += manager.explain(title, place)
    if json_:
        typer.echo(json.dumps([provenance.to_dict() for provenance in explained], indent=1))
        return
    for provenance in explained:
        for line in _provenance_lines(provenance):
            say(line)


@memory_command()
def history(manager: "SimpleMemoryManager", memory: Title) -> None:
    """List every change of a memory, including changes that replaced it."""
    found = find_memories(manager, memory, also_removed=True)
    titles = {match.memory.title.casefold() for match in found}
    if len(titles) > 1:
        raise ambiguous(memory, found)
    for record in _with_replaced(manager, found[0].memory.title):
        change = record.change
        place = place_label(change.location_id, change.location_name)
        say(f"{record.at[:19]} {_kind(change.kind)}, {place} ({_SOURCES.get(record.source, record.source)})")
        if change.before and change.after and change.before.text != change.after.text:
            say(f"    before: {described(change.location_id, change.before)}")
        say(f"    {described(change.location_id, change.memory)}")
        if change.reason and change.reason != change.memory.invalidation_reason:
            say(f"    reason: {change.reason}")


def _with_replaced(manager: "SimpleMemoryManager", title: str) -> "list[HistoryRecord]":
    """Return the changes of the memories with a title, and those in which they replaced others, oldest first."""
    from zorkgpt.memory.provenance import records_about

    found: dict[int, HistoryRecord] = {}
    for place, records in records_about(manager.store, title).items():
        found |= {record.position: record for record in records}
        for record in manager.store.journal.of_kind("superseded", place):
            if (record.change.memory.superseded_by or "").casefold() == title.casefold():
                found[record.position] = record
    return [found[position] for position in sorted(found)]


@memory_command()
def search(
    manager: "SimpleMemoryManager",
    text: Annotated[str, typer.Argument(help="Words to search for.")],
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of results.")] = 10,
    location: LocationOption = None,
    persistence: Annotated[str | None, typer.Option("--class", help="core or permanent.")] = None,
    status: Annotated[
        str | None, typer.Option(help="active, tentative or superseded. [default: active and tentative]")
    ] = None,
    category: Annotated[str | None, typer.Option(help="SUCCESS, FAILURE, DISCOVERY, DANGER or NOTE.")] = None,
    kind: Annotated[str | None, typer.Option(help="rule, procedure, danger, insight, text or location.")] = None,
    episode: Annotated[str | None, typer.Option(help="First or last seen in this episode.")] = None,
) -> None:
    """Search all memories, best match first."""
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
        located = result.located
        label = place_label(located.location_id, located.location_name)
        say(f"{label}: {described(located.location_id, located.memory)}")
    if not found:
        say("No matches.")


@memory_command()
def stats(manager: "SimpleMemoryManager") -> None:
    """Show how many memories there are, by class, status, category and kind."""
    memories = manager.all_memories()
    places = {located.location_id for located in memories if is_place(located.location_id)}
    locations = number_of(len(places), "location", "locations")
    say(f"{locations}, {number_of(len(memories), 'memory', 'memories')}")
    for field in ("persistence", "status", "category", "kind"):
        counts = Counter(getattr(located.memory, field) or "unknown" for located in memories)
        say(f"  {field}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    lasting = manager.store.lasting
    say(f"  visits: {sum(heading.visits for heading in lasting.headings(lasting.places()).values())}")


@memory_command()
def check(manager: "SimpleMemoryManager") -> None:
    """List lines of the file that can't be parsed. Exits with 1 if there are any."""
    from zorkgpt.memory.storage.document import parse, render

    # A database has no lines, so count those of its export.
    document = parse(render(manager.store.document))
    problems = list(document.problems())
    for problem in problems:
        say(f"line {problem.line}: {problem.message}")
    unparsed = number_of(len(problems), "line", "lines")
    say(f"{number_of(document.count(), 'memory', 'memories')} read, {unparsed} not parsed and left unchanged.")
    if problems:
        raise typer.Exit(ExitCode.UNPARSED_LINES)


class ExportFormat(StrEnum):
    """A format of `export`."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"


@memory_command()
def export(
    manager: "SimpleMemoryManager",
    target: Annotated[Path | None, typer.Argument(metavar="FILE", help="New file. [default: print]")] = None,
    file_format: Annotated[ExportFormat, typer.Option("--to", help="Format.")] = ExportFormat.MARKDOWN,
) -> None:
    """Print all memories, or write them to a new file."""
    from zorkgpt.memory.storage.document import render
    from zorkgpt.memory.upkeep.exchange import json_lines, write_new

    memories = manager.all_memories()
    is_markdown = file_format is ExportFormat.MARKDOWN
    data = render(manager.store.document) if is_markdown else json_lines(memories).encode()
    if target is None:
        typer.echo(data, nl=False)
    else:
        write_new(target, data)
        say(f"{number_of(len(memories), 'memory', 'memories')} exported.")


def _as_of(manager: "SimpleMemoryManager", given: str) -> "list[LocatedMemory]":
    from zorkgpt.memory.retrieval import LocatedMemory

    if (time := _time_in(given)) is not None:
        memories = manager.as_of(moment=time)
    else:
        memories = manager.as_of(*past_turn(manager, "--as-of", given))
    headings = manager.store.lasting.headings(memories)
    names = {place: heading.name for place, heading in headings.items()}
    return [LocatedMemory(place, names.get(place, ""), memory) for place, some in memories.items() for memory in some]


def _time_in(given: str) -> datetime | None:
    """Return a time given by an option, in UTC unless it says otherwise. None if it is not a time."""
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def past_turn(manager: "SimpleMemoryManager", option: str, given: str) -> tuple[int | str, int]:
    """Return the episode and turn given by an option."""
    from zorkgpt.memory.provenance import is_known

    episode, colon, turn = given.rpartition(":")
    if not colon or not turn.isdecimal() or not episode or len(given) > _MAX_AS_OF_LENGTH:
        fail(f"{option} {given} is not EPISODE:TURN, such as 3:120.")
    episode_id = int(episode) if episode.isdecimal() else episode
    if not is_known(manager.store, episode_id):
        fail(f"{option} {given}: there is no episode {episode}.")
    return episode_id, int(turn)


def _provenance_lines(provenance: "Provenance") -> Iterator[str]:
    yield place_label(provenance.location_id, provenance.location_name)
    if provenance.memory:
        yield f"  {described(provenance.location_id, provenance.memory)}"
    else:
        yield f"  {provenance.title}: no longer remembered"
    yield "  Origin"
    yield from _origin_lines(provenance)
    if provenance.shown:
        yield "  Shown to the player"
    for seen in provenance.shown:
        times = number_of(seen.times, "time", "times")
        turns = f"turns {seen.first_turn} to {seen.last_turn}" if seen.times > 1 else f"turn {seen.first_turn}"
        yield f"    {times} in episode {seen.episode}, {turns}"
    if provenance.trials:
        yield "  Results when followed"
    yield from _last_lines([_trial_line(trial) for trial in provenance.trials], _MAX_TRIALS, "earlier results")
    changes = [
        record for record in provenance.records if record is not provenance.made and record.change.kind != "credited"
    ]
    if changes:
        yield "  Changes"
    yield from _last_lines([_change_line(record) for record in changes], _MAX_CHANGES, "earlier changes")


def _origin_lines(provenance: "Provenance") -> Iterator[str]:
    if provenance.made is None:
        yield "    unknown, because the memory is older than the history"
        return
    turn = provenance.made.turn_stamp
    earlier = f" in turn {turn.taught_in}" if turn and turn.taught_in is not None else ""
    action = f" after “{turn.action}”{earlier}" if turn and turn.action else ""
    yield f"    learned {_date_and_source(provenance.made)}{action}"
    if turn and turn.response:
        yield f"    game response: {turn.response}"


def _trial_line(trial: "Trial") -> str:
    verdict = "worked" if trial.worked else "did not work"
    return f"    episode {trial.episode}, turn {trial.turn}: “{trial.action}” {verdict}: {trial.result}"


def _change_line(record: "HistoryRecord") -> str:
    change = record.change
    reason = change.reason or (change.after.superseded_by if change.after else None)
    return f"    {_kind(change.kind)} {_date_and_source(record)}{f': {reason}' if reason else ''}"


def _kind(kind: str) -> str:
    return {"vetoed": "hidden", "unvetoed": "no longer hidden"}.get(kind, kind)


def _last_lines(lines: list[str], limit: int, what: str) -> Iterator[str]:
    if len(lines) > limit:
        yield f"    ({len(lines) - limit} {what}; use --json to see all)"
    yield from lines[-limit:]


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
    # Keep log messages out of the output. `check` lists the lines that can't be parsed.
    logging.getLogger("zorkgpt").addHandler(logging.NullHandler())
    try:
        with SimpleMemoryManager(path=path, **_comparison(provider, world_of(file))) as manager:
            for notice in manager.store.notices:
                typer.echo(f"zorkgpt: {printable(notice)}", err=True)
            if must_exist and not is_postgres(path) and not _exists(manager.store.path):
                fail(
                    f"No memory file at {path}. "
                    "Choose a story with --game, a folder with --workdir, or a file with --file."
                )
            yield manager
    except (MemoryStoreError, MemoryEditError) as error:
        fail(str(error))


def _exists(path: Path) -> bool:
    """Return whether there is a memory file, or the journal of one that was deleted."""
    return path.exists() or Path(f"{path}.sqlite").exists()


def memory_path(workdir: Path | None, file: str | None, game: str | None, *, make: bool = False) -> Path | str:
    """Return the given memory file or address, or the file in the story's folder."""
    from zorkgpt.memory.storage.addresses import is_address

    if file is not None:
        return file if is_address(file) else Path(file)
    config = run_configuration(workdir, game, make=make)
    memory = config.simple_memory
    return memory.memory_address or Path(config.zork_game_workdir) / memory.memory_file


def world_of(file: str | None) -> "World":
    """Return the vocabulary for questions to a model. A file given with --file may come from any world."""
    from zorkgpt.memory.world import NEUTRAL, TEXT_ADVENTURE

    return TEXT_ADVENTURE if file is None else NEUTRAL


def _comparison(provider: str | None, world: "World") -> dict[str, Any]:
    """Return the manager's arguments for comparing memories. A configured model judges uncertain pairs."""
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
    from zorkgpt.memory.credit import results_in_words

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
    head = f"{memory.id}  [{memory.category}{kind} {memory.persistence}{state}{marks}] {memory.title}"
    return f"{head} ({_seen(memory)}{seen}): {memory.text}"


def _seen(memory: "Memory") -> str:
    """Return when the memory was learned, and when it was last confirmed if later."""
    if memory.first_episode is None:
        return f"episode {memory.episode}, turn {memory.turns}"
    from zorkgpt.memory.storage.versions import seen_first, seen_last

    first, last = seen_first(memory), seen_last(memory)
    return f"episode {first.episode}, turn {first.turn} → episode {last.episode}, turn {last.turn}"


_SOURCES = {"agent": "by the player", "person": "by a person", "hand": "edited in the file"}


def _date_and_source(record: "HistoryRecord") -> str:
    """Return when a change was made, and by whom unless by the player."""
    stamp = record.turn_stamp
    turn = f"in episode {stamp.episode}, turn {stamp.turn}" if stamp else ""
    source = "" if record.source == "agent" else f"({_SOURCES.get(record.source, record.source)})"
    return " ".join(filter(None, [turn, f"on {record.at[:10]} at {record.at[11:16]}", source]))


def place_given(manager: "SimpleMemoryManager", text: str) -> "SubjectKey":
    """Return the place named on the command line. See `find_place`."""
    lasting = manager.store.lasting
    headings = lasting.headings(lasting.places())
    return find_place({place: heading.name for place, heading in headings.items()}, text)


def place_key(text: str) -> "SubjectKey":
    """Parse the key of a place, which doesn't have to exist: a number, or text with or without quotes."""
    from zorkgpt.memory.places import checked_place, parse_place

    try:
        return parse_place(text)
    except ValueError:
        pass
    try:
        return checked_place(text)
    except ValueError as error:
        fail(str(error))


def say(text: str) -> None:
    """Print text with control characters replaced and all lines but the first indented."""
    lines = ("".join(char if char.isprintable() else "\ufffd" for char in line) for line in text.split("\n"))
    typer.echo(indented("\n".join(lines), _CONTINUATION_INDENT))


def fail(message: str) -> NoReturn:
    """Print an error and exit."""
    typer.echo(f"zorkgpt: {message}", err=True)
    raise typer.Exit(ExitCode.BAD_INPUT)
