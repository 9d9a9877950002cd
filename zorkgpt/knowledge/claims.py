"""Lines in a fixed form: worded from the fields of a turn, read back into fields, and checked against later turns."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from game_interface.models import Item, Observation
from session.history import TurnRecord
from session.outcome import effective, failed
from zorkgpt.knowledge.line import KnowledgeLine, KnowledgeSection
from zorkgpt.text import before_stars, normalized_action, number_of, sentences_of

_ACTION_LIMIT = 80
_PLACE_LIMIT = 60
_REASON_LIMIT = 160
_LAST_WORDS_LIMIT = 260
"""The cause of a death is often told some sentences before the end."""
_SLOT = "…"
_MAX_PREPARING = 3
MAX_CHARS = 390
"""The most characters of a line."""


class ClaimKind(StrEnum):
    """What a line claims of an action."""

    DEATH = "death"
    POINTS = "points"
    REFUSED = "refused"
    """The action never reaches the game."""
    UNDERSTOOD = "understood"
    """Commands of this form have worked."""
    BEST = "best"
    """No episode has ended with more points."""


@dataclass(frozen=True, slots=True)
class KnowledgeClaim:
    """The claim of a line, as fields that later turns can decide."""

    kind: ClaimKind
    action: str
    """The normalized action; for `UNDERSTOOD` a form of commands with "…" for things; for `BEST` the points as text."""
    place: int | None = None
    """None for anywhere."""

    def is_about(self, turn: TurnRecord) -> bool:
        """Return whether the turn tests the claim."""
        if self.kind is ClaimKind.BEST:
            return False
        if self.kind is ClaimKind.UNDERSTOOD:
            return self.action == form_of_command(turn)
        return normalized_action(turn.action) == self.action and self.place in (None, turn.before.location_id)

    def is_borne_out(self, turn: TurnRecord) -> bool:
        """Return whether a turn that tests the claim supports it."""
        if self.kind is ClaimKind.DEATH:
            return turn.transition.died
        if self.kind is ClaimKind.POINTS:
            return turn.transition.points > 0
        if self.kind is ClaimKind.REFUSED:
            return turn.transition.refused is not None
        return effective(turn.transition)


_AT = r"“(?P<action>[^”]+)” at .*? \((?P<place>\d+)\)"
_FORMS = (
    (ClaimKind.DEATH, re.compile(rf"{_AT} is deadly\b")),
    (ClaimKind.POINTS, re.compile(rf"{_AT} scores\b")),
    (ClaimKind.REFUSED, re.compile(r"“(?P<action>[^”]+)” is not accepted\b")),
    (ClaimKind.UNDERSTOOD, re.compile(r"The parser understands “(?P<action>[^”]+)”")),
    (ClaimKind.BEST, re.compile(r"Episode .+? scored (?P<action>\d+) points?\b")),
)


@lru_cache(4096)
def parse_claim(text: str) -> KnowledgeClaim | None:
    """Return the claim of a line; None if it is in none of the fixed forms."""
    for kind, form in _FORMS:
        if found := form.match(text):
            place = found.groupdict().get("place")
            return KnowledgeClaim(kind, normalized_action(found["action"]), None if place is None else int(place))
    return None


def death_line(turn: TurnRecord) -> str:
    """Return the line about a turn on which the player died, with the game's last words before it."""
    text = f"“{quoted_command(turn)}” at {numbered_place(turn)} is deadly: "
    return text + _last_sentences(turn, min(_LAST_WORDS_LIMIT, MAX_CHARS - len(text)))


def points_line(turn: TurnRecord, earlier: Sequence[TurnRecord]) -> str:
    """Return the line about a turn that scored, with what was done at that place before it."""
    points = number_of(turn.transition.points, "point", "points")
    text = f"“{quoted_command(turn)}” at {numbered_place(turn)} scores {points}"
    if turn.after.location != turn.before.location:
        text += f" and leads to {_numbered(turn.after)}"
    before = list(dict.fromkeys(f"“{quoted_command(one)}”" for one in _preparations(turn, earlier)))[-_MAX_PREPARING:]
    while before:
        *rest, last = before
        done = f"{', '.join(rest)} and {last}" if rest else last
        longer = f"{text}, after {done}."
        if len(longer) <= MAX_CHARS:
            return longer
        before = before[1:]
    return f"{text}."


