"""`memories`: look at what is remembered; `memory_changes` has the commands that change it."""

import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from zorkgpt.cli.paths import run_paths
from zorkgpt.cli.process import ExitCode
from zorkgpt.errors import MemoryEditError, MemoryStoreError
from zorkgpt.text import number_of

if TYPE_CHECKING:
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.models import Memory, PlaceKey
    from zorkgpt.memory.provenance import Provenance
    from zorkgpt.memory.retrieval import LocatedMemory
    from zorkgpt.memory.storage.history import HistoryRecord
    from zorkgpt.memory.storage.trials import Trial
    from zorkgpt.memory.world import World

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

Workdir = Annotated[
    Path | None,
    typer.Option("--workdir", help="Where Memories.md is kept. [default: the story's folder in game_files]"),
]
Game = Annotated[
    str | None, typer.Option("--game", help="The story: its file or its name. [default: the one played last]")
]
File = Annotated[
    str | None,
    typer.Option("--file", help="The memory file itself, where it has another name; or a postgresql:// address."),
]
Title = Annotated[str, typer.Argument(help="A memory's title.")]
Location = Annotated[
    str | None, typer.Option("--location", help="Its location's number or text, where others have one too.")
]
_LONGEST_AS_OF = 100
"""Characters of an episode and a turn; Python reads no number of thousands of digits."""
_MOST_TRIALS, _MOST_CHANGES = 10, 10
"""How many of each are shown, the last ones; --json has all of them."""


