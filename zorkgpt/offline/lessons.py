"""What turns and episodes teach, by rules: ground truth and the parser's refusals, without a language model."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from session.outcome import is_passive
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.synthesis import (
    MOST_CONTRADICTED,
    MOST_NEW,
    Contradiction,
    EpisodeStory,
    LessonsAnswer,
    LookBack,
    NewInsight,
    NewLesson,
    WisdomAnswer,
)
from zorkgpt.offline.phrases import Outcome, normal, shortened
from zorkgpt.runlog.events import TurnPlayed
from zorkgpt.world.directions import canonical_direction

_TEXT_LIMIT = 160
_ENOUGH = 3
"""Commands with one verb that came to nothing in the same words: then it is the verb."""
_ANYTHING = " …"
_NOT_ACCEPTED = "is not accepted"
_FORM = re.compile(
    r"“(?P<action>[^”]+)” (?:at .*? \((?P<place>\d+)\) )?"
    rf"(?P<outcome>{Outcome.KILLS}|{Outcome.SCORES}|{Outcome.FAILS}|{_NOT_ACCEPTED})\b"
)


class RuleKnowledge:
    """A `KnowledgeSynthesizer` that asks nobody."""

    asks_a_model = False

    def lessons(self, asked: LookBack) -> LessonsAnswer:
        held, denied = [], []
        for number, line in enumerate(asked.known, 1):
            against = _against(line, asked)
            if against is not None:
                denied.append(Contradiction(number=number, reason=f"turn {against.turn}: {_said(against)}"))
            elif _is_borne_out(line, asked.turns):
                held.append(number)
        new = [*_deaths(asked.turns), *_rewards(asked.turns), *_refusals(asked.turns), *_idle_verbs(asked)]
        fresh = _not_claimed_yet(new, asked.known)
        return LessonsAnswer(new=fresh[:MOST_NEW], borne_out=held, contradicted=denied[:MOST_CONTRADICTED])

    def wisdom(self, asked: EpisodeStory) -> WisdomAnswer:
        new = [
            NewInsight(
                section="death_patterns",
                text=f"Death comes at {_place(turn)} by “{_command(turn)}”.",
                turns=[turn.turn],
            )
            for turn in asked.turns
            if turn.died
        ]
        scored = [turn for turn in asked.turns if _gain(turn) > 0]
        if scored:
            best = max(scored, key=_gain)
            text = f"The most points at once, {_gain(best)}, came at {_place(best)} by “{_command(best)}”."
            new.append(NewInsight(section="discoveries", text=text, turns=[best.turn]))
        return WisdomAnswer(new=new[-MOST_NEW:])


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a line says in a form that a turn can decide."""

    action: str
    place: int | None
    outcome: str
    said: str
    """What the game said then."""

    def is_about(self, turn: TurnPlayed) -> bool:
        if self.place is not None and turn.location_id != self.place:
            return False
        action = normal(turn.action)
        if self.action.endswith(_ANYTHING):
            return action.split(" ")[0] == self.action.removesuffix(_ANYTHING) and " " in action
        return action == self.action


def _claim(text: str) -> _Claim | None:
    found = _FORM.match(text)
    if found is None:
        return None
    said = text[found.end() :].removeprefix(": ")
    return _Claim(normal(found["action"]), int(found["place"]) if found["place"] else None, found["outcome"], said)


def _not_claimed_yet(new: Iterable[NewLesson], known: Iterable[KnowledgeLine]) -> list[NewLesson]:
    """Each claim once: what the game says of it differs from time to time."""
    claims = {replace(claim, said="") for line in known if (claim := _claim(line.text))}
    fresh = []
    for lesson in new:
        claim = _claim(lesson.text)
        claim = claim and replace(claim, said="")
        if claim is None or claim not in claims:
            fresh.append(lesson)
            claims.add(claim)
    return fresh


def _is_borne_out(line: KnowledgeLine, turns: Iterable[TurnPlayed]) -> bool:
    claim = _claim(line.text)
    return claim is not None and any(_holds(claim, turn) for turn in turns if claim.is_about(turn))


