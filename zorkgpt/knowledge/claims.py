"""Lines in a fixed form: write them from a turn, parse them into claims, and check the claims against later turns."""

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
"""Longer than other reasons, because the cause of a death is often several sentences before the end."""
_SLOT = "…"
_MAX_PREPARING = 3
MAX_CHARS = 390
"""Maximum characters of a line."""


class ClaimKind(StrEnum):
    """What a line claims about an action."""

    DEATH = "death"
    POINTS = "points"
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
    place: int | None = None
    """None for any place."""

    def is_about(self, turn: TurnRecord) -> bool:
        """Return whether the turn tests the claim."""
        if self.kind is ClaimKind.BEST:
            return False
        if self.kind is ClaimKind.UNDERSTOOD:
            return self.action == form_of_command(turn)
        return normalized_action(turn.action) == self.action and self.place in (None, turn.before.location_id)

    def is_confirmed_by(self, turn: TurnRecord) -> bool:
        """Return whether a turn that tests the claim supports it."""
        if self.kind is ClaimKind.DEATH:
            return turn.transition.died
        if self.kind is ClaimKind.POINTS:
            return turn.transition.points > 0
        if self.kind is ClaimKind.REFUSED:
            return turn.transition.refused is not None
        return effective(turn.transition)


_AT = r"“(?P<action>[^”]+)” at .*? \((?P<place>\d+)\)"
_BEST = re.compile(r"Episode .+? scored (?P<action>\d+) points? in (?P<turns>\d+) turns\b")
_FORMS = (
    (ClaimKind.DEATH, re.compile(rf"{_AT} is deadly\b")),
    (ClaimKind.POINTS, re.compile(rf"{_AT} scores\b")),
    (ClaimKind.REFUSED, re.compile(r"“(?P<action>[^”]+)” is not accepted\b")),
    (ClaimKind.UNDERSTOOD, re.compile(r"The parser understands “(?P<action>[^”]+)”")),
    (ClaimKind.BEST, _BEST),
)


@lru_cache(4096)
def parse_claim(text: str) -> KnowledgeClaim | None:
    """Return the claim of a line; None if it is not in a fixed form."""
    for kind, form in _FORMS:
        if match := form.match(text):
            place = match.groupdict().get("place")
            return KnowledgeClaim(kind, normalized_action(match["action"]), None if place is None else int(place))
    return None


def death_line(turn: TurnRecord) -> str:
    """Return the line about a turn on which the player died, with the game's last words before it."""
    text = f"“{quoted_command(turn)}” at {numbered_place(turn)} is deadly: "
    return text + _last_sentences(turn, min(_LAST_WORDS_LIMIT, MAX_CHARS - len(text)))


def points_line(turn: TurnRecord, earlier: Sequence[TurnRecord]) -> str:
    """Return the line about a turn that scored, with the preparing actions at that place."""
    points = number_of(turn.transition.points, "point", "points")
    text = f"“{quoted_command(turn)}” at {numbered_place(turn)} scores {points}"
    if turn.after.location != turn.before.location:
        text += f" and leads to {_numbered(turn.after)}"
    commands = dict.fromkeys(f"“{quoted_command(preparation)}”" for preparation in _preparations(turn, earlier))
    preparing = list(commands)[-_MAX_PREPARING:]
    while preparing:
        *rest, last = preparing
        listed = f"{', '.join(rest)} and {last}" if rest else last
        longer = f"{text}, after {listed}."
        if len(longer) <= MAX_CHARS:
            return longer
        preparing = preparing[1:]
    return f"{text}."


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
    steps = [f"“{quoted_command(turn)}” at {numbered_place(turn)}" for turn in turns if turn.transition.points > 0]
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


