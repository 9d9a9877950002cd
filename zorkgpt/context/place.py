"""The sections about where the player stands: what is certain, the ways on, what is remembered of here and ahead."""

from collections.abc import Sequence

from game_interface.models import Item
from session.sections import ContextSection
from zorkgpt.context.past import is_room_description
from zorkgpt.context.section import Section, first_sentences, fitting, left_out_note, list_section, text_section
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.player import Danger, Exit, KnownPoints, PlayerContext
from zorkgpt.prompts.render import fence, one_line

_NAME_TOKENS = 20
"""Of the name of a place; stories have shorter ones."""
_OPEN_END = "not tried yet"


def certain(context: PlayerContext, budgets: ContextSection) -> Section:
    """From the Z-machine's memory: place, score, what is carried and in sight."""
    heading, seen, left_out = "## Certain, from the game's own memory", context.observation, 0
    carried = seen.carried if seen.carried is not None else seen.inventory
    lists = {
        "Carried": (_names_of(carried), "nothing"),
        "Objects here": (_names_of(seen.visible), "none"),
        "Moved or changed by the last action": (changed_in_sight(context) or None, ""),
    }
    lines = _facts(context)
    # Each list gets an even share of what the few lines without a list leave.
    fixed = "\n".join((heading, "", *lines, *(f"- {what}: {nothing}" for what, (_, nothing) in lists.items()), ""))
    share = (budgets.certain_tokens - estimated_tokens(fixed)) // len(lists)
    for what, (names, nothing) in lists.items():
        if names is not None:
            text, missing = _names(names, share)
            lines.append(f"- {what}: {text or nothing}")
            left_out += missing
    values = {
        "turn": context.turn,
        "max_turns": context.max_turns,
        "episode": context.episode,
        "location": seen.location.name if seen.location else None,
        "location_id": seen.location.num if seen.location else None,
        "vehicle": seen.vehicle.name if seen.vehicle else None,
        "score": seen.score,
        "max_score": context.max_score,
        "inventory": _names_of(carried) or [],
        "objects": _names_of(seen.visible) or [],
        "changed": changed_in_sight(context),
    }
    return Section(heading, "\n".join(lines), values, left_out)


def _facts(context: PlayerContext) -> list[str]:
    seen = context.observation
    lines = [f"- Turn {context.turn}{f' of {context.max_turns}' if context.max_turns else ''}, {_episode(context)}"]
    if seen.location is not None:
        lines.append(f"- Place: {_name(seen.location.name)} (location {seen.location.num})")
    if seen.vehicle is not None:
        lines.append(f"- Inside: {_name(seen.vehicle.name)}")
    if seen.score is not None:
        lines.append(f"- Score: {seen.score}{f' of {context.max_score}' if context.max_score is not None else ''}")
    return lines


def changed_in_sight(context: PlayerContext) -> list[str]:
    # The object tree also tells what moved in other rooms, which a player can't know.
    seen = context.observation
    near = {item.num for item in (*(seen.visible or ()), *(seen.carried or seen.inventory or ()))}
    return list(dict.fromkeys(item.name for item in context.changed if item.num in near))


def exits(context: PlayerContext, budgets: ContextSection) -> Section:
    """Ways from here as the map knows them, and the route that the player is on."""
    route = context.route
    told: list[Exit | None] = [None] * bool(route) + list(context.exits)

    def line(known: Exit | None) -> str:
        if known is None:
            return f"- The way to {one_line(route.place)}: {', '.join(map(one_line, route.ways))}"
        return _exit(known)

    return list_section(
        "## Ways from here",
        told,
        line,
        budgets.exits_tokens,
        lambda kept: {
            "exits": [_exit_values(known) for known in kept if known is not None],
            "route": {"to": route.place, "to_id": route.location_id, "ways": list(route.ways)} if route else None,
        },
    )


def failed_here(context: PlayerContext, budgets: ContextSection) -> Section:
    """What changed nothing here in this episode as things stand, the latest first, and what was deadly in any."""
    heading, share = "## Tried here in vain", budgets.failed_here_tokens // 2 - 10
    deadly, missing = _names(context.deadly_here, share)
    failed, missing_too = _names(context.failed_here[::-1], share)
    lines = [f"- Deadly: {deadly}"] * bool(deadly) + [f"- Changed nothing: {failed}"] * bool(failed)
    values = {"failed_here": list(context.failed_here), "deadly_here": list(context.deadly_here)}
    return Section(heading, "\n".join(lines), values, missing + missing_too)


def memories(context: PlayerContext, budgets: ContextSection) -> Section:
    """What is remembered of this place. It keeps to a budget of its own, `max_tokens_per_location`."""
    lines = [been_here(context.visits)] if context.visits else []
    if context.memories:
        lines.append(fence(context.memories))
    values = {
        "memories": context.memories,
        "visits": {"times": context.visits[0], "episodes": context.visits[1]} if context.visits else None,
    }
    return Section("## Remembered of this place", "\n\n".join(lines), values)


def been_here(visits: tuple[int, int]) -> str:
    times, episodes = visits
    if times <= 1:
        return "This is your first visit here."
    return f"You've been here {times} times across {episodes} episode{'' if episodes == 1 else 's'}."


