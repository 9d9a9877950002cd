"""Find lessons in turns and episodes by rules over ground truth, without a language model."""

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import shorten

from session.history import TurnRecord
from session.outcome import effective
from zorkgpt.knowledge.lines import KnowledgeSection, Lessons, line_of
from zorkgpt.knowledge.synthesis import Review
from zorkgpt.memory.models import Memory
from zorkgpt.text import normalized_action, number_of

_ACTION_LIMIT = 80
_PLACE_LIMIT = 60
_REASON_LIMIT = 160
_MAX_CHARS = 390
"""Maximum characters of a line."""
_MAX_SYNTAX = 12
"""Maximum lines about commands, over all episodes."""
_MIN_EXAMPLES = 2
"""The number of different commands of a form that must have worked."""
_SLOT = "…"
_BEST = "best"
"""The name of metadata with the points and turns of the episode that a line is about."""


class RuleKnowledgeSynthesizer:
    """A `KnowledgeSynthesizer` without a model. A line that it finds in another episode again is confirmed."""

    asks_a_model = False

    def lessons(self, review: Review) -> Lessons:
        found = _syntax_lines(review.turns)
        earlier = _syntax_lines([turn for turn in review.turns if turn.turn <= review.learned_until])
        known = {line.text for line in review.known}
        room = _MAX_SYNTAX - sum(line.category == KnowledgeSection.SYNTAX for line in review.known)
        new = [line for text, line in found.items() if text not in earlier and text not in known]
        again = [line for text, line in found.items() if text not in earlier and text in known]
        best = _best(review) if review.reason is not None else []
        return Lessons((*best, *((line, None) for line in (*again, *new[: max(0, room)]))))


def _syntax_lines(turns: Sequence[TurnRecord]) -> dict[str, Memory]:
    """Return the lines about commands by their texts: rejected ones, then forms that worked."""
    lines = (*_refusals(turns), *_forms(turns))
    return {line.text: line for line in lines}


def _refusals(turns: Iterable[TurnRecord]) -> Iterator[Memory]:
    """Yield a line for each command that was rejected before it reached the game."""
    for turn in turns:
        step = turn.transition
        if step.refused is not None and normalized_action(step.action) and not step.finished:
            reason = shorten(turn.response, _REASON_LIMIT, placeholder="…") or "(no response)"
            yield _line(f"“{_quoted_command(turn)}” is not accepted: {reason}", [turn])


def _forms(turns: Iterable[TurnRecord]) -> Iterator[Memory]:
    """Yield a line for each form of commands that worked, those with the most things and examples first."""
    by_form: dict[str, dict[str, TurnRecord]] = {}
    for turn in turns:
        form = _form_of_command(turn) if effective(turn.transition) else None
        if form is not None:
            by_form.setdefault(form, {}).setdefault(_quoted_command(turn), turn)
    ranked = sorted(by_form.items(), key=lambda entry: (-entry[0].count(_SLOT), -len(entry[1])))
    for form, examples in ranked:
        if len(examples) >= _MIN_EXAMPLES:
            yield _line(f"The parser understands “{form}”.", list(examples.values()))


def _line(text: str, turns: Sequence[TurnRecord]) -> Memory:
    return line_of(KnowledgeSection.SYNTAX, text, turns[0].episode, turns[0].turn, turns[-1].turn)


def _best(review: Review) -> list[tuple[Memory, Memory | None]]:
    """Return a line about an episode with more points than all before, or as many in fewer turns.

    It replaces the line about the best episode so far.
    """
    score, turns = review.score or 0, review.turns
    scored = [turn for turn in turns if turn.transition.points > 0]
    last = next((line for line in review.known if _BEST in line.metadata), None)
    best = last.metadata[_BEST] if last else [0, 0]
    if not scored or [score, -len(turns)] <= best:
        return []
    text = (
        f"Episode {review.episode} scored {number_of(score, 'point', 'points')} in {len(turns)} turns, in this order: "
    )
    steps = [f"“{_quoted_command(turn)}” at {_numbered_place(turn)}" for turn in scored]
    shown = steps
    while shown and len(f"{text}{', '.join(shown)} and {len(steps)} more.") > _MAX_CHARS:
        shown = shown[:-1]
    more = f" and {len(steps) - len(shown)} more" if len(shown) < len(steps) else ""
    text = f"{text}{', '.join(shown)}{more}."
    new = line_of(
        KnowledgeSection.INSIGHTS,
        text,
        review.episode,
        scored[0].turn,
        scored[-1].turn,
        metadata={_BEST: [score, -len(turns)]},
    )
    return [(new, last)]


def _form_of_command(turn: TurnRecord) -> str | None:
    """Return the command with "…" for the names of visible and carried things; None if it names none."""
    verb, *words = normalized_action(turn.action).split(" ")
    names = [frozenset(re.findall(r"[^\W_]+", item.name.lower())) for item in turn.before.at_hand]
    form, at = [verb], 0
    while at < len(words):
        end = max((_end_of_name(words, at, name) for name in names), default=at)
        form.append(words[at] if end == at else _SLOT)
        at = max(end, at + 1)
    return " ".join(form) if _SLOT in form else None


def _end_of_name(words: Sequence[str], start: int, name: frozenset[str]) -> int:
    end = start
    while end < len(words) and words[end] in name:
        end += 1
    return end


def _quoted_command(turn: TurnRecord) -> str:
    """Return the action in the spelling that lines quote."""
    return shorten(normalized_action(turn.action).replace("”", ""), _ACTION_LIMIT, placeholder="…")


def _numbered_place(turn: TurnRecord) -> str:
    """Return the name and number of the place where the action was taken."""
    name = shorten(turn.before.location_name, _PLACE_LIMIT, placeholder="…") or "a place"
    return f"{name} ({turn.before.location_id or 0})"
