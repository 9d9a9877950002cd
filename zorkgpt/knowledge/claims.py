"""Lines in a fixed form: worded from the fields of a turn, and read back into fields that later turns can decide."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from zorkgpt.runlog.events import TurnPlayed

_ACTION_LIMIT = 80
_PLACE_LIMIT = 60
_REASON_LIMIT = 160
_LAST_WORDS_LIMIT = 260
"""What kills is often told some sentences before the end."""
_SLOT = "…"
_MOST_PREPARING = 3
LONGEST = 390
"""Characters of a line."""
# What the game prints below the last words about a death: "**** You have died ****", and how to go on.
_STARS = re.compile(r"^[ \t]*\*{3,}.*", re.MULTILINE | re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_BOOKKEEPING = frozenset({"visited", "moved", "workflag"})
"""Attributes that games keep for themselves."""


class Outcome(StrEnum):
    """What a line says of an action."""

    DEATH = "death"
    POINTS = "points"
    REFUSED = "refused"
    """It never reaches the game."""
    UNDERSTOOD = "understood"
    """Commands of this form have worked."""
    BEST = "best"
    """No episode has ended with more points."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a line says in fields."""

    outcome: Outcome
    action: str
    """In its normal form; of `Outcome.UNDERSTOOD` a form of commands, with "…" for things; of `Outcome.BEST` the
    points, as they are written."""
    place: int | None = None
    """None: wherever it is tried."""

    def is_about(self, turn: TurnPlayed) -> bool:
        """Whether the turn is a try of it."""
        if self.outcome is Outcome.BEST:
            return False
        if self.outcome is Outcome.UNDERSTOOD:
            return self.action == form_of_command(turn)
        return normal(turn.action) == self.action and self.place in (None, turn.location_id)

    def is_borne_out(self, turn: TurnPlayed) -> bool:
        """Whether a turn that it is about came out as it says."""
        if self.outcome is Outcome.DEATH:
            return turn.died
        if self.outcome is Outcome.POINTS:
            return gain(turn) > 0
        if self.outcome is Outcome.REFUSED:
            return turn.refused is not None
        return worked(turn)


_AT = r"“(?P<action>[^”]+)” at .*? \((?P<place>\d+)\)"
_FORMS = (
    (Outcome.DEATH, re.compile(rf"The player died on {_AT}")),
    (Outcome.POINTS, re.compile(rf"{_AT} scores\b")),
    (Outcome.REFUSED, re.compile(r"“(?P<action>[^”]+)” is not accepted\b")),
    (Outcome.UNDERSTOOD, re.compile(r"Commands of the form “(?P<action>[^”]+)” work\b")),
    (Outcome.BEST, re.compile(r"Episode .+? ended with (?P<action>\d+) points?\b")),
    # As earlier versions worded it.
    (Outcome.DEATH, re.compile(rf"{_AT} kills\b")),
)


@lru_cache(4096)
def claim_of(text: str) -> Claim | None:
    """What a line says in fields; None if it is not in one of the fixed forms."""
    for outcome, form in _FORMS:
        if found := form.match(text):
            place = found.groupdict().get("place")
            return Claim(outcome, normal(found["action"]), None if place is None else int(place))
    return None


def death_line(turn: TurnPlayed) -> str:
    """Of a turn on which the player died, with the last that the game said before it."""
    text = f"The player died on “{command(turn)}” at {place(turn)}: "
    return text + _last(turn, min(_LAST_WORDS_LIMIT, LONGEST - len(text)))


def points_line(turn: TurnPlayed, earlier: Sequence[TurnPlayed]) -> str:
    """Of a turn that scored, with what was done at that place before it."""
    text = f"“{command(turn)}” at {place(turn)} scores {_points(gain(turn))}"
    if turn.location_after_id != turn.location_id:
        text += f" and leads to {_place(turn.location_after, turn.location_after_id)}"
    before = list(dict.fromkeys(f"“{command(one)}”" for one in _preparing(turn, earlier)))[-_MOST_PREPARING:]
    while before:
        *rest, last = before
        done = f"{', '.join(rest)} and {last} were" if rest else f"{last} was"
        longer = f"{text}; before that, {done} done there."
        if len(longer) <= LONGEST:
            return longer
        before = before[1:]
    return f"{text}."


def refused_line(turn: TurnPlayed) -> str:
    """Of a command that never reached the game."""
    return f"“{command(turn)}” is not accepted: {cut(turn.response, _REASON_LIMIT) or '(no response)'}"


