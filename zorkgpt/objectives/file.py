"""Objectives as JSON: in checkpoints, and in the file that every process playing in the same folder shares."""

import json
import logging
from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zorkgpt.encoding import as_json
from zorkgpt.errors import ObjectivesFileError, reason_of
from zorkgpt.memory.storage.file import MemoryFile, Stamp
from zorkgpt.objectives.conditions import Condition, ConditionKind
from zorkgpt.objectives.models import EpisodeTurn, Objective, ObjectiveEvidence, ObjectiveStatus, Scope, merged
from zorkgpt.objectives.tracker import ObjectiveTracker
from zorkgpt.once import once

_FIELDS = {"thing": int, "place": int, "points": int, "way": str, "text": str}


_SETS = ("visited", "scored", "carried")
_OF_A_CONDITION = tuple(field.name for field in fields(Condition))


@once
def objective_to_dict(objective: Objective) -> dict[str, Any]:
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


def objective_from_dict(value: dict[str, Any]) -> Objective:
    """The objective that `objective_to_dict` gave.

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
    kind = ConditionKind(value["kind"])
    fields = {name: of(value[name]) for name, of in _FIELDS.items() if name in value}
    needed = _NEEDED.get(kind, ())
    if missing := [name for name in needed if name not in fields]:
        raise ValueError(f"a condition of the kind {kind} lacks {missing[0]}")
    return Condition(kind, **fields)


_NEEDED = {
    ConditionKind.SCORE: ("points",),
    ConditionKind.HOLDS: ("thing",),
    ConditionKind.OPENED: ("thing",),
    ConditionKind.AT: ("place",),
    ConditionKind.VISITED: ("place",),
    ConditionKind.SCORED_AT: ("place",),
    ConditionKind.THING_AT: ("thing", "place"),
    ConditionKind.WAY_TRIED: ("place", "way"),
}


def _plain(moment: EpisodeTurn) -> dict[str, int]:
    return {"episode": moment.episode, "turn": moment.turn}


def _moment(value: dict[str, Any]) -> EpisodeTurn:
    return EpisodeTurn(int(value["episode"]), int(value["turn"]))


def _evidence(value: dict[str, Any]) -> ObjectiveEvidence:
    judge = value["judge"]
    if judge not in ("game", "model"):
        raise ValueError(f"no such judge: {judge!r}")
    return ObjectiveEvidence(_moment(value), judge, str(value["words"]), int(value["gain"]))


def tracker_to_dict(tracker: ObjectiveTracker) -> dict[str, Any]:
    """Everything that a tracker holds."""
    return {
        "objectives": [_in_episode(one) for one in tracker.objectives.values()],
        **{name: sorted(getattr(tracker, name)) for name in _SETS},
        "things": {str(number): name for number, name in tracker.things.items()},
        "last": _plain(tracker.last) if tracker.last else None,
        "counts": dict(tracker.counts),
    }


@once
def _in_episode(one: Objective) -> dict[str, Any]:
    now = {"scope": str(one.scope), "status": str(one.status), "progressed": one.progressed, "rank": one.rank}
    return objective_to_dict(one) | now


def restore_tracker(tracker: ObjectiveTracker, state: dict[str, Any]) -> None:
    """Make a tracker hold what `tracker_to_dict` gave.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is no such value; the tracker is what it was.
    """
    objectives = [_of_episode(value) for value in state["objectives"]]
    sets = {name: {int(number) for number in state[name]} for name in _SETS}
    things = {int(number): str(name) for number, name in state["things"].items()}
    last = _moment(state["last"]) if state["last"] else None
    counts = {str(name): int(count) for name, count in state["counts"].items()}
    tracker.replace_all(objectives)
    vars(tracker).update(sets)
    tracker.things, tracker.last = things, last
    tracker.counts.clear()
    tracker.counts.update(counts)
    tracker.revision += 1


def _of_episode(value: dict[str, Any]) -> Objective:
    return replace(
        objective_from_dict(value),
        scope=Scope(value["scope"]),
        status=ObjectiveStatus(value["status"]),
        progressed=int(value["progressed"]),
        rank=int(value["rank"]),
    )


log = logging.getLogger("zorkgpt.objectives")

VERSION = 1
_MOST_KEPT = 300
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)


class ObjectivesFile:
    """`objectives.json`. What stands in it is read again only when somebody else has changed it.

    A file that holds no objectives is set aside under another name, so that nothing writes over it.

    Both methods raise:
        MemoryStoreError: the file can't be locked, read or written; it is what it was.
        ObjectivesFileError: a later version wrote it.
    """

    def __init__(self, path: Path) -> None:
        self._file = MemoryFile(path)
        self._stamp: Stamp = ()
        self._holds: list[Objective] = []
        """With this stamp."""

    def load(self) -> list[Objective]:
        """What earlier episodes left; nothing if there is no file."""
        try:
            return list(self._now())
        except _DAMAGE:
            # Looked at again under the lock: only one of several processes moves it.
            with self._file.locked():
                return list(self._undamaged())

    def save(self, objectives: Iterable[Objective]) -> None:
        """Write them together with those that the file holds, whole or not at all."""
        with self._file.locked():
            before = self._undamaged()
            after = _joined([*before, *objectives])
            if [objective_to_dict(one) for one in after] != [objective_to_dict(one) for one in before]:
                self._stamp, self._holds = self._file.write(_rendered(after)) or (), after

    def _now(self) -> list[Objective]:
        if not self._stamp or self._file.stamp() != self._stamp:
            data, stamp = self._file.read()
            self._holds, self._stamp = [] if data is None else _parsed(data, self._file.path), stamp
        return self._holds

    def _undamaged(self) -> list[Objective]:
        """The objectives that it holds; none if it is damaged, and then it is out of the way."""
        try:
            return self._now()
        except _DAMAGE as error:
            aside = self._file.set_aside()
            self._file.path.unlink(missing_ok=True)
            extra = {"path": str(self._file.path), "set_aside": str(aside or ""), "reason": reason_of(error)}
            log.warning("the objectives file is damaged and was set aside", extra=extra)
            return []


def _joined(objectives: Iterable[Objective]) -> list[Objective]:
    """One for each key; of too many those go first that were never reached and are the oldest."""
    by_key: dict[str, Objective] = {}
    for one in objectives:
        by_key[one.key] = merged(by_key[one.key], one) if one.key in by_key else one
    worth = sorted(by_key.values(), key=lambda one: (bool(one.evidence), one.origin), reverse=True)
    return sorted(worth[:_MOST_KEPT], key=lambda one: (one.origin, one.key))


def _parsed(data: bytes, path: Path) -> list[Objective]:
    state = json.loads(data.decode("utf-8"))
    version = state["metadata"]["version"]
    if float(version) > VERSION:
        raise ObjectivesFileError(
            f"{path} was written by a later version of this program: its format is {version}, "
            f"and formats up to {VERSION} are known here. Use that version, or another --workdir. The file is kept."
        )
    return _joined(objective_from_dict(value) for value in state["objectives"])


def _rendered(objectives: list[Objective]) -> bytes:
    metadata = {
        "version": VERSION,
        "total_objectives": len(objectives),
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return as_json({"objectives": [objective_to_dict(one) for one in objectives], "metadata": metadata}, indented=True)
