"""`memories show`, `why` and `history`: what is known, as it stands or stood, and how it came about."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli.memory_file import (
    File,
    Game,
    Location,
    Title,
    Workdir,
    app,
    described,
    fail,
    number_of,
    opened,
    said_on,
    say,
)
from zorkgpt.errors import MemoryStoreError

if TYPE_CHECKING:
    from zorkgpt.memory.evidence.trials import Trial
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.past.provenance import Provenance
    from zorkgpt.memory.retrieval import LocatedMemory
    from zorkgpt.memory.storage.history import Record

_LONGEST_NUMBERS = 100
"""Characters of an episode and a turn; Python reads no number of thousands of digits."""
_TRIALS, _CHANGES = 10, 10
"""Shown of each at most, the last ones; --json has all of them."""


@app.command()
def show(
    location: Annotated[int | None, typer.Argument(help="A location's number; without one, all of them.")] = None,
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
        located = [one for one in memories if location in (None, one.location_id)]
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
        found = manager.why(title, location)
        if not found:
            fail(f"There never was a memory titled {title!r}{'' if location is None else f' at location {location}'}.")
        if json_:
            typer.echo(json.dumps([one.to_dict() for one in found], indent=1))
            return
        for one in found:
            for line in _told(one):
                say(line)


@app.command()
def history(title: Title, workdir: Workdir = None, file: File = None, game: Game = None) -> None:
    """What became of the memories of this title: what replaced what, when and why."""
    with opened(workdir, file, game) as manager:
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
                say(f"{record.at[:19]} {change.kind} at {change.location_id} {change.location_name} ({record.source})")
                if change.before and change.after and change.before.text != change.after.text:
                    say(f"    was: {described(change.before)}")
                say(f"    {described(both[-1])}")
                if change.reason and change.reason != both[-1].invalidation_reason:
                    say(f"    why: {change.reason}")
        if not found:
            fail(f"There is no memory titled {title!r} in the history.")


def _as_of(manager: "SimpleMemoryManager", given: str) -> "list[LocatedMemory]":
    from zorkgpt.memory.retrieval import LocatedMemory

    episode, colon, turn = given.rpartition(":")
    if not colon or not turn.isdecimal() or not episode or len(given) > _LONGEST_NUMBERS:
        fail(f"--as-of {given} is no turn of an episode. Give both, as in --as-of 3:120.")
    with suppress(MemoryStoreError):
        manager.store.reconcile()
    names = {section.location_id: section.name for section in manager.store.document.sections}
    which = int(episode) if episode.isdecimal() else episode
    if not manager.knows_episode(which):
        fail(f"--as-of {given}: nothing is on record of an episode {episode}.")
    memories = manager.as_of(which, int(turn))
    return [LocatedMemory(place, names.get(place, ""), one) for place, kept in memories.items() for one in kept]


def _told(one: "Provenance") -> Iterator[str]:
    yield f"Location {one.location_id}: {one.location_name}".rstrip(": ")
    yield f"  {described(one.memory)}" if one.memory else f"  {one.title}: not in the file any more"
    yield from _made(one)
    for seen in one.shown:
        times = number_of(seen.times, "time", "times")
        yield f"  shown {times} in episode {seen.episode}, from turn {seen.first_turn} to turn {seen.last_turn}"
    yield from _last([_trial(trial) for trial in one.trials], _TRIALS, "earlier trials")
    changes = [record for record in one.records if record is not one.made and record.change.kind != "credited"]
    yield from _last([_change(record) for record in changes], _CHANGES, "earlier changes")


def _made(one: "Provenance") -> Iterator[str]:
    if one.made is None:
        yield "  made before the history begins"
        return
    moment = one.made.moment
    action = f" after “{moment.action}”" if moment and moment.action else ""
    yield f"  made {said_on(one.made)}{action}"
    if moment and moment.response:
        yield f"    the game said: {moment.response}"


def _trial(trial: "Trial") -> str:
    verdict = "worked" if trial.worked else "did not work"
    return f"  followed in episode {trial.episode}, turn {trial.turn}: “{trial.action}” {verdict}: {trial.result}"


def _change(record: "Record") -> str:
    change = record.change
    reason = change.reason or (change.after.superseded_by if change.after else None)
    return f"  {change.kind} {said_on(record)}{f': {reason}' if reason else ''}"


def _last(lines: list[str], most: int, what: str) -> Iterator[str]:
    if len(lines) > most:
        yield f"  ({len(lines) - most} {what}; --json has them)"
    yield from lines[-most:]