def dangers(context: PlayerContext, budgets: ContextSection) -> Section:
    """Hazards known one exit away and on the planned route, the nearest first."""
    return list_section(
        "## Dangers remembered ahead",
        context.dangers,
        _danger,
        budgets.dangers_tokens,
        lambda kept: {"dangers": [_danger_values(danger) for danger in kept]},
    )


def shown_dangers(context: PlayerContext, budgets: ContextSection) -> list[Danger]:
    """Those of them that fit the budget."""
    if not context.dangers:
        return []
    found = list_section("", context.dangers, _danger, budgets.dangers_tokens, lambda kept: {"kept": kept})
    return found.values["kept"]


def known_points(context: PlayerContext, budgets: ContextSection) -> Section:
    """What scored in earlier episodes and not yet in this one, and the way there, the nearest first."""
    return list_section(
        "## Known to score, and not done yet in this episode",
        context.known_points,
        _points,
        budgets.known_points_tokens,
        lambda kept: {"known_points": [_points_values(known) for known in kept]},
    )


def shown_points(context: PlayerContext, budgets: ContextSection) -> list[KnownPoints]:
    """Those of them that fit the budget."""
    if not context.known_points:
        return []
    told = known_points(context, budgets).values["known_points"]
    shown = {(one["location_id"], one["action"]) for one in told}
    return [known for known in context.known_points if (known.location_id, known.action) in shown]


def way_to_points(known: KnownPoints) -> str:
    """Where it is to be done, as seen from here."""
    if known.ways is None:
        return "no way there is known"
    return f"from here: {', '.join(map(one_line, known.ways))}" if known.ways else "here"


def room_description(context: PlayerContext, budgets: ContextSection) -> Section:
    """The last description of this room, and how many turns ago the game printed it."""
    age = context.room_description_age
    heading = f"## ROOM DESCRIPTION ({age} turns ago):" if age else "## ROOM DESCRIPTION:"
    values = {"room_description": None, "room_description_age": None}
    if context.room_description is None:
        return Section(heading, "", values)
    # One that is all of the last response stands for it, so it may be as long.
    tokens = budgets.response_tokens if is_room_description(context) else budgets.room_description_tokens
    return text_section(
        heading,
        context.room_description,
        tokens,
        lambda shown: {"room_description": shown, "room_description_age": age},
    )


def _episode(context: PlayerContext) -> str:
    return f"episode {context.episode}" if isinstance(context.episode, int) else f"episode {one_line(context.episode)}"


def _names_of(items: Sequence[Item] | None) -> list[str] | None:
    return None if items is None else [item.name for item in items]


def _name(name: str) -> str:
    return one_line(first_sentences(name, _NAME_TOKENS))


def _names(names: Sequence[str], tokens: int) -> tuple[str, int]:
    quoted = [one_line(name) for name in names]
    chosen = fitting([f"{name}, " for name in quoted], tokens)
    left_out = len(quoted) - len(chosen)
    shown = ", ".join(quoted[number] for number in chosen)
    return " ".join(filter(None, (shown, left_out_note(left_out) if left_out else ""))), left_out


def _exit(known: Exit) -> str:
    way, deadly = one_line(known.way), " You have died this way." if known.deadly else ""
    if known.shares:
        ends = " or ".join(f"{one_line(place)} ({share:.0%})" for place, share in known.shares)
        return f"- {way} leads to {ends}: chance decides.{deadly}"
    if known.leads_to is None:
        back = f"; the opposite way led here from {' and '.join(map(one_line, known.came_from))}"
        return f"- {way}: {_OPEN_END}{back if known.came_from else ''}.{deadly}"
    return f"- {way} leads to {one_line(known.leads_to)} (confidence {known.confidence:.2f}).{deadly}"


def _points(known: KnownPoints) -> str:
    place = f"{_name(known.place)} (location {known.location_id})"
    return f"- +{known.points} {one_line(known.action)} at {place}, {way_to_points(known)}"


def _points_values(known: KnownPoints) -> dict:
    return {
        "action": known.action,
        "points": known.points,
        "place": known.place,
        "location_id": known.location_id,
        "ways": None if known.ways is None else list(known.ways),
    }


def _exit_values(known: Exit) -> dict:
    return {
        "way": known.way,
        "to": known.leads_to,
        "to_id": known.location_id,
        "confidence": known.confidence,
        "shares": dict(known.shares),
        "deadly": known.deadly,
        "came_from": list(known.came_from),
    }


def _danger(danger: Danger) -> str:
    where = f"{one_line(danger.way)} leads to" if danger.steps == 1 else f"{danger.steps} ways on, at"
    route = ", on your route" if danger.on_route else ""
    return f"- {where} {one_line(danger.place)}{route}: {one_line(danger.text)}"


def _danger_values(danger: Danger) -> dict:
    return {
        "way": danger.way,
        "place": danger.place,
        "place_id": danger.location_id,
        "danger": danger.text,
        "steps": danger.steps,
        "on_route": danger.on_route,
    }
