"""Objectives as JSON: in checkpoints, and in a file that processes playing in the same folder share."""

import logging
from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from zorkgpt.bounded import SAVED_FILE, parse_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import ObjectivesFileError, reason_of
from zorkgpt.files import AtomicFile, Stamp
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.objectives.models import (
    Condition,
    ConditionKind,
    EpisodeTurn,
    Objective,
    ObjectiveEvidence,
    ObjectiveJudge,
    ObjectiveStatus,
    Scope,
    merged,
)
from zorkgpt.objectives.tracker import ObjectiveTracker

_FIELDS = {"thing": int, "place": int, "points": int, "way": str, "text": str}


_SETS = ("visited", "scored", "carried")
_CONDITION_FIELDS = tuple(field.name for field in fields(Condition))


@cached_by_identity
def objective_to_dict(objective: Objective) -> dict[str, Any]:
    """Return the part of an objective that outlives the episode, as JSON values."""
    condition = ((name, getattr(objective.condition, name)) for name in _CONDITION_FIELDS)
    return {
        "text": objective.text,
        "condition": {name: value for name, value in condition if value not in (None, "")},
        "places": list(objective.places),
        "origin": _turn_to_dict(objective.origin),
        "reached": [
            _turn_to_dict(evidence.turn) | {"judge": evidence.judge, "words": evidence.words, "gain": evidence.gain}
            for evidence in objective.evidence
        ],
        "given_up": list(objective.given_up),
        **({"drop_revision": objective.drop_revision} if objective.drop_revision else {}),
    }


@cached_by_identity
def logged_objective(objective: Objective) -> dict[str, Any]:
    """Return an objective as JSON values for the episode log."""
    return objective_to_dict(objective) | {
        "done_when": objective.condition.text,
        "status": str(objective.status),
        "scope": str(objective.scope),
    }


def objective_from_dict(value: dict[str, Any]) -> Objective:
    """Return the objective from the result of `objective_to_dict`.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: If `value` is malformed.
    """
    return Objective(
        text=str(value["text"]),
        condition=_condition(value["condition"]),
        origin=_turn_from_dict(value["origin"]),
        scope=Scope.WORLD,
        places=tuple(int(place) for place in value["places"]),
        evidence=tuple(sorted(_evidence(reached) for reached in value["reached"])),
        given_up=tuple(sorted(int(episode) for episode in value["given_up"])),
        drop_revision=int(value.get("drop_revision", 0)),
    )


def _condition(value: dict[str, Any]) -> Condition:
    kind = ConditionKind(value["kind"])
    fields = {name: field_type(value[name]) for name, field_type in _FIELDS.items() if name in value}
    for name in _REQUIRED.get(kind, ()):
        if name not in fields:
            raise ValueError(f"condition of kind {kind} lacks {name!r}")
    return Condition(kind, **fields)


_REQUIRED = {
    ConditionKind.SCORE: ("points",),
    ConditionKind.HOLDS: ("thing",),
    ConditionKind.OPENED: ("thing",),
    ConditionKind.AT: ("place",),
    ConditionKind.VISITED: ("place",),
    ConditionKind.SCORED_AT: ("place",),
    ConditionKind.THING_AT: ("thing", "place"),
    ConditionKind.WAY_TRIED: ("place", "way"),
}


def _turn_to_dict(stamp: EpisodeTurn) -> dict[str, int]:
    return {"episode": stamp.episode, "turn": stamp.turn}


def _turn_from_dict(value: dict[str, Any]) -> EpisodeTurn:
    return EpisodeTurn(int(value["episode"]), int(value["turn"]))


def _evidence(value: dict[str, Any]) -> ObjectiveEvidence:
    judge = value["judge"]
    if judge not in get_args(ObjectiveJudge):
        raise ValueError(f"unknown judge: {judge!r}")
    return ObjectiveEvidence(_turn_from_dict(value), judge, str(value["words"]), int(value["gain"]))


def tracker_to_dict(tracker: ObjectiveTracker) -> dict[str, Any]:
    """Return the whole state of a tracker as JSON values."""
    return {
        "objectives": [_with_episode_state(objective) for objective in tracker.objectives.values()],
        **{name: sorted(getattr(tracker, name)) for name in _SETS},
        "things": {str(number): name for number, name in tracker.things.items()},
        "last": _turn_to_dict(tracker.last) if tracker.last else None,
        "counts": dict(tracker.counts),
    }


@cached_by_identity
def _with_episode_state(objective: Objective) -> dict[str, Any]:
    episode_state = {
        "scope": str(objective.scope),
        "status": str(objective.status),
        "progressed": objective.progressed,
        "rank": objective.rank,
    }
    return objective_to_dict(objective) | episode_state


