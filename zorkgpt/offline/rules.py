"""What a turn teaches, by rules: ground truth and the parser's refusals to memories, without a language model."""

import re

from session.outcome import is_passive
from zorkgpt.memory.learning.synthesis import SynthesisRequest
from zorkgpt.memory.models import Category, MemorySynthesisResponse, Persistence
from zorkgpt.offline.phrases import Outcome, is_dark, normal, read_title, shortened, title_of
from zorkgpt.world.directions import canonical_direction

_TEXT_LIMIT = 200
_TELLING_LENGTH = 80
"""A response that changes nothing is worth keeping from this many characters on."""
_HELPFUL = frozenset({Outcome.SCORES, Outcome.TAKES, Outcome.WORKS, Outcome.LEADS})


NOTHING = MemorySynthesisResponse(should_remember=False, reasoning="rule: nothing new")


class RuleSynthesizer:
    """A `MemorySynthesizer` that asks nobody."""

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse:
        return _of_arrival(request) if request.arrival else self._of_action(request)

    def _of_action(self, request: SynthesisRequest) -> MemorySynthesisResponse:
        truth = request.context
        if truth.died:
            unlit = is_dark(request.response) or any(is_dark(turn.response) for turn in request.history)
            return _memory(request, "DANGER", Outcome.KILLS_UNLIT if unlit else Outcome.KILLS, "permanent")
        if truth.score_delta > 0:
            return _memory(request, "SUCCESS", Outcome.SCORES, "permanent", f"+{truth.score_delta} points. ")
        if truth.location_changed:
            return _memory(request, "SUCCESS", Outcome.LEADS, "permanent")
        if set(truth.inventory_after) - set(truth.inventory_before):
            # Where a thing lies that the player has moved before is not how the world began.
            again = any(move.number in request.handled for move in truth.moved)
            return _memory(request, "SUCCESS", Outcome.TAKES, "ephemeral" if again else "permanent")
        if truth.inventory_changed:
            return _memory(request, "NOTE", Outcome.WORKS, "ephemeral")
        if _touched(request):
            return _memory(request, "SUCCESS", Outcome.WORKS, "permanent")
        if truth.nothing_changed or (truth.moved and not is_passive(request.action)):
            return _refusal(request)
        if len(request.response) >= _TELLING_LENGTH:
            return _memory(request, "DISCOVERY", Outcome.TELLS, "permanent")
        return NOTHING


def _of_arrival(request: SynthesisRequest) -> MemorySynthesisResponse:
    seen = _below_the_heading(request.response.strip(), request.location_name)
    return MemorySynthesisResponse(
        should_remember=True,
        category="DISCOVERY",
        memory_title="At first sight",
        memory_text=shortened(_lasting(seen, request), _TEXT_LIMIT) or request.location_name,
        persistence="core",
        reasoning="rule: the first look at a place",
    )


def _touched(request: SynthesisRequest) -> bool:
    """The action changed something that it names, or that the game names in answer.

    What wanders about by itself meanwhile is not its doing.
    """
    named, answered = _words(request.action), _words(request.response)
    context = request.context
    if any(named & _words(item.name) for item in (*context.moved, *context.changed)):
        return True
    return any(_words(change.name) <= answered for change in context.changed)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def _below_the_heading(text: str, name: str) -> str:
    """What follows the line that is the place's name; all of it where there is no such line."""
    lines = text.splitlines()
    at = next((number for number, line in enumerate(lines) if line.strip() == name), -1)
    return "\n".join(lines[at + 1 :])


def _lasting(description: str, request: SynthesisRequest) -> str:
    """The description without the sentences about what has moved just now: that is not how the place begins."""
    moved = {word for move in request.context.moved for word in move.name.lower().split()[-1:]}
    sentences = re.split(r"(?<=[.!?])\s+", description)
    return " ".join(one for one in sentences if not moved & set(re.findall(r"[^\W_]+", one.lower())))


def _refusal(request: SynthesisRequest) -> MemorySynthesisResponse:
    """What failed is worth knowing, unless it is known to work at times."""
    if any((known := read_title(memory)) and known[0] == normal(request.action) for memory in request.memories):
        return NOTHING
    return _memory(request, "FAILURE", Outcome.FAILS, "permanent")


def _memory(
    request: SynthesisRequest, category: Category, outcome: Outcome, persistence: Persistence, prefix: str = ""
) -> MemorySynthesisResponse:
    title = title_of(request.action, outcome)
    standing = {memory.title: memory for memory in request.memories}
    text = standing[title].text if title in standing else prefix + shortened(_said(request), _TEXT_LIMIT)
    overcome = title_of(request.action, Outcome.FAILS)
    return MemorySynthesisResponse(
        should_remember=True,
        category=category,
        memory_title=title,
        memory_text=text,
        persistence=persistence,
        supersedes_memory_titles={overcome} if outcome in _HELPFUL and overcome in standing else set(),
        reasoning=f"rule: the action {outcome}",
    )


def _said(request: SynthesisRequest) -> str:
    """What is worth keeping of the response: of a walk only where it led, for the rest is kept over there."""
    if request.context.location_changed and canonical_direction(request.action):
        return f"Leads to {request.context.destination_name or 'another place'}."
    return request.response.strip() or "(no response)"
