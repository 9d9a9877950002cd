"""A turn and a model's call, as the run log keeps them."""

from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Any

from game_interface.models import Item
from session.history import TurnRecord
from session.outcome import effective, failed
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.llm.messages import Message, Usage
from zorkgpt.llm.usage import CallRecord
from zorkgpt.runlog.events import ModelCalled, TurnPlayed


@cached_by_identity
def turn_played(record: TurnRecord) -> TurnPlayed:
    """The line of the log for this turn."""
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
        rejections=[_plain(rejection) for rejection in record.rejections],
        critic_score=record.critic_score,
        effective=effective(step),
        extraction=_plain(record.extraction) if record.extraction else None,
        notices=list(record.notices),
        carried_before=_things(step.before.inventory if step.before.carried is None else step.before.carried),
        visible_before=_things(step.before.visible),
        dark=step.before.dark,
        vehicle_id=step.before.vehicle.num if step.before.vehicle else None,
        changed=[[flip.item.num, flip.item.name, flip.attribute, flip.value] for flip in step.changed],
    )


def model_called(call: CallRecord, *, episode: int | str, turn: int) -> ModelCalled:
    """The line of the calls' log for this one."""
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
    """The call of which `model_called` made a line."""
    return CallRecord(
        role=call.role,
        model=call.model,
        messages=tuple(Message(**message) for message in call.messages),
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
    """The fields of a dataclass whose values are plain; `asdict`, which copies deeply, takes many times as long."""
    return {name: getattr(value, name) for name in _names(type(value))}


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
