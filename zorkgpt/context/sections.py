"""The texts below the headings of a prompt: the history of the episode, then the present state, goals and knowledge.

Each function returns the text for a number of tokens. "" if there is nothing to show.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from game_interface.models import InputMode, Item
from zorkgpt.context.prompt_section import fenced, fitting, left_out_note, listed, newest, sentences, shortened
from zorkgpt.context.turns import opening_text, shown_from, turn_text
from zorkgpt.directions import exit_name
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.memory.synthesis import RecentTurn, visits_in_words
from zorkgpt.memory.things import TRIED
from zorkgpt.player import Danger, Exit, KnownPoints, NoRoute, PlayerContext, UntriedWays
from zorkgpt.prompts.render import fence, one_line
from zorkgpt.text import normalized_action
from zorkgpt.world.routes import RouteStep

_HEADING_TOKENS = 20
"""The tokens of a heading and a note about omitted items."""
_NAME_TOKENS = 20
"""Maximum tokens of the name of a place."""
_SUMMARY_TOKENS = 300
"""Maximum tokens of the summary of the oldest turns, within the history."""
RESPONSE_TOKENS = 2000
"""Maximum tokens of a response."""
_JUST_NOW = 4
"""The description of a room is not repeated for this many turns."""
_NOT_TRIED = "is not tried yet"
_MAX_CONDITIONS = 2
"""Maximum actions named as having opened an exit."""
_FAILED_TOKENS = 15
"""Maximum tokens of the game's response to a failed exit."""
_NO_WAYS = "None known. No text names one, and none was used."


@dataclass(frozen=True, slots=True)
class Budgets:
    """The tokens of a prompt's sections."""

    history: int = 16_000
    """Maximum tokens of the episode so far."""
    share: float = 1.0
    """The share of the usual tokens of every other section, and of each response."""

    def of(self, tokens: int) -> int:
        """Return the share of these tokens."""
        return int(tokens * self.share)


DEFAULT_BUDGETS = Budgets()


# The location


def certain(context: PlayerContext, tokens: int) -> str:
    """Return the facts from the Z-machine's memory: place, score, and the carried and visible things."""
    seen = context.observation
    carried = seen.carried if seen.carried is not None else seen.inventory
    lists = {
        "Carried": (_with_states(carried, context.things), "nothing"),
        "Objects here": (_with_states(seen.visible, context.things), "none"),
        "Also at hand": (_others(context) or None, ""),
    }
    lines = _facts(context)
    # The lists share the tokens that the other lines leave.
    fixed = "\n".join((*lines, *(f"- {name}: {empty}" for name, (_, empty) in lists.items()), ""))
    share = (tokens - estimated_tokens(fixed)) // len(lists)
    for name, (things, empty) in lists.items():
        if things is not None:
            lines.append(f"- {name}: {_listed(things, share) or empty}")
    return "\n".join(lines)


def _facts(context: PlayerContext) -> list[str]:
    seen = context.observation
    lines = [
        f"- Turn {context.turn}{f' of {context.max_turns}' if context.max_turns else ''}, episode {context.episode}"
    ]
    if seen.location is not None:
        lines.append(f"- Place: {_name(seen.location.name)} (location {seen.location.num})")
    if seen.vehicle is not None:
        lines.append(f"- Inside: {_name(seen.vehicle.name)}")
    if seen.score is not None:
        lines.append(f"- Score: {seen.score}{f' of {context.max_score}' if context.max_score is not None else ''}")
    return lines


def exits(context: PlayerContext, tokens: int) -> str:
    """Return the player's route, and the exits on the map or in the text.

    A route of a single listed exit is omitted.
    """
    route = context.route
    if route and len(route.steps) == 1 and any(way.way == route.steps[0].way for way in context.exits):
        route = None
    plain = [one_line(way.way) for way in context.exits if _is_plain(way)]
    lines = [
        *([f"- The way to {one_line(route.place)}: {_route(route.steps)}"] if route else []),
        *([_no_route(context.no_route)] if context.no_route else []),
        *(f"- {one_line(way.way)} {'; '.join(_remarks(way))}" for way in context.exits if not _is_plain(way)),
        *([f"- Not tried yet: {', '.join(plain)}"] if plain else []),
    ]
    return listed(lines, tokens) if lines or context.observation.location is None else _NO_WAYS