def refused_line(turn: TurnRecord) -> str:
    """Return the line about a command that never reached the game."""
    return f"“{quoted_command(turn)}” is not accepted: {shortened(turn.response, _REASON_LIMIT) or '(no response)'}"


def form_line(form: str, example: TurnRecord) -> str:
    """Return the line about commands of one form that worked."""
    return f"The parser understands “{form}”, for example “{quoted_command(example)}”."


def best_line(episode: int | str, turns: Sequence[TurnRecord], score: int) -> str:
    """Return the line about an episode as a whole, with the order in which it scored."""
    text = f"Episode {episode} scored {number_of(score, 'point', 'points')} in {len(turns)} turns, in this order: "
    steps = [f"“{quoted_command(turn)}” at {numbered_place(turn)}" for turn in turns if turn.transition.points > 0]
    told = steps
    while told and len(f"{text}{', '.join(told)} and {len(steps)} more.") > MAX_CHARS:
        told = told[:-1]
    more = f" and {len(steps) - len(told)} more" if len(told) < len(steps) else ""
    return f"{text}{', '.join(told)}{more}."


def form_of_command(turn: TurnRecord) -> str | None:
    """Return the command with "…" for the names of things at hand: "put … in …"; None if it names none."""
    verb, *words = normalized_action(turn.action).split(" ")
    names = [frozenset(re.findall(r"[^\W_]+", item.name.lower())) for item in turn.before.at_hand]
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


def quoted_command(turn: TurnRecord) -> str:
    """Return the action as it is quoted in a line."""
    return shortened(normalized_action(turn.action).replace("”", ""), _ACTION_LIMIT)


def numbered_place(turn: TurnRecord) -> str:
    """Return the name of the place where the action was taken, with its number."""
    return _numbered(turn.before)


def shortened(text: str, limit: int) -> str:
    """Return one line of at most `limit` characters: the first sentences if any fit, else the first words."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    if whole := _fitting(sentences_of(line), limit):
        return " ".join(whole)
    head = line[: limit - 1]
    return head[: max(head.rfind(" "), limit // 2)] + "…"


def _last_sentences(turn: TurnRecord, limit: int) -> str:
    """Return the last sentences that fit, without what is printed about every death."""
    sentences = sentences_of(" ".join(before_stars(turn.response).split()))
    last = " ".join(reversed(_fitting(reversed(sentences), limit)))
    return last or shortened(sentences[-1], limit) or "(no response)"


def _fitting(sentences: Iterable[str], limit: int) -> list[str]:
    kept: list[str] = []
    for sentence in sentences:
        if len(" ".join((*kept, sentence))) > limit:
            break
        kept.append(sentence)
    return kept


def _numbered(seen: Observation) -> str:
    return f"{shortened(seen.location_name, _PLACE_LIMIT) or 'a place'} ({seen.location_id or 0})"


def _preparations(turn: TurnRecord, earlier: Sequence[TurnRecord]) -> list[TurnRecord]:
    """Return the earlier turns that changed a thing at this place without taking or dropping anything."""
    turns = [*earlier, turn]
    return [
        one
        for one, following in pairwise(turns)
        if one.before.location_id == one.after.location_id == turn.before.location_id
        and " " in normalized_action(one.action)
        and one.transition.changed
        and effective(one.transition)
        and _numbers(one.before.carried) == _numbers(following.before.carried)
    ]


def _numbers(things: Iterable[Item] | None) -> set[int]:
    return {item.num for item in things or ()}


TurnsOf = Callable[[int | str], Sequence[TurnRecord]]
"""Returns the turns of an episode, oldest first; none if they are not available."""

_DEATH_SECTIONS = (KnowledgeSection.DANGERS, KnowledgeSection.DEATHS, KnowledgeSection.DEATH_PATTERNS)
_GLOBAL_ATTRIBUTES = frozenset({"open", "locked", "on", "light", "burning"})
"""Attributes that are compared for things out of sight too: a door is often in no room."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A turn, with the turns before it in its episode."""

    turn: TurnRecord
    earlier: Sequence[TurnRecord]

    def has_come_out_before(self, claim: KnowledgeClaim) -> bool:
        """Return whether an earlier turn of the episode supported the claim."""
        return any(claim.is_about(one) and claim.is_borne_out(one) for one in self.earlier)

    @property
    def same_before(self) -> list[TurnRecord]:
        """The earlier turns of the episode with the same action at the same place."""
        return [one for one in self.earlier if _is_same_action(one, self.turn)]


