"""Objectives as JSON, in checkpoints and in the log, and as memories of later episodes."""

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.memory.models import OBJECTIVES, Category, Memory, Persistence
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.objectives.models import Objective, merged, restarted

_JSON = TypeAdapter(Objective)


@cached_by_identity
def logged_objective(objective: Objective) -> dict[str, Any]:
    """Return an objective as JSON values for the episode log."""
    saved = _JSON.dump_python(objective, mode="json")
    return {
        "text": objective.text,
        "condition": {name: value for name, value in saved["condition"].items() if value not in (None, "")},
        "places": saved["places"],
        "origin": saved["origin"],
        "reached": [evidence.pop("turn") | evidence for evidence in saved["evidence"]],
        "given_up": saved["given_up"],
        "done_when": objective.condition.text,
        "status": saved["status"],
        "scope": saved["scope"],
        "progressed": saved["progressed"],
        "rank": saved["rank"],
    }


def objective_in_log(logged: dict[str, Any]) -> Objective:
    """Return the objective that `logged_objective` described.

    Raises:
        ValueError, KeyError, TypeError: If it is malformed.
    """
    evidence = [each | {"turn": {"episode": each["episode"], "turn": each["turn"]}} for each in logged["reached"]]
    return _JSON.validate_python(logged | {"evidence": evidence})


_MAX_KEPT = 300
_OBJECTIVE = "objective"
"""The name of metadata with the objective as JSON values."""


class ObjectiveMemories:
    """The objectives that outlive an episode: memories about `OBJECTIVES`, which all players of a memory share.

    Raises (both methods):
        MemoryStoreError: If the memories can't be read or written. Nothing is changed.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self) -> list[Objective]:
        """Return the objectives of earlier episodes, in the order in which they were added."""
        self._store.refresh()
        with self._store.guard:
            return objectives_of(self._store.lasting.memories(OBJECTIVES))

    def save(self, objectives: Iterable[Objective], turn: TurnStamp | None = None) -> None:
        """Merge these objectives with the saved ones.

        Args:
            turn: The turn to which the change belongs.
        """
        with self._store.transaction(places=[OBJECTIVES], turn_stamp=turn) as draft:
            saved = objectives_of(draft.lasting.memories(OBJECTIVES))
            draft.set_memories(OBJECTIVES, [memory_of(each) for each in _merged_by_key([*saved, *objectives])])


def objectives_of(memories: Iterable[Memory]) -> list[Objective]:
    return [_JSON.validate_python(memory.metadata[_OBJECTIVE]) for memory in memories]


def memory_of(objective: Objective) -> Memory:
    """Return the memory of an objective. It has the state at the start of an episode."""
    return Memory(
        category=Category.NOTE,
        title=objective.key,
        episode=objective.origin.episode,
        turns=str(objective.origin.turn),
        score_change=None,
        text=objective.text,
        persistence=Persistence.PERMANENT,
        metadata={_OBJECTIVE: _JSON.dump_python(restarted(objective), mode="json", exclude_defaults=True)},
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