def restore_tracker(tracker: ObjectiveTracker, state: dict[str, Any]) -> None:
    """Restore a tracker's state from the result of `tracker_to_dict`.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: If `state` is malformed. The tracker is unchanged.
    """
    objectives = [_from_episode_state(value) for value in state["objectives"]]
    sets = {name: {int(number) for number in state[name]} for name in _SETS}
    things = {int(number): str(name) for number, name in state["things"].items()}
    last = _turn_from_dict(state["last"]) if state["last"] else None
    counts = {str(name): int(count) for name, count in state["counts"].items()}
    tracker.replace_all(objectives)
    tracker.visited, tracker.scored, tracker.carried = (sets[name] for name in _SETS)
    tracker.things, tracker.last = things, last
    tracker.counts.clear()
    tracker.counts.update(counts)
    tracker.revision += 1


def _from_episode_state(value: dict[str, Any]) -> Objective:
    return replace(
        objective_from_dict(value),
        scope=Scope(value["scope"]),
        status=ObjectiveStatus(value["status"]),
        progressed=int(value["progressed"]),
        rank=int(value["rank"]),
    )


log = logging.getLogger("zorkgpt.objectives")

VERSION = 1
_MAX_KEPT = 300
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError)


class ObjectivesFile:
    """`objectives.json`, cached until another process changes it.

    A damaged file is renamed, so that it is not overwritten.

    Raises (both methods):
        FileError: If the file can't be locked, read or written. It is unchanged.
        ObjectivesFileError: If a later version wrote the file.
    """

    def __init__(self, path: Path) -> None:
        self._file = AtomicFile(path)
        self._stamp: Stamp = ()
        self._objectives: list[Objective] = []
        """The objectives in the file at the time of `_stamp`."""

    def load(self) -> list[Objective]:
        """Return the objectives of earlier episodes; an empty list without a file."""
        try:
            return list(self._current())
        except _DAMAGE:
            # Check again under the lock, so that only one of several processes renames the file.
            with self._file.locked():
                return list(self._current_or_set_aside())

    def save(self, objectives: Iterable[Objective]) -> None:
        """Merge these objectives into the file, atomically."""
        with self._file.locked():
            before = self._current_or_set_aside()
            after = _merged_by_key([*before, *objectives])
            if list(map(objective_to_dict, after)) != list(map(objective_to_dict, before)):
                self._stamp, self._objectives = self._file.write(_rendered(after, datetime.now(UTC))) or (), after

    def _current(self) -> list[Objective]:
        if not self._stamp or self._file.stamp() != self._stamp:
            data, stamp = self._file.read()
            self._objectives, self._stamp = [] if data is None else _parsed(data, self._file.path), stamp
        return self._objectives

    def _current_or_set_aside(self) -> list[Objective]:
        """Return the objectives in the file. If it is damaged, rename it and return an empty list."""
        try:
            return self._current()
        except _DAMAGE as error:
            aside = self._file.set_aside()
            self._file.path.unlink(missing_ok=True)
            extra = {"path": str(self._file.path), "set_aside": str(aside or ""), "reason": reason_of(error)}
            log.warning("the objectives file is damaged and was set aside", extra=extra)
            return []


def _merged_by_key(objectives: Iterable[Objective]) -> list[Objective]:
    """Merge objectives with the same key. If there are too many, drop the oldest of those never reached first."""
    by_key: dict[str, Objective] = {}
    for objective in objectives:
        by_key[objective.key] = merged(by_key[objective.key], objective) if objective.key in by_key else objective
    ranked = sorted(by_key.values(), key=lambda objective: (bool(objective.evidence), objective.origin), reverse=True)
    return sorted(ranked[:_MAX_KEPT], key=lambda objective: (objective.origin, objective.key))


def _parsed(data: bytes, path: Path) -> list[Objective]:
    state = parse_json(data, SAVED_FILE)
    version = state["metadata"]["version"]
    if float(version) > VERSION:
        raise ObjectivesFileError(
            f"{path} was written by a later version of this program. Its format is {version}, but this version only "
            f"reads formats up to {VERSION}. Use the later version, or another --workdir. The file is unchanged."
        )
    return _merged_by_key(objective_from_dict(value) for value in state["objectives"])


def _rendered(objectives: list[Objective], at: datetime) -> bytes:
    metadata = {
        "version": VERSION,
        "total_objectives": len(objectives),
        "timestamp": at.isoformat(timespec="seconds"),
    }
    return as_json(
        {"objectives": [objective_to_dict(objective) for objective in objectives], "metadata": metadata}, indented=True
    )
