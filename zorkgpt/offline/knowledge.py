"""What turns and episodes teach, by rules over ground truth, without a language model."""

from collections.abc import Iterable, Iterator
from functools import partial

from session.history import TurnRecord
from session.outcome import effective
from zorkgpt.knowledge.claims import (
    ClaimKind,
    KnowledgeClaim,
    best_line,
    contradicts,
    death_line,
    form_line,
    form_of_command,
    origin_of,
    parse_claim,
    points_line,
    quoted_command,
    refused_line,
    shortened,
)
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.synthesis import (
    MAX_CONTRADICTED,
    MAX_NEW,
    Contradiction,
    EpisodeReview,
    LessonsAnswer,
    NewInsight,
    NewLesson,
    TurnReview,
    WisdomAnswer,
)
from zorkgpt.text import normalized_action

_TEXT_LIMIT = 160
_MAX_FORMS = 8
_MAX_REFUSED = 3
_MAX_OF_ONE_KIND = {ClaimKind.UNDERSTOOD: _MAX_FORMS, ClaimKind.REFUSED: _MAX_REFUSED}
"""The most lines about the parser, over all episodes."""
_MIN_EXAMPLES = 2
"""The number of different commands of one form that must have worked."""


class RuleKnowledgeSynthesizer:
    """A `KnowledgeSynthesizer` without a model."""

    asks_a_model = False

    def lessons(self, asked: TurnReview) -> LessonsAnswer:
        held, denied = [], []
        for number, line in enumerate(asked.known, 1):
            claim = parse_claim(line.text)
            if claim is None:
                continue
            bears = partial(_bears_out, claim)
            if any(map(bears, asked.turns)):
                # An episode counts once, however many reviews it has, and not for lines learned in it.
                if line.episode != asked.episode and not any(map(bears, asked.earlier)):
                    held.append(number)
            elif against := _against(line, claim, asked):
                answer = shortened(against.response, _TEXT_LIMIT) or "(no response)"
                said = f"“{quoted_command(against)}” gave: {answer}"
                denied.append(Contradiction(number=number, turns=[against.turn], reason=said))
        new = [*_deaths(asked.turns), *_rewards(asked), *_refusals(asked.turns), *_forms(asked)]
        fresh = _not_claimed_yet(new, asked.known)
        return LessonsAnswer(new=fresh[:MAX_NEW], borne_out=held, contradicted=denied[:MAX_CONTRADICTED])

    def wisdom(self, asked: EpisodeReview) -> WisdomAnswer:
        best = self._best(asked)
        last_turns = asked.last_turns()
        if last_turns is None:
            return WisdomAnswer(new=best)
        lessons = self.lessons(last_turns)
        new = [*best, *(NewInsight(**lesson.model_dump()) for lesson in lessons.new)]
        return WisdomAnswer(new=new[:MAX_NEW], borne_out=lessons.borne_out, contradicted=lessons.contradicted)

    @staticmethod
    def _best(asked: EpisodeReview) -> list[NewInsight]:
        """Return a line about the episode if none before it had as many points."""
        score = asked.score or 0
        claims = (parse_claim(line.text) for line in asked.known)
        known = [int(claim.action) for claim in claims if claim and claim.kind is ClaimKind.BEST]
        scored = [turn.turn for turn in asked.turns if turn.transition.points > 0]
        if not scored or score <= max(known, default=0):
            return []
        text = best_line(asked.episode, asked.turns, score)
        return [NewInsight(section="meta_strategies", text=text, turns=scored[-200:])]


def _against(line: KnowledgeLine, claim: KnowledgeClaim, asked: TurnReview) -> TurnRecord | None:
    """Return the turn that contradicts the line, if any."""
    attempts = [one for one in asked.attempts() if claim.is_about(one.turn)]
    origin = origin_of(line, asked.turns_of) if attempts else None
    return next((one.turn for one in attempts if contradicts(claim, one, origin)), None)


def _not_claimed_yet(new: Iterable[NewLesson], known: Iterable[KnowledgeLine]) -> list[NewLesson]:
    """Return the lessons whose claims are new: the same claim may come with another text of the game."""
    claims = {claim for line in known if (claim := parse_claim(line.text))}
    fresh = []
    for lesson in new:
        claim = parse_claim(lesson.text)
        if claim is None:
            fresh.append(lesson)
            continue
        most = _MAX_OF_ONE_KIND.get(claim.kind) if claim else None
        is_enough = most is not None and sum(one.kind is claim.kind for one in claims) >= most
        if claim not in claims and not is_enough:
            fresh.append(lesson)
            claims.add(claim)
    return fresh


def _bears_out(claim: KnowledgeClaim, turn: TurnRecord) -> bool:
    return claim.is_about(turn) and claim.is_borne_out(turn)


def _deaths(turns: Iterable[TurnRecord]) -> Iterator[NewLesson]:
    for turn in turns:
        if turn.transition.died:
            yield NewLesson(section="dangers", text=death_line(turn), turns=[turn.turn])


def _rewards(asked: TurnReview) -> Iterator[NewLesson]:
    for one in asked.attempts():
        if one.turn.transition.points > 0 and not one.turn.transition.died:
            yield NewLesson(section="puzzles", text=points_line(one.turn, one.earlier), turns=[one.turn.turn])


def _refusals(turns: Iterable[TurnRecord]) -> Iterator[NewLesson]:
    """Yield a lesson for each command that never reached the game."""
    for turn in turns:
        step = turn.transition
        if step.refused is not None and normalized_action(step.action) and not step.finished:
            yield NewLesson(section="syntax", text=refused_line(turn), turns=[turn.turn])


def _forms(asked: TurnReview) -> Iterator[NewLesson]:
    """Yield a lesson for each form of commands that worked, those with most things and most examples first."""
    by_form: dict[str, dict[str, TurnRecord]] = {}
    for turn in (*asked.earlier, *asked.turns):
        form = form_of_command(turn) if effective(turn.transition) else None
        if form is not None:
            by_form.setdefault(form, {}).setdefault(quoted_command(turn), turn)
    ranked = sorted(by_form.items(), key=lambda found: (-found[0].count("…"), -len(found[1])))
    for form, examples in ranked:
        if len(examples) >= _MIN_EXAMPLES:
            turns = [turn.turn for turn in examples.values()]
            yield NewLesson(section="syntax", text=form_line(form, next(iter(examples.values()))), turns=turns[-200:])