def form_line(form: str, example: TurnPlayed) -> str:
    """Of commands of one form that worked."""
    return f"Commands of the form “{form}” work, for example “{command(example)}”."


def best_line(episode: int | str, turns: Sequence[TurnPlayed], score: int) -> str:
    """Of an episode as a whole, with the order in which its points came."""
    text = f"Episode {episode} ended with {_points(score)} after {len(turns)} turns. Points came, in this order, by "
    steps = [f"“{command(turn)}” at {place(turn)}" for turn in turns if gain(turn) > 0]
    told = steps
    while told and len(f"{text}{', '.join(told)} and {len(steps)} more.") > LONGEST:
        told = told[:-1]
    more = f" and {len(steps) - len(told)} more" if len(told) < len(steps) else ""
    return f"{text}{', '.join(told)}{more}."


def form_of_command(turn: TurnPlayed) -> str | None:
    """The command with "…" for the names of what was at hand: "put … in …"; None if it names nothing of that."""
    verb, *words = normal(turn.action).split(" ")
    names = [frozenset(re.findall(r"[^\W_]+", str(name).lower())) for _, name, _ in _at_hand(turn)]
    made, at = [verb], 0
    while at < len(words):
        ends = (_end_of_name(words, at, name) for name in names)
        end = max(ends, default=at)
        made.append(words[at] if end == at else _SLOT)
        at = max(end, at + 1)
    return " ".join(made) if _SLOT in made else None


def _end_of_name(words: Sequence[str], start: int, name: frozenset[str]) -> int:
    end = start
    while end < len(words) and words[end] in name:
        end += 1
    return end


def worked(turn: TurnPlayed) -> bool:
    """The parser took the command, and it changed something."""
    return turn.refused is None and turn.fault is None and not turn.failed and turn.effective


def gain(turn: TurnPlayed) -> int:
    """The points of the turn; 0 also where the story does not tell."""
    return 0 if turn.score is None or turn.score_before is None else turn.score - turn.score_before


def changes_of(turn: TurnPlayed) -> list[tuple[int, str, bool]]:
    """The attributes that were set or cleared, without those that games keep for themselves."""
    return [(number, name, value) for number, _, name, value in turn.changed if name not in _BOOKKEEPING]


def normal(action: str) -> str:
    """The same action, written the same way."""
    return " ".join(action.lower().split())


def command(turn: TurnPlayed) -> str:
    """The action as it stands between quotes in a line."""
    return cut(normal(turn.action).replace("”", ""), _ACTION_LIMIT)


def place(turn: TurnPlayed) -> str:
    """Where the action was taken, with its number."""
    return _place(turn.location, turn.location_id)


def cut(text: str, limit: int) -> str:
    """One line of at most `limit` characters: its first sentences where they fit, else its first words."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    if whole := _fitting(_SENTENCE_END.split(line), limit):
        return " ".join(whole)
    head = line[: limit - 1]
    return head[: max(head.rfind(" "), limit // 2)] + "…"


def _last(turn: TurnPlayed, limit: int) -> str:
    """The last sentences of the response that fit, those before what is printed about every death."""
    sentences = _SENTENCE_END.split(" ".join(_STARS.sub("", turn.response).split()))
    last = " ".join(reversed(_fitting(reversed(sentences), limit)))
    return last or cut(sentences[-1], limit) or "(no response)"


def _fitting(sentences: Iterable[str], limit: int) -> list[str]:
    kept: list[str] = []
    for sentence in sentences:
        if len(" ".join((*kept, sentence))) > limit:
            break
        kept.append(sentence)
    return kept


def _points(count: int) -> str:
    return f"{count} point{'s' * (count != 1)}"


def _place(name: str, number: int | None) -> str:
    return f"{cut(name, _PLACE_LIMIT) or 'a place'} ({number or 0})"


def _preparing(turn: TurnPlayed, earlier: Sequence[TurnPlayed]) -> list[TurnPlayed]:
    """What opened, lit or otherwise changed a thing at this place, and neither took nor laid down anything."""
    turns = [*earlier, turn]
    return [
        one
        for one, following in pairwise(turns)
        if one.location_id == one.location_after_id == turn.location_id
        and " " in normal(one.action)
        and worked(one)
        and changes_of(one)
        and _numbers(one.carried_before) == _numbers(following.carried_before)
    ]


def _at_hand(turn: TurnPlayed) -> list[list]:
    return [*(turn.carried_before or ()), *(turn.visible_before or ())]


def _numbers(things: list[list] | None) -> set[int]:
    return {number for number, _, _ in things or ()}
