"""Lines in a fixed form: write them from a turn, parse them into claims, and check the claims against later turns."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from session.experience import row_of
from session.history import TurnRecord
from session.outcome import effective
from zorkgpt.directions import exit_name
from zorkgpt.knowledge.line import KnowledgeSection
from zorkgpt.memory.models import Memory
from zorkgpt.record.experience import Experience
from zorkgpt.text import normalized_action, number_of, sentences_of

_ACTION_LIMIT = 80
_PLACE_LIMIT = 60
_REASON_LIMIT = 160
_SLOT = "…"
MAX_CHARS = 390
"""Maximum characters of a line."""


class ClaimKind(StrEnum):
    """What a line claims about an action."""

    REFUSED = "refused"
    """The command is rejected before it reaches the game."""
    UNDERSTOOD = "understood"
    """Commands of this form have worked."""
    BEST = "best"
    """No episode has ended with more points."""


@dataclass(frozen=True, slots=True)
class KnowledgeClaim:
    """The claim of a line, which later turns can test."""

    kind: ClaimKind
    action: str
    """The normalized action; for `UNDERSTOOD` a command with "…" for each object; for `BEST` the points as text."""

    def is_about(self, turn: TurnRecord) -> bool:
        """Return whether the turn tests the claim."""
        if self.kind is ClaimKind.BEST:
            return False
        if self.kind is ClaimKind.UNDERSTOOD:
            return self.action == form_of_command(turn)
        return normalized_action(turn.action) == self.action

    def is_confirmed_by(self, turn: TurnRecord) -> bool:
        """Return whether the turn tests and supports the claim."""
        if not self.is_about(turn):
            return False
        return effective(turn.transition) if self.kind is ClaimKind.UNDERSTOOD else turn.transition.refused is not None

    def is_contradicted_by(self, turn: TurnRecord) -> bool:
        """Return whether the turn contradicts the claim: the game accepted a command that it was said to reject.

        A form of commands is never contradicted, since one success proves that the parser understands it.
        """
        step = turn.transition
        return self.kind is ClaimKind.REFUSED and self.is_about(turn) and step.refused is None and step.fault is None


_BEST = re.compile(r"Episode .+? scored (?P<action>\d+) points? in (?P<turns>\d+) turns\b")
_FORMS = (
    (ClaimKind.REFUSED, re.compile(r"“(?P<action>[^”]+)” is not accepted\b")),
    (ClaimKind.UNDERSTOOD, re.compile(r"The parser understands “(?P<action>[^”]+)”")),
    (ClaimKind.BEST, _BEST),
)


@lru_cache(4096)
def parse_claim(text: str) -> KnowledgeClaim | None:
    """Return the claim of a line; None if it is not in a fixed form."""
    for kind, form in _FORMS:
        if match := form.match(text):
            return KnowledgeClaim(kind, normalized_action(match["action"]))
    return None


def refused_line(turn: TurnRecord) -> str:
    """Return the line about a command that was rejected before it reached the game."""
    return f"“{quoted_command(turn)}” is not accepted: {shortened(turn.response, _REASON_LIMIT) or '(no response)'}"


def form_line(form: str, example: TurnRecord) -> str:
    """Return the line about commands of one form that worked."""
    return f"The parser understands “{form}”, for example “{quoted_command(example)}”."


def best_result(text: str) -> tuple[int, int] | None:
    """Return how good the episode of a `best_line` was, as points and negative turns; None for another line."""
    match = _BEST.match(text)
    return (int(match["action"]), -int(match["turns"])) if match else None


def best_line(episode: int | str, turns: Sequence[TurnRecord], score: int) -> str:
    """Return the line about a whole episode, with its scoring actions in order."""
    text = f"Episode {episode} scored {number_of(score, 'point', 'points')} in {len(turns)} turns, in this order: "
    steps = [f"“{quoted_command(turn)}” at {_numbered_place(turn)}" for turn in turns if turn.transition.points > 0]
    shown = steps
    while shown and len(f"{text}{', '.join(shown)} and {len(steps)} more.") > MAX_CHARS:
        shown = shown[:-1]
    more = f" and {len(steps) - len(shown)} more" if len(shown) < len(steps) else ""
    return f"{text}{', '.join(shown)}{more}."


def form_of_command(turn: TurnRecord) -> str | None:
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


def quoted_command(turn: TurnRecord) -> str:
    """Return the action in the spelling that lines quote."""
    return shortened(normalized_action(turn.action).replace("”", ""), _ACTION_LIMIT)


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters on one line: the first sentences if any fit, else the first words."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    sentences: list[str] = []
    for sentence in sentences_of(line):
        if len(" ".join((*sentences, sentence))) > limit:
            break
        sentences.append(sentence)
    if sentences:
        return " ".join(sentences)
    head = line[: limit - 1]
    return head[: max(head.rfind(" "), limit // 2)] + "…"


def _numbered_place(turn: TurnRecord) -> str:
    """Return the name and number of the place where the action was taken."""
    name = shortened(turn.before.location_name, _PLACE_LIMIT) or "a place"
    return f"{name} ({turn.before.location_id or 0})"


TurnsOf = Callable[[int | str], Sequence[TurnRecord]]
"""Returns the turns of an episode, oldest first; an empty sequence if they are not available."""

_DEATH_SECTIONS = (KnowledgeSection.DANGERS, KnowledgeSection.DEATHS, KnowledgeSection.DEATH_PATTERNS)


def _origin_of(line: Memory, turns_of: TurnsOf) -> TurnRecord | None:
    """Return the turn that the line was learned from; None if it is unavailable or there were several."""
    if line.first_turn != line.last_turn:
        return None
    return next((turn for turn in turns_of(line.episode) if turn.turn == line.first_turn), None)


def may_contradict(line: Memory, turn: TurnRecord, experience: Experience, turns_of: TurnsOf) -> bool:
    """Return whether ground truth allows that the turn contradicts the line.

    The line's claim decides, or else the turn that the line was learned from.

    Args:
        experience: What the actions of the episode led to, up to this turn.
    """
    if claim := parse_claim(line.text):
        return claim.is_contradicted_by(turn)
    origin, now = _origin_of(line, turns_of), row_of(turn)
    if origin is None or (origin.before.location_id, exit_name(origin.action)) != (now.place, now.action):
        return True
    if line.category in _DEATH_SECTIONS and origin.transition.died:
        return not turn.transition.died
    if line.category == KnowledgeSection.PUZZLES and origin.transition.points > 0:
        return all(row.points <= 0 for row in experience.tries(now.place)[now.action])
    return True
