"""Objectives as plain values for JSON, and back."""

from dataclasses import fields, replace
from typing import Any

from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.objectives.book import ObjectiveBook
from zorkgpt.objectives.conditions import Condition, Kind
from zorkgpt.objectives.models import Evidence, Moment, Objective, Scope, Status

_FIELDS = {"thing": int, "place": int, "points": int, "way": str, "text": str}


_SETS = ("visited", "scored", "carried")
_OF_A_CONDITION = tuple(field.name for field in fields(Condition))


@cached_by_identity
def kept(objective: Objective) -> dict[str, Any]:
    """What outlives the episode."""
    condition = ((name, getattr(objective.condition, name)) for name in _OF_A_CONDITION)
    return {
        "text": objective.text,
        "condition": {name: value for name, value in condition if value not in (None, "")},
        "places": list(objective.places),
        "origin": _plain(objective.origin),
        "reached": [
            _plain(one.moment) | {"judge": one.judge, "words": one.words, "gain": one.gain}
            for one in objective.evidence
        ],
        "given_up": list(objective.given_up),
    }


def objective_of(value: dict[str, Any]) -> Objective:
    """The objective that `kept` gave.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is no such value.
    """
    return Objective(
        text=str(value["text"]),
        condition=_condition(value["condition"]),
        origin=_moment(value["origin"]),
        scope=Scope.WORLD,
        places=tuple(int(place) for place in value["places"]),
        evidence=tuple(sorted(_evidence(one) for one in value["reached"])),
        given_up=tuple(sorted(int(episode) for episode in value["given_up"])),
    )


def _condition(value: dict[str, Any]) -> Condition:
    kind = Kind(value["kind"])
    fields = {name: of(value[name]) for name, of in _FIELDS.items() if name in value}
    needed = _NEEDED.get(kind, ())
    if missing := [name for name in needed if name not in fields]:
        raise ValueError(f"a condition of the kind {kind} lacks {missing[0]}")
    return Condition(kind, **fields)


_NEEDED = {
    Kind.SCORE: ("points",),
    Kind.HOLDS: ("thing",),
    Kind.OPENED: ("thing",),
    Kind.AT: ("place",),
    Kind.VISITED: ("place",),
    Kind.SCORED_AT: ("place",),
    Kind.THING_AT: ("thing", "place"),
    Kind.WAY_TRIED: ("place", "way"),
}


def _plain(moment: Moment) -> dict[str, int]:
    return {"episode": moment.episode, "turn": moment.turn}


def _moment(value: dict[str, Any]) -> Moment:
    return Moment(int(value["episode"]), int(value["turn"]))


def _evidence(value: dict[str, Any]) -> Evidence:
    judge = value["judge"]
    if judge not in ("game", "model"):
        raise ValueError(f"no such judge: {judge!r}")
    return Evidence(_moment(value), judge, str(value["words"]), int(value["gain"]))


def book_to_dict(book: ObjectiveBook) -> dict[str, Any]:
    """Everything that a book holds."""
    return {
        "objectives": [_in_episode(one) for one in book.objectives.values()],
        **{name: sorted(getattr(book, name)) for name in _SETS},
        "things": {str(number): name for number, name in book.things.items()},
        "last": _plain(book.last) if book.last else None,
        "counts": dict(book.counts),
    }


@cached_by_identity
def _in_episode(one: Objective) -> dict[str, Any]:
    now = {"scope": str(one.scope), "status": str(one.status), "progressed": one.progressed, "rank": one.rank}
    return kept(one) | now


def restore_book(book: ObjectiveBook, state: dict[str, Any]) -> None:
    """Make a book hold what `book_to_dict` gave.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is no such value; the book is what it was.
    """
    objectives = [_of_episode(value) for value in state["objectives"]]
    sets = {name: {int(number) for number in state[name]} for name in _SETS}
    things = {int(number): str(name) for number, name in state["things"].items()}
    last = _moment(state["last"]) if state["last"] else None
    counts = {str(name): int(count) for name, count in state["counts"].items()}
    book.hold(objectives)
    vars(book).update(sets)
    book.things, book.last = things, last
    book.counts.clear()
    book.counts.update(counts)
    book.revision += 1


def _of_episode(value: dict[str, Any]) -> Objective:
    return replace(
        objective_of(value),
        scope=Scope(value["scope"]),
        status=Status(value["status"]),
        progressed=int(value["progressed"]),
        rank=int(value["rank"]),
    )