def untried_elsewhere(context: PlayerContext, tokens: int) -> str:
    """Return the untried exits and things of other places, the nearest first, with the way there."""
    return listed(list(map(_untried, context.untried_elsewhere)), tokens)


def failed_here(context: PlayerContext, tokens: int) -> str:
    """Return the actions without effect here in the present state, the latest first.

    Failed exits are omitted, because the exits are marked as failed themselves, and so are actions that the memories
    of this place list as tried.
    """
    failed_exits = {way.way for way in context.exits if way.failed is not None}
    remembered = "".join(line for line in context.memories.splitlines() if f"] {TRIED}: " in line)
    actions = [
        one_line(action)
        for action in reversed(context.failed_here)
        if exit_name(action) not in failed_exits and one_line(normalized_action(action)) not in remembered
    ]
    failed = _listed(actions, tokens - 1)
    return f"- {failed}" if failed else ""


def memories(context: PlayerContext, tokens: int) -> str:
    """Return the memories of this place, which have their own budget, `max_tokens_per_location`."""
    lines = [visits_in_words(*context.visits)] if context.visits else []
    if context.memories:
        lines.append(fence(context.memories))
    return "\n\n".join(lines)


def dangers(context: PlayerContext, tokens: int) -> str:
    """Return the actions that killed the player here, then the dangers one exit away and on the route."""
    deadly = [f"- {one_line(action)} has killed you here" for action in context.deadly_here]
    return listed([*deadly, *map(_danger, context.dangers)], tokens)


def known_points(context: PlayerContext, tokens: int) -> str:
    """Return the actions that scored in earlier episodes but not in this one, the nearest first.

    Actions of the best line are omitted.
    """
    line = context.best_line.steps if context.best_line else ()
    scored = {(normalized_action(step.action), step.points) for step in line}
    known = [each for each in context.known_points if (normalized_action(each.action), each.points) not in scored]
    return listed(list(map(_points, known)), tokens)


def best_line(context: PlayerContext, tokens: int) -> str:
    """Return the next steps of the best line, and the command that plays them."""
    line = context.best_line
    if line is None:
        return ""
    steps = [one_line(step.action) + (f" (+{step.points})" if step.points > 0 else "") for step in line.steps]
    note = (
        f"These commands lead from here to {line.score} points, the best score so far (episode {line.episode}). They "
        "worked when replayed in a new game.\n"
        "The command FOLLOW plays them, FOLLOW 5 the next five. It stops if anything differs."
    )
    room = tokens - estimated_tokens(f"{note}\n-  {left_out_note(len(steps))}")
    count = newest((f"{step}, " for step in steps), room)
    if not count:
        return ""
    left_out = f" {left_out_note(len(steps) - count)}" if count < len(steps) else ""
    return f"{note}\n- {', '.join(steps[:count])}{left_out}"


def way_to_points(known: KnownPoints) -> str:
    """Return the route to the points from here."""
    if known.steps is None:
        return "no known route"
    return f"from here: {_route(known.steps)}" if known.steps else "here"


def room_description(context: PlayerContext, tokens: int) -> str:
    """Return the last description of this room. Text before the room's name, such as an introduction, is omitted."""
    lines, name = (context.room_description or "").splitlines(), context.observation.location_name.strip()
    first = next((at for at in reversed(range(len(lines))) if name and lines[at].strip() == name), 0)
    return fenced("\n".join(lines[first:]), tokens)


# Goals and knowledge


def objectives(context: PlayerContext, tokens: int) -> str:
    """Return the numbered objectives."""
    return listed([f"{number}. {one_line(line)}" for number, line in enumerate(context.objectives, 1)], tokens)


def knowledge(context: PlayerContext, tokens: int) -> str:
    """Return the relevant lines of the knowledge base."""
    return listed([f"- {one_line(line)}" for line in context.knowledge], tokens)


def notices(context: PlayerContext, tokens: int) -> str:
    """Return the notices about the player's own play."""
    return listed([f"- {one_line(line)}" for line in context.notices], tokens)


