"""What the models of a run took, and how their answers fared, in sentences."""

from collections.abc import Iterable, Iterator
from typing import Any

_TOO_MANY_DOWNGRADES = 0.05
"""Of the memories that a model made; above it, the prompt and the model misunderstand each other."""

Episode = dict[str, Any]
"""One of the summary's episodes."""


def account(episodes: Iterable[Episode]) -> Iterator[str]:
    """What there is to say of models and learning; nothing where no model was asked and nothing went wrong."""
    episodes = list(episodes)
    yield from _usage(episodes)
    learned = _sums(episode["learning"] for episode in episodes)
    if any("memory" in episode["model_usage"] for episode in episodes):
        yield from _downgrades(learned)
    yield from _likeness(_sums(episode.get("deduplication", {}) for episode in episodes))
    if contradicted := sum(episode["learning"].get("audit", {}).get("contradicted", 0) for episode in episodes):
        yield f"{_memories(contradicted)} the fresh world contradicted, and marked as wrong."


def _usage(episodes: list[Episode]) -> Iterator[str]:
    roles = {role for episode in episodes for role in episode["model_usage"]}
    for role in sorted(roles):
        took = _sums(episode["model_usage"].get(role, {}) for episode in episodes)
        calls = int(took["calls"])
        words = [f"{calls} calls", f"{int(took['prompt_tokens']):,} tokens read"]
        words += [f"{int(took['completion_tokens']):,} written", f"{took['latency_s'] / max(calls, 1):.1f} s a call"]
        words += [f"{int(took['failed'])} failed"] if took["failed"] else []
        words += [f"{int(took['uncounted'])} not counted by the server"] if took["uncounted"] else []
        words += [f"cost {took['cost']:.4f}"] if took["cost"] else []
        yield f"Model as {role}: {', '.join(words)}."


def _downgrades(learned: dict[str, float]) -> Iterator[str]:
    made, downgraded = learned.get("synthesized", 0), learned.get("core_validation_downgrade", 0)
    if made and downgraded / made > _TOO_MANY_DOWNGRADES:
        yield (
            f"{int(downgraded)} of {int(made)} memories were called core on a later visit and kept as permanent: "
            "the prompt does not fit the memory model. Try another memory_model."
        )


def _likeness(counts: dict[str, float]) -> Iterator[str]:
    if kept := int(counts.get("contradictions_kept", 0)):
        yield f"{kept} of the memories contradicted one that was known; both are kept, see `memories undo --list`."


def _sums(rows: Iterable[dict[str, Any]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, int | float):
                total[name] = total.get(name, 0) + value
    return total


def _memories(count: int) -> str:
    return "One memory that" if count == 1 else f"{count} memories that"