def _holds(claim: _Claim, turn: TurnPlayed) -> bool:
    if claim.outcome == Outcome.KILLS:
        return turn.died
    if claim.outcome == Outcome.SCORES:
        return _gain(turn) > 0
    if claim.outcome == _NOT_ACCEPTED:
        return turn.refused is not None
    # Something may have changed by itself meanwhile; the answer tells whose doing it was.
    return turn.failed or shortened(_without_the_object(turn), _TEXT_LIMIT) == claim.said


def _against(line: KnowledgeLine, asked: LookBack) -> TurnPlayed | None:
    """The turn that shows the contrary."""
    claim = _claim(line.text)
    if claim is None:
        return None
    tried = any(claim.is_about(turn) for turn in asked.earlier)
    for turn in asked.turns:
        if not claim.is_about(turn):
            continue
        # Points are given once: only the first try in an episode says something.
        if claim.outcome == Outcome.SCORES and (tried or not turn.failed):
            tried = True
            continue
        if turn.fault is None and not _holds(claim, turn):
            return turn
    return None


def _deaths(turns: Iterable[TurnPlayed]) -> Iterator[NewLesson]:
    for turn in turns:
        if turn.died:
            text = f"“{_command(turn)}” at {_place(turn)} {Outcome.KILLS}: {_said(turn)}"
            yield NewLesson(section="dangers", text=text, turns=[turn.turn])


def _rewards(turns: Iterable[TurnPlayed]) -> Iterator[NewLesson]:
    for turn in turns:
        if _gain(turn) > 0 and not turn.died:
            text = f"“{_command(turn)}” at {_place(turn)} {Outcome.SCORES} {_gain(turn)}: {_said(turn)}"
            yield NewLesson(section="puzzles", text=text, turns=[turn.turn])


def _refusals(turns: Iterable[TurnPlayed]) -> Iterator[NewLesson]:
    """What never reached the game."""
    seen = set()
    for turn in turns:
        if turn.refused is not None and normal(turn.action) and _command(turn) not in seen:
            seen.add(_command(turn))
            text = f"“{_command(turn)}” {_NOT_ACCEPTED}: {_said(turn)}"
            yield NewLesson(section="syntax", text=text, turns=[turn.turn])


def _idle_verbs(asked: LookBack) -> Iterator[NewLesson]:
    """Verbs that came to nothing with whatever they were said of, always in the same words."""
    by_verb: dict[str, list[TurnPlayed]] = {}
    for turn in (*asked.earlier, *asked.turns):
        verb, *objects = normal(turn.action).split(" ")
        is_word = objects and canonical_direction(turn.action) is None and not is_passive(turn.action)
        if is_word and turn.refused is None and turn.fault is None:
            by_verb.setdefault(verb, []).append(turn)
    for verb, tries in by_verb.items():
        answers = {_without_the_object(turn) for turn in tries}
        different = {normal(turn.action) for turn in tries}
        if len(different) >= _ENOUGH and len(answers) == 1 and all(turn.failed for turn in tries):
            text = f"“{verb}{_ANYTHING}” {Outcome.FAILS}: {shortened(answers.pop(), _TEXT_LIMIT)}"
            yield NewLesson(section="syntax", text=text, turns=[turn.turn for turn in tries][-200:])


def _without_the_object(turn: TurnPlayed) -> str:
    words = set(normal(turn.action).split(" ")[1:])
    parts: Sequence[str] = re.split(r"(\w+)", " ".join(turn.response.split()))
    return "".join("…" if part.lower() in words else part for part in parts)


def _gain(turn: TurnPlayed) -> int:
    return 0 if turn.score is None or turn.score_before is None else turn.score - turn.score_before


def _place(turn: TurnPlayed) -> str:
    return f"{shortened(turn.location, 60) or 'a place'} ({turn.location_id if turn.location_id is not None else 0})"


def _command(turn: TurnPlayed) -> str:
    return shortened(normal(turn.action).replace("”", ""), 80)


def _said(turn: TurnPlayed) -> str:
    return shortened(turn.response.strip(), _TEXT_LIMIT) or "(no response)"