# The history of the episode


def history(context: PlayerContext, budgets: Budgets) -> str:
    """Return the episode so far: the opening, a summary of the oldest turns, and the later turns in order.

    From turn to turn only the end of the text changes, unless old turns are dropped.
    """
    turns = turns_shown(context, budgets)
    left_out = turns[0].turn - 1 - context.summarized_to if turns else 0
    parts = _before_the_turns(context, budgets)
    if left_out > 0:
        parts.append(f"({left_out} earlier turn{'' if left_out == 1 else 's'} left out)")
    parts += [turn_text(turn, budgets.of(RESPONSE_TOKENS)) for turn in turns]
    return "\n\n".join(parts)


def turns_shown(context: PlayerContext, budgets: Budgets) -> tuple[RecentTurn, ...]:
    """Return the turns that fit into the history, oldest first. The last turn is always included."""
    before = sum(estimated_tokens(f"{part}\n\n") for part in _before_the_turns(context, budgets))
    room = budgets.history - before - _HEADING_TOKENS
    return context.recent[shown_from(context.recent, room, budgets.of(RESPONSE_TOKENS)) :]


def _before_the_turns(context: PlayerContext, budgets: Budgets) -> list[str]:
    parts = [opening_text(context.opening, budgets.of(RESPONSE_TOKENS))] * bool(context.opening.strip())
    if context.summary.strip():
        summary = fence(shortened(context.summary, budgets.of(_SUMMARY_TOKENS)))
        parts.append(f"Turns 1 to {context.summarized_to}, summarized:\n{summary}")
    return parts


def was_just_described(context: PlayerContext, budgets: Budgets) -> bool:
    """Return whether the last turns of the history show the description of this room, or there is none."""
    age = context.room_description_age
    if context.room_description in (None, context.response):
        return True
    shown = len(turns_shown(context, budgets))
    # If all turns are shown, the opening comes right before them.
    entries = shown + (bool(context.opening) and shown == context.turn - 1)
    return age is not None and age < min(_JUST_NOW, entries)


def response(context: PlayerContext, tokens: int) -> str:
    """Return the game's last response, unless the history ends with it."""
    if context.response == (context.recent[-1].response if context.recent else context.opening):
        return ""
    return fenced(context.response, tokens, end=0.5)


_READS = {
    InputMode.KEY: "The game reads a single key, not a command. Send a letter or digit of the menu, or a key by its "
    "name: enter, space, escape, up, down, left or right.",
    InputMode.PAUSE: "The game waits for any key, not a command. Send: enter.",
    InputMode.LINE: "The game reads an answer, not a command. Send only the answer: yes or no, the name of the thing "
    "that you mean, another name or a number.",
}


def question(context: PlayerContext, tokens: int) -> str:
    """Return the game's question, if it waits for an answer or a key press instead of a command."""
    if (asked := context.observation.question) is None:
        return ""
    back = f" Back to commands: {', then '.join(asked.way_back)}." if asked.way_back else ""
    return "\n".join(filter(None, (f"{_READS[asked.mode]}{back}", fenced(asked.text, tokens))))


def refused(context: PlayerContext, tokens: int) -> str:
    """Return the reason why the last proposal for this turn was rejected."""
    before = "Your last command for this turn was not played. The reason:"
    after = "Choose another command. If you are sure that the reason is wrong, repeat it, and it will be played."
    reason = fenced(context.refused or "", tokens - estimated_tokens(f"{before}\n\n{after}"))
    return f"{before}\n{reason}\n{after}" if reason else ""


# Lines


def _name(name: str) -> str:
    return one_line(sentences(name, _NAME_TOKENS))


def _with_states(items: Sequence[Item] | None, things: Sequence[ThingState]) -> list[str] | None:
    """Return the things with their states and, in parentheses, their contents."""
    if items is None:
        return None
    states, listed = {thing.number: thing for thing in things}, {item.num for item in items}
    inside: dict[int, list[Item]] = {}
    for item in items:
        inside.setdefault(item.parent if item.parent in listed - {item.num} else 0, []).append(item)

    def item_text(item: Item) -> str:
        thing = states.get(item.num)
        remarks = [*["worn"] * thing.worn, *thing.states] if thing else []
        if item.num and (within := inside.get(item.num)):
            first = states.get(within[0].num)
            where = "holds" if thing and thing.alive else "on it" if first and first.on_top else "in it"
            remarks.append(f"{where}: {', '.join(map(item_text, within))}")
        return one_line(item.name) + (f" ({'; '.join(remarks)})" if remarks else "")

    return [item_text(item) for item in inside.get(0, ())]


