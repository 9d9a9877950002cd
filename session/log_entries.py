"""Turns and model calls as events of the run log, and back."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, cast

from game_interface.models import Item
from session.history import TurnRecord
from session.outcome import failed, had_effect, worked
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.llm.messages import Message, Usage
from zorkgpt.llm.roles import Role
from zorkgpt.llm.usage import CallRecord
from zorkgpt.runlog.events import ModelCalled, TurnPlayed


@cached_by_identity
def turn_played(record: TurnRecord) -> TurnPlayed:
    """Return the event for a turn."""
    step = record.transition
    before, after = step.before.location, step.after.location
    return TurnPlayed(
        episode=record.episode,
        turn=record.turn,
        player=record.player,
        location_id=before.num if before else None,
        location=before.name if before else "",
        location_after_id=after.num if after else None,
        location_after=after.name if after else "",
        action=step.action,
        reasoning=record.reasoning,
        response=step.response,
        score_before=step.before.score,
        score=step.after.score,
        moves=step.after.moves,
        inventory=[item.name for item in step.after.inventory or ()],
        died=step.died,
        finished=step.finished,
        victory=step.victory,
        failed=failed(step),
        refused=step.refused,
        fault=step.fault,
        memory_shown=record.memory_shown,
        memory_events=[_plain(event) for event in record.memory_events],
        duration_s=round(record.duration_s, 6),
        parts_s=dict(record.parts_s),
        rejections=[_plain(rejection) for rejection in record.rejections],
        critic_score=record.critic_score,
        effective=had_effect(step) and worked(step),
        extraction=_plain(record.extraction) if record.extraction else None,
        notices=list(record.notices),
        carried_before=_things(step.before.inventory if step.before.carried is None else step.before.carried),
        visible_before=_things(step.before.visible),
        dark=step.before.dark,
        vehicle_id=step.before.vehicle.num if step.before.vehicle else None,
        changed=[[flip.number, flip.name, flip.attribute, flip.value] for flip in step.changed],
    )


def model_called(call: CallRecord, *, episode: int, turn: int) -> ModelCalled:
    """Return the event for a model's call."""
    return ModelCalled(
        episode=episode,
        turn=turn,
        time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        role=call.role,
        model=call.model,
        messages=[_plain(message) for message in call.messages],
        answer=call.answer,
        reasoning=call.reasoning,
        prompt_tokens=call.usage.prompt_tokens,
        completion_tokens=call.usage.completion_tokens,
        cost=call.cost,
        latency_s=round(call.latency_s, 6),
        error=call.error,
    )


def call_record(call: ModelCalled) -> CallRecord:
    """Return the call that `model_called` made an event of."""
    return CallRecord(
        role=cast(Role, call.role),
        model=call.model,
        messages=tuple(Message(**cast(dict[str, Any], message)) for message in call.messages),
        answer=call.answer,
        reasoning=call.reasoning,
        usage=Usage(call.prompt_tokens, call.completion_tokens),
        cost=call.cost,
        latency_s=call.latency_s,
        error=call.error,
    )


def _things(items: tuple[Item, ...] | None) -> list[list[Any]] | None:
    return None if items is None else [[item.num, item.name, item.parent] for item in items]


def _plain(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass with plain values; `asdict`, which copies deeply, takes many times as long."""
    kind = type(value)
    if kind not in _FIELD_NAMES:
        _FIELD_NAMES[kind] = tuple(field.name for field in fields(kind))
    return {name: getattr(value, name) for name in _FIELD_NAMES[kind]}


_FIELD_NAMES: dict[type, tuple[str, ...]] = {}
"""The names of the fields of a dataclass, looked up once."""
