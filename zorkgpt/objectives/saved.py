"""Objectives as JSON, in checkpoints and in the log, and as memories of later episodes."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, get_args

from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.memory.models import OBJECTIVES, Category, Memory, Persistence
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.protocol import Store
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


_MAX_KEPT = 300
_OBJECTIVE = "objective"
"""The name of metadata with the result of `objective_to_dict`."""


class ObjectiveMemories:
    """The objectives that outlive an episode: memories about `OBJECTIVES`, which all players of a memory share.

    Raises (both methods):
        MemoryStoreError: If the memories can't be read or written. Nothing is changed.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self) -> list[Objective]:
        """Return the objectives of earlier episodes, oldest first."""
        self._store.refresh()
        with self._store.guard:
            objectives = _objectives_of(self._store.lasting.memories(OBJECTIVES))
        return sorted(objectives, key=lambda objective: (objective.origin, objective.key))

    def save(self, objectives: Iterable[Objective], turn: TurnStamp | None = None) -> None:
        """Merge these objectives with the saved ones.

        Args:
            turn: The turn to which the change belongs.
        """
        with self._store.transaction(places=[OBJECTIVES], turn_stamp=turn) as draft:
            saved = _objectives_of(draft.lasting.memories(OBJECTIVES))
            draft.set_memories(OBJECTIVES, [_memory_of(each) for each in _merged_by_key([*saved, *objectives])])


def _objectives_of(memories: Iterable[Memory]) -> list[Objective]:
    return [objective_from_dict(memory.metadata[_OBJECTIVE]) for memory in memories]


def _memory_of(objective: Objective) -> Memory:
    return Memory(
        category=Category.NOTE,
        title=objective.key,
        episode=objective.origin.episode,
        turns=str(objective.origin.turn),
        score_change=None,
        text=objective.text,
        persistence=Persistence.PERMANENT,
        metadata={_OBJECTIVE: objective_to_dict(objective)},
    )


def _merged_by_key(objectives: Iterable[Objective]) -> list[Objective]:
    """Merge objectives with the same key. If there are too many, drop the oldest of those never reached first."""
    by_key: dict[str, Objective] = {}
    for objective in objectives:
        by_key[objective.key] = merged(by_key[objective.key], objective) if objective.key in by_key else objective
    ranked = sorted(by_key.values(), key=lambda objective: (bool(objective.evidence), objective.origin))
    for objective in ranked[:-_MAX_KEPT]:
        del by_key[objective.key]
    return list(by_key.values())
