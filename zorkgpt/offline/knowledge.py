"""Find lessons in turns and episodes by rules over ground truth, without a language model."""

from collections.abc import Iterable, Iterator

from session.history import TurnRecord
from session.outcome import effective
from zorkgpt.knowledge.claims import (
    ClaimKind,
    best_line,
    best_result,
    form_line,
    form_of_command,
    parse_claim,
    quoted_command,
    refused_line,
    shortened,
)
from zorkgpt.knowledge.synthesis import (
    MAX_CONTRADICTED,
    MAX_NEW,
    Contradiction,
    EpisodeReview,
    LessonsAnswer,
    NewLesson,
    TurnReview,
)
from zorkgpt.memory.models import Memory
from zorkgpt.text import normalized_action

_TEXT_LIMIT = 160
_MAX_FORMS = 8
_MAX_REFUSED = 3
_MAX_OF_ONE_KIND = {ClaimKind.UNDERSTOOD: _MAX_FORMS, ClaimKind.REFUSED: _MAX_REFUSED}
"""Maximum lines about the parser, over all episodes."""
_MIN_EXAMPLES = 2
"""The number of different commands of a form that must have worked."""


class RuleKnowledgeSynthesizer:
    """A `KnowledgeSynthesizer` without a model."""

    asks_a_model = False

    def lessons(self, asked: TurnReview) -> LessonsAnswer:
        confirmed, contradicted = [], []
        for number, line in enumerate(asked.known, 1):
            claim = parse_claim(line.text)
            if claim is None:
                continue
            if any(map(claim.is_confirmed_by, asked.turns)):
                # An episode confirms a line once, and not if the line was learned in it.
                if line.episode != asked.episode and not any(map(claim.is_confirmed_by, asked.earlier)):
                    confirmed.append(number)
            elif turn := next(filter(claim.is_contradicted_by, asked.turns), None):
                response = shortened(turn.response, _TEXT_LIMIT) or "(no response)"
                reason = f"“{quoted_command(turn)}” gave: {response}"
                contradicted.append(Contradiction(number=number, turns=[turn.turn], reason=reason))
        lessons = [*_refusals(asked.turns), *_forms(asked)]
        new = _new_claims(lessons, asked.known)
        return LessonsAnswer(new=new[:MAX_NEW], confirmed=confirmed, contradicted=contradicted[:MAX_CONTRADICTED])

    def wisdom(self, asked: EpisodeReview) -> LessonsAnswer:
        best = self._best(asked)
        last_turns = asked.last_turns()
        if last_turns is None:
            return LessonsAnswer(new=best)
        lessons = self.lessons(last_turns)
        return lessons.model_copy(update={"new": [*best, *lessons.new][:MAX_NEW]})

    @staticmethod
    def _best(asked: EpisodeReview) -> list[NewLesson]:
        """Return a line about the episode if it has more points than all before, or as many in fewer turns."""
        score = asked.score or 0
        known = [result for line in asked.known if (result := best_result(line.text))]
        scored = [turn.turn for turn in asked.turns if turn.transition.points > 0]
        if not scored or (score, -len(asked.turns)) <= max(known, default=(0, 0)):
            return []
        text = best_line(asked.episode, asked.turns, score)
        return [NewLesson(section="meta_strategies", text=text, turns=scored[-200:])]


def _new_claims(lessons: Iterable[NewLesson], known: Iterable[Memory]) -> list[NewLesson]:
    """Return the lessons with new claims. Comparing texts is not enough, because they quote the game's responses."""
    claims = {claim for line in known if (claim := parse_claim(line.text))}
    new = []
    for lesson in lessons:
        claim = parse_claim(lesson.text)
        if claim is None:
            new.append(lesson)
            continue
        most = _MAX_OF_ONE_KIND.get(claim.kind)
        is_full = most is not None and sum(other.kind is claim.kind for other in claims) >= most
        if claim not in claims and not is_full:
            new.append(lesson)
            claims.add(claim)
    return new


def _refusals(turns: Iterable[TurnRecord]) -> Iterator[NewLesson]:
    """Yield a lesson for each command that was rejected before it reached the game."""
    for turn in turns:
        step = turn.transition
        if step.refused is not None and normalized_action(step.action) and not step.finished:
            yield NewLesson(section="syntax", text=refused_line(turn), turns=[turn.turn])


def _forms(asked: TurnReview) -> Iterator[NewLesson]:
    """Yield a lesson for each form of commands that worked, those with the most things and examples first."""
    by_form: dict[str, dict[str, TurnRecord]] = {}
    for turn in (*asked.earlier, *asked.turns):
        form = form_of_command(turn) if effective(turn.transition) else None
        if form is not None:
            by_form.setdefault(form, {}).setdefault(quoted_command(turn), turn)
    ranked = sorted(by_form.items(), key=lambda entry: (-entry[0].count("…"), -len(entry[1])))
    for form, examples in ranked:
        if len(examples) >= _MIN_EXAMPLES:
            turns = [turn.turn for turn in examples.values()]
            yield NewLesson(section="syntax", text=form_line(form, next(iter(examples.values()))), turns=turns[-200:])
