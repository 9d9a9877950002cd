"""An objective as the line that a player or a model is told."""

from collections.abc import Mapping

from zorkgpt.objectives.models import Objective, Status


def line_of(one: Objective, rooms: Mapping[int, str]) -> str:
    """What is wanted, when it is done, where, and what is known of it."""
    parts = [one.text.rstrip(".")]
    if one.condition.text != one.text:
        parts.append(f"done when {one.condition.text}".rstrip("."))
    if places := [f"{rooms[place]} ({place})" for place in one.places if place in rooms]:
        parts.append(f"at {', '.join(places)}")
    if one.evidence:
        last = one.evidence[-1]
        how = f"by {last.words}" if last.judge == "game" else f"when the game said {last.words}"
        parts.append(f"reached in episode {last.moment.episode}, turn {last.moment.turn}, {how}")
    if one.status is Status.STALE:
        parts.append("nothing has come of it for a while")
    return "; ".join(parts)