@app.command()
def show(
    location: Annotated[
        str | None, typer.Argument(help="A location's number or text; without one, all of them.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="As it stood at the end of this episode's turn: 3:120")
    ] = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """What is known of a location, or of all: every memory, with what became of it."""
    with opened(workdir, file, game) as manager:
        memories = manager.all_memories() if as_of is None else _as_of(manager, as_of)
        wanted = None if location is None else place_given(location)
        located = [one for one in memories if wanted in (None, one.location_id)]
        if not located:
            then = "" if as_of is None else f" as of {as_of}"
            fail(f"Nothing is remembered{'' if location is None else f' of location {location}'}{then}.")
        place = None
        for one in located:
            if one.location_id != place:
                place = one.location_id
                say(f"Location {place}: {one.location_name}".rstrip(": "))
            say(f"  {described(one.memory)}")


@app.command()
def why(
    title: Title,
    location: Location = None,
    json_: Annotated[bool, typer.Option("--json", help="All of it, as one JSON array.")] = False,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """What taught a memory, when the player was shown it, what came of following it, what became of it."""
    with opened(workdir, file, game) as manager:
        with suppress(MemoryStoreError):
            manager.store.reconcile()
        found = manager.why(title, None if location is None else place_given(location))
        if not found:
            fail(f"There never was a memory titled {title!r}{'' if location is None else f' at location {location}'}.")
        if json_:
            typer.echo(json.dumps([one.to_dict() for one in found], indent=1))
            return
        for one in found:
            for line in _provenance_lines(one):
                say(line)


@app.command()
def history(title: Title, workdir: Workdir = None, file: File = None, game: Game = None) -> None:
    """What became of the memories of this title: what replaced what, when and why."""
    with opened(workdir, file, game) as manager:
        # A read-only folder has a history too.
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
                say(f"{record.at[:19]} {change.kind} at {change.location_id} {change.location_name} ({record.source})")
                if change.before and change.after and change.before.text != change.after.text:
                    say(f"    was: {described(change.before)}")
                say(f"    {described(both[-1])}")
                if change.reason and change.reason != both[-1].invalidation_reason:
                    say(f"    why: {change.reason}")
        if not found:
            fail(f"There is no memory titled {title!r} in the history.")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="Words to look for.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 10,
    location: Annotated[int | None, typer.Option("--location", help="Of this location only.")] = None,
    persistence: Annotated[str | None, typer.Option("--class", help="core or permanent.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="active, tentative or superseded. [default: what is believed]")
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="SUCCESS, FAILURE, DISCOVERY, DANGER or NOTE.")
    ] = None,
    episode: Annotated[str | None, typer.Option("--episode", help="Seen first or last in this one.")] = None,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Memories of any location that share words with the text, best first."""
    with opened(workdir, file, game) as manager:
        found = manager.search(
            text,
            limit,
            location_id=location,
            persistence=persistence,
            status=status,
            category=category,
            episode=episode,
        )
        for result in found:
            place = result.located
            say(f"{place.location_id} {place.location_name}: {described(place.memory)}")
        if not found:
            say("Nothing found.")


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
def check(workdir: Workdir = None, file: File = None, game: Game = None) -> None:
    """List what in the file was not understood, with line numbers. Exits with 1 if there is anything."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.storage.document import parse
        from zorkgpt.memory.storage.shelves import joined, read_document

        path = manager.store.path
        # In a database there are no lines: those of what export writes.
        document = read_document(path) if path.is_file() else parse(joined(manager.store.document))
        found = [(shelf.name, problem) for shelf in document.shelves for problem in shelf.problems()]
        for name, problem in found:
            say(f"{name and f'{name}, '}line {problem.line}: {problem.message}")
        memories = sum(map(len, document.all_memories().values()))
        say(f"{number_of(memories, 'memory', 'memories')} read, {len(found)} not understood and kept as found.")
    if found:
        raise typer.Exit(ExitCode.NOT_UNDERSTOOD)


@app.command()
def export(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array; without this, one Markdown file.")] = False,
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
) -> None:
    """Write all memories to the standard output."""
    with opened(workdir, file, game) as manager:
        from zorkgpt.memory.storage.shelves import joined
        from zorkgpt.memory.upkeep.exchange import rows

        if as_json:
            typer.echo(json.dumps(rows(manager.all_memories()), indent=1))
        else:
            typer.echo(joined(manager.store.document), nl=False)


def _as_of(manager: "SimpleMemoryManager", given: str) -> "list[LocatedMemory]":
    from zorkgpt.memory.retrieval import LocatedMemory

    episode, colon, turn = given.rpartition(":")
    if not colon or not turn.isdecimal() or not episode or len(given) > _LONGEST_AS_OF:
        fail(f"--as-of {given} is no turn of an episode. Give both, as in --as-of 3:120.")
    with suppress(MemoryStoreError):
        manager.store.reconcile()
    names = {section.location_id: section.name for section in manager.store.document.sections}
    which = int(episode) if episode.isdecimal() else episode
    if not manager.knows_episode(which):
        fail(f"--as-of {given}: nothing is on record of an episode {episode}.")
    memories = manager.as_of(which, int(turn))
    return [LocatedMemory(place, names.get(place, ""), one) for place, kept in memories.items() for one in kept]


def _provenance_lines(one: "Provenance") -> Iterator[str]:
    yield f"Location {one.location_id}: {one.location_name}".rstrip(": ")
    yield f"  {described(one.memory)}" if one.memory else f"  {one.title}: not in the file any more"
    yield from _origin_lines(one)
    for seen in one.shown:
        times = number_of(seen.times, "time", "times")
        yield f"  shown {times} in episode {seen.episode}, from turn {seen.first_turn} to turn {seen.last_turn}"
    yield from _at_most([_trial_line(trial) for trial in one.trials], _MOST_TRIALS, "earlier trials")
    changes = [record for record in one.records if record is not one.made and record.change.kind != "credited"]
    yield from _at_most([_change_line(record) for record in changes], _MOST_CHANGES, "earlier changes")


def _origin_lines(one: "Provenance") -> Iterator[str]:
    if one.made is None:
        yield "  made before the history begins"
        return
    moment = one.made.turn_stamp
    action = f" after “{moment.action}”" if moment and moment.action else ""
    yield f"  made {_written(one.made)}{action}"
    if moment and moment.response:
        yield f"    the game said: {moment.response}"


def _trial_line(trial: "Trial") -> str:
    verdict = "worked" if trial.worked else "did not work"
    return f"  followed in episode {trial.episode}, turn {trial.turn}: “{trial.action}” {verdict}: {trial.result}"


def _change_line(record: "HistoryRecord") -> str:
    change = record.change
    reason = change.reason or (change.after.superseded_by if change.after else None)
    return f"  {change.kind} {_written(record)}{f': {reason}' if reason else ''}"


def _at_most(lines: list[str], most: int, what: str) -> Iterator[str]:
    if len(lines) > most:
        yield f"  ({len(lines) - most} {what}; --json has them)"
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
    """Open the memory; errors of ours end the command with a message."""
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.storage.database import is_postgres

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
                    "Name its story with --game, its folder with --workdir, or itself with --file."
                )
            yield manager
    except (MemoryStoreError, MemoryEditError) as error:
        fail(str(error))


def memory_path(workdir: Path | None, file: str | None, game: str | None, *, make: bool = False) -> Path | str:
    """Return the given memory file or address, or the file in the story's folder."""
    from zorkgpt.memory.storage.database import is_postgres

    if file is not None:
        return file if is_postgres(file) else Path(file)
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
    from session.game_configuration import GameConfiguration
    from session.model_settings import model_settings
    from zorkgpt.llm.client import LLMClient
    from zorkgpt.memory.dedup.judge import ModelJudge

    config = GameConfiguration.load(arguments={"embedding_provider": provider, "enable_semantic_deduplication": True})
    models = model_settings(config)
    return {"config": config, "judge": ModelJudge(LLMClient(models), world) if models else None}


def described(memory: "Memory") -> str:
    """Return a memory with all that is known of it, in one line."""
    state = "" if memory.status == "ACTIVE" else f", {memory.status.lower()}"
    if memory.superseded_by and memory.superseded_by != "INVALIDATED":
        state += f" by {memory.superseded_by!r}"
    if memory.invalidation_reason:
        state += f": {memory.invalidation_reason}"
    seen = f", seen {memory.observation_count}x" if memory.observation_count > 1 else ""
    seen += f", worked {memory.worked}/{memory.tried}" if memory.tried else ""
    marks = "".join(f", {mark}" for mark in ("pinned", "vetoed") if getattr(memory, mark))
    head = f"[{memory.category} {memory.persistence}{state}{marks}] {memory.title}"
    return f"{head} ({_seen(memory)}{seen}): {memory.text}"


def _seen(memory: "Memory") -> str:
    """Return the episode and turn when it was learned, and when it was last confirmed if that was later."""
    if memory.first_episode is None:
        return f"episode {memory.episode}, turn {memory.turns}"
    from zorkgpt.memory.storage.changes import seen_first, seen_last

    first, last = seen_first(memory), seen_last(memory)
    return f"episode {first.episode}, turn {first.turn} → episode {last.episode}, turn {last.turn}"


def _written(record: "HistoryRecord") -> str:
    """Return when a record of the history was written, and by whom."""
    moment = record.turn_stamp
    turn = f"in episode {moment.episode}, turn {moment.turn}" if moment else ""
    source = "" if record.source == "agent" else f"({record.source})"
    return " ".join(filter(None, [turn, f"on {record.at[:10]} at {record.at[11:16]}", source]))


def place_given(text: str) -> "PlaceKey":
    """Return the place that is meant by a word of the command line: a number, or a text, with or without quotes."""
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
    """Print data: nothing in it controls the terminal."""
    typer.echo("".join(char if char.isprintable() else "\ufffd" for char in text) + end, nl=False)


def fail(message: str) -> NoReturn:
    """End the command with a message."""
    typer.echo(f"zorkgpt: {message}", err=True)
    raise typer.Exit(ExitCode.BAD_INPUT)