def _others(context: PlayerContext) -> list[str]:
    """Return the things nearby that are neither carried nor listed, such as doors, with their states."""
    seen = context.observation
    listed = {item.num for item in (*(seen.carried or seen.inventory or ()), *(seen.visible or ()))}
    others = [thing for thing in context.things if thing.number not in listed and thing.states]
    return [f"{one_line(thing.name)} ({'; '.join(thing.states)})" for thing in others]


def _listed(quoted: Sequence[str], tokens: int) -> str:
    chosen = fitting([f"{name}, " for name in quoted], tokens)
    left_out = len(quoted) - len(chosen)
    shown = ", ".join(quoted[number] for number in chosen)
    return " ".join(filter(None, (shown, left_out_note(left_out) if left_out else "")))


def _untried(place: UntriedWays) -> str:
    untried = ", ".join(map(one_line, (*place.untried, *place.things)))
    return f"- {untried} at {one_line(place.place)}: go {_route(place.steps)}"


def _route(steps: Sequence[RouteStep]) -> str:
    if len(steps) > 1 and all(step.unproven for step in steps):
        return f"{', '.join(map(_command, steps))} (none walked yet)"
    return ", ".join(f"{_command(step)}{' (not walked yet)' if step.unproven else ''}" for step in steps)


def _command(step: RouteStep) -> str:
    first = f"(open {one_line(step.closed_door)} first) " if step.closed_door else ""
    return f"{first}{one_line(step.way)}"


def _no_route(wanted: NoRoute) -> str:
    place = one_line(sentences(wanted.place, _NAME_TOKENS))
    if not wanted.on_map:
        return f"- No way to {place} is known: you have not seen a place with this name."
    return f"- No way to {place} is known: nothing that you have walked leads there from here."


def _is_plain(known: Exit) -> bool:
    """Return whether nothing is known about an exit except that it was not tried."""
    return known.leads_to is None and list(_remarks(known)) == [_NOT_TRIED]


def _remarks(known: Exit) -> Iterator[str]:
    if known.shares:
        ends = " or ".join(f"{one_line(place)} ({share:.0%})" for place, share in known.shares)
        yield f"leads to {ends}: chance decides"
    elif known.unproven and known.leads_to is not None:
        yield f"is the way back to {one_line(known.leads_to)}, not walked yet"
    elif known.leads_to is not None:
        after = f", after {' and '.join(map(one_line, known.opened_by[-_MAX_CONDITIONS:]))}" if known.opened_by else ""
        yield f"{'leads' if known.failed is None else 'has led'} to {one_line(known.leads_to)}{after}"
        if known.failures and not after and known.failed is None:
            yield f"worked {known.tries - known.failures} of {known.tries} times"
    elif known.carried_to:
        yield f"is unreliable: it once took you to {' or '.join(map(one_line, known.carried_to))}"
    elif known.failed is None:
        yield _NOT_TRIED
    if known.failed is not None:
        response = f": {one_line(sentences(known.failed, _FAILED_TOKENS))}" if known.failed else ""
        yield f"led nowhere when last tried{response}"
    if known.closed_door:
        yield f"{one_line(known.closed_door)} is closed"
    if known.deadly:
        yield "you have died this way"


def _points(known: KnownPoints) -> str:
    place = f"{_name(known.place)} (location {known.location_id})"
    return f"- +{known.points} {one_line(known.action)} at {place}, {way_to_points(known)}"


def _danger(danger: Danger) -> str:
    where = f"{one_line(danger.way)} leads to" if danger.steps == 1 else f"{danger.steps} moves away, at"
    route = ", on your route" if danger.on_route else ""
    return f"- {where} {one_line(danger.place)}{route}: {one_line(danger.text)}"