def numbered_place(turn: TurnRecord) -> str:
    """Return the name and number of the place where the action was taken."""
    return _numbered(turn.before)


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters on one line: the first sentences if any fit, else the first words."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    if sentences := _fitting(sentences_of(line), limit):
        return " ".join(sentences)
    head = line[: limit - 1]
    return head[: max(head.rfind(" "), limit // 2)] + "…"


def _last_sentences(turn: TurnRecord, limit: int) -> str:
    """Return the last sentences that fit, without the text after the stars that every death prints."""
    sentences = sentences_of(" ".join(before_stars(turn.response).split()))
    last = " ".join(reversed(_fitting(reversed(sentences), limit)))
    return last or shortened(sentences[-1], limit) or "(no response)"


def _fitting(sentences: Iterable[str], limit: int) -> list[str]:
    fitting: list[str] = []
    for sentence in sentences:
        if len(" ".join((*fitting, sentence))) > limit:
            break
        fitting.append(sentence)
    return fitting


def _numbered(observation: Observation) -> str:
    return f"{shortened(observation.location_name, _PLACE_LIMIT) or 'a place'} ({observation.location_id or 0})"


def _preparations(turn: TurnRecord, earlier: Sequence[TurnRecord]) -> list[TurnRecord]:
    """Return the earlier turns that changed a thing at this place without taking or dropping anything."""
    return [
        previous
        for previous, following in pairwise([*earlier, turn])
        if previous.before.location_id == previous.after.location_id == turn.before.location_id
        and " " in normalized_action(previous.action)
        and previous.transition.changed
        and effective(previous.transition)
        and _numbers(previous.before.carried) == _numbers(following.before.carried)
    ]


def _numbers(things: Iterable[Item] | None) -> set[int]:
    return {item.num for item in things or ()}


TurnsOf = Callable[[int | str], Sequence[TurnRecord]]
"""Returns the turns of an episode, oldest first; an empty sequence if they are not available."""

_DEATH_SECTIONS = (KnowledgeSection.DANGERS, KnowledgeSection.DEATHS, KnowledgeSection.DEATH_PATTERNS)
_GLOBAL_ATTRIBUTES = frozenset({"open", "locked", "on", "light", "burning"})
"""Attributes that are compared for things out of sight too, because a door is often in no room."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A turn, with the turns before it in its episode."""

    turn: TurnRecord
    earlier: Sequence[TurnRecord]

    def was_confirmed_before(self, claim: KnowledgeClaim) -> bool:
        """Return whether an earlier turn of the episode supported the claim."""
        return any(claim.is_about(turn) and claim.is_confirmed_by(turn) for turn in self.earlier)

    @property
    def repetitions(self) -> list[TurnRecord]:
        """The turns of the episode with the same action at the same place, this one included."""
        return [turn for turn in (*self.earlier, self.turn) if _is_same_action(turn, self.turn)]


def origin_of(line: KnowledgeLine, turns_of: TurnsOf) -> Attempt | None:
    """Return the attempt that the line was learned from; None if it is unavailable or there were several."""
    if line.first_turn != line.last_turn:
        return None
    turns = [turn for turn in turns_of(line.episode) if turn.turn <= line.first_turn]
    return Attempt(turns[-1], turns[:-1]) if turns and turns[-1].turn == line.first_turn else None


def contradicts(claim: KnowledgeClaim, new: Attempt, origin: Attempt | None) -> bool | None:
    """Return whether an attempt contradicts a claim: another result of the same action in the same place and state.

    Args:
        origin: The attempt that the claim was learned from; None if unavailable.

    Returns:
        None if the result differs, but the state of one of the attempts is unknown.
    """
    turn = new.turn
    if turn.transition.fault is not None or not claim.is_about(turn) or claim.is_confirmed_by(turn):
        return False
    if claim.kind is ClaimKind.REFUSED:
        return True
    # Points are given once per episode, and one success proves that a form is understood.
    if claim.kind is ClaimKind.UNDERSTOOD or turn.transition.refused is not None or new.was_confirmed_before(claim):
        return False
    if origin is None or not (claim.is_about(origin.turn) and claim.is_confirmed_by(origin.turn)):
        return None
    if claim.kind is ClaimKind.POINTS and origin.turn.before.score != turn.before.score:
        return False
    return _is_same_state(origin, new)


def may_contradict(line: KnowledgeLine, new: Attempt, turns_of: TurnsOf) -> bool:
    """Return whether ground truth allows that the turn contradicts the line.

    The line's claim decides, or else the turn that the line was learned from.
    """
    origin = origin_of(line, turns_of)
    if claim := parse_claim(line.text):
        return contradicts(claim, new, origin) is not False
    if origin is None or not _is_same_action(origin.turn, new.turn):
        return True
    if line.section in _DEATH_SECTIONS and origin.turn.transition.died:
        return not new.turn.transition.died
    if line.section is KnowledgeSection.PUZZLES and origin.turn.transition.points > 0:
        return all(turn.transition.points <= 0 for turn in new.repetitions)
    return True


def _is_same_action(first: TurnRecord, second: TurnRecord) -> bool:
    same_place = first.before.location_id == second.before.location_id
    return same_place and normalized_action(first.action) == normalized_action(second.action)


def _is_same_state(origin: Attempt, new: Attempt) -> bool | None:
    """Return whether both attempts began in the same state; None if one of the states is unknown."""
    old_state, new_state = _state(origin), _state(new)
    if old_state is None or new_state is None:
        return None
    # Earlier actions there may have made the result possible without changing an object.
    return old_state == new_state and _actions_there(origin) <= _actions_there(new)


def _state(attempt: Attempt) -> tuple[object, ...] | None:
    """Return the state before the attempt; None if the log is incomplete.

    It consists of the visible and carried things, light, vehicle, and the changed attributes of things nearby. Open,
    locked and lit things elsewhere count too.
    """
    before = attempt.turn.before
    if before.carried is None or before.visible is None:
        return None
    if [turn.turn for turn in attempt.earlier] != list(range(1, attempt.turn.turn)):
        return None
    carried = frozenset((item.num, item.parent) for item in before.carried)
    visible = frozenset((item.num, item.parent) for item in before.visible)
    nearby = {number for number, _ in carried | visible}
    changed: set[tuple[int, str]] = set()
    for turn in attempt.earlier:
        # Two changes of one attribute cancel out.
        changed ^= {(change.number, change.attribute) for change in turn.transition.changed}
    relevant = frozenset(
        (number, attribute) for number, attribute in changed if number in nearby or attribute in _GLOBAL_ATTRIBUTES
    )
    return carried, visible, before.dark, before.vehicle, relevant


def _actions_there(attempt: Attempt) -> set[str]:
    """Return the earlier actions with an object that had an effect at the place of the attempt."""
    return {
        normalized_action(turn.action)
        for turn in attempt.earlier
        if turn.before.location_id == turn.after.location_id == attempt.turn.before.location_id
        and not failed(turn.transition)
        and " " in normalized_action(turn.action)
    }