def origin_of(line: KnowledgeLine, turns_of: TurnsOf) -> Attempt | None:
    """Return the attempt that the line was learned from; None if there were several, or it is not available."""
    if line.first_turn != line.last_turn:
        return None
    turns = [turn for turn in turns_of(line.episode) if turn.turn <= line.first_turn]
    return Attempt(turns[-1], turns[:-1]) if turns and turns[-1].turn == line.first_turn else None


def contradicts(claim: KnowledgeClaim, new: Attempt, origin: Attempt | None) -> bool | None:
    """Return whether an attempt contradicts a claim: the same action at the same place in the same state.

    Args:
        origin: The attempt that the claim was learned from; None if unavailable.

    Returns:
        None if it would contradict the claim, but the state of one of the attempts is unknown.
    """
    turn = new.turn
    if turn.transition.fault is not None or not claim.is_about(turn) or claim.is_borne_out(turn):
        return False
    if claim.kind is ClaimKind.REFUSED:
        return True
    # Points are given once in an episode, and that a form has worked stays so.
    if claim.kind is ClaimKind.UNDERSTOOD or turn.transition.refused is not None or new.has_come_out_before(claim):
        return False
    if origin is None or not (claim.is_about(origin.turn) and claim.is_borne_out(origin.turn)):
        return None
    if claim.kind is ClaimKind.POINTS and origin.turn.before.score != turn.before.score:
        return False
    return _is_same_state(origin, new)


def may_contradict(line: KnowledgeLine, new: Attempt, turns_of: TurnsOf) -> bool:
    """Return whether ground truth permits the statement that the turn contradicts the line.

    The fields of the line's claim decide, or else the fields of the turn that it was learned from.
    """
    origin = origin_of(line, turns_of)
    if claim := parse_claim(line.text):
        return contradicts(claim, new, origin) is not False
    if origin is None or not _is_same_action(origin.turn, new.turn):
        return True
    if line.section in _DEATH_SECTIONS and origin.turn.transition.died:
        return not new.turn.transition.died
    if line.section is KnowledgeSection.PUZZLES and origin.turn.transition.points > 0:
        return all(one.transition.points <= 0 for one in (new.turn, *new.same_before))
    return True


def _is_same_action(one: TurnRecord, other: TurnRecord) -> bool:
    same_place = one.before.location_id == other.before.location_id
    return same_place and normalized_action(one.action) == normalized_action(other.action)


def _is_same_state(origin: Attempt, new: Attempt) -> bool | None:
    """Return whether both attempts began in the same state; None if one of the states is not known."""
    then, now = _state(origin), _state(new)
    if then is None or now is None:
        return None
    # What was looked at or done there may have made it possible, even if no object shows it.
    return then == now and _actions_there(origin) <= _actions_there(new)


def _state(one: Attempt) -> tuple[object, ...] | None:
    """Return what was at hand and in which state, with what is open, locked or lit elsewhere; None if not logged."""
    seen = one.turn.before
    held, sighted = seen.carried, seen.visible
    if held is None or sighted is None:
        return None
    if [before.turn for before in one.earlier] != list(range(1, one.turn.turn)):
        return None
    carried, visible = (frozenset((item.num, item.parent) for item in items) for items in (held, sighted))
    at_hand = {number for number, _ in carried | visible}
    different: set[tuple[int, str]] = set()
    for before in one.earlier:
        # An attribute that was set and cleared again is as it was.
        different ^= {(change.number, change.attribute) for change in before.transition.changed}
    told = frozenset(flip for flip in different if flip[0] in at_hand or flip[1] in _GLOBAL_ATTRIBUTES)
    return carried, visible, seen.dark, seen.vehicle, told


def _actions_there(one: Attempt) -> set[str]:
    return {
        normalized_action(before.action)
        for before in one.earlier
        if before.before.location_id == before.after.location_id == one.turn.before.location_id
        and not failed(before.transition)
        and " " in normalized_action(before.action)
    }
