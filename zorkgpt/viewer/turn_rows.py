"""A turn as the page shows it: the fields of its line in the log, each of its kind and of bounded length."""

from typing import Any

from zorkgpt.viewer.values import SHOWN_CHARACTERS, cut, number, objects, plain, text, texts, whole_number

_LONG = ("opening", "action", "reasoning", "response", "memory_shown", "refused", "fault")
_PLAIN = ("died", "finished", "victory", "failed")
_NUMBERS = ("turn", "location_id", "location_after_id", "score_before", "score", "moves")


def turn_row(record: dict[str, Any], calls: list[dict[str, Any]], *, limit: int = SHOWN_CHARACTERS) -> dict[str, Any]:
    """The turn, with its model calls; `cut` names the texts that are longer than `limit`."""
    row: dict[str, Any] = {name: whole_number(record.get(name)) for name in _NUMBERS}
    row |= {name: bool(record.get(name)) for name in _PLAIN}
    row |= {name: cut(record[name], limit) for name in _LONG if record.get(name)}
    row |= {name: cut(record.get(name), 200) for name in ("player", "location", "location_after")}
    row["seconds"] = number(record.get("duration_s"))
    row["inventory"] = texts(record.get("inventory"), 200)
    row["memory_events"] = [_event(one) for one in objects(record.get("memory_events"), 50)]
    row["rejections"] = [_rejection(one, limit) for one in objects(record.get("rejections"), 50)]
    row["critic_score"] = number(record.get("critic_score"))
    row["extraction"] = _extraction(record.get("extraction"))
    row["calls"] = calls
    row["cut"] = [name for name in _LONG if len(text(record.get(name))) > limit]
    return row


def _event(event: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"location_id": whole_number(event.get("location_id"))}
    return row | {name: cut(event.get(name), 2000) for name in event if name != "location_id"}


def _extraction(given: Any) -> dict[str, Any] | None:
    """What was read in the response; None: nobody read it."""
    if not isinstance(given, dict):
        return None
    return plain(given, 200, depth=2)


def _rejection(one: dict[str, Any], limit: int) -> dict[str, Any]:
    row: dict[str, Any] = {name: cut(one.get(name), limit) for name in ("action", "reason", "judge")}
    return row | {"score": number(one.get("score")), "obeyed": one.get("obeyed", True) is not False}
