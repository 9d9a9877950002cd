"""An estimate of how promising a command is, from what similar commands led to."""

from collections import Counter
from itertools import islice

from game_interface.models import Language
from session.experience import ActionResult
from zorkgpt.directions import canonical_direction
from zorkgpt.offline.experience import PastEpisodes
from zorkgpt.offline.grammar_tries import GrammarTry, analyzed
from zorkgpt.record.experience import ExperienceRow

_PRIOR_CHANCE = 0.1
"""The chance that an untried command has an effect."""
_PRIOR_TRIES = 4
"""The weight of this chance, in tries."""
_NEW_NAME = 20
_UNTRIED_NAMES = 10
"""An unused name makes a command three times as promising, one that was used ten times twice."""


class CommandRecord:
    """Counts the commands of all episodes by their patterns, such as "put _ in _", and by their names."""

    def __init__(self, past: PastEpisodes, language: Language | None) -> None:
        self._experience, self._language = past.experience, language
        self._tries: Counter[str] = Counter()
        self._worked: Counter[str] = Counter()
        self._uses: Counter[str] = Counter()
        self._counted = 0
        """The number of counted rows of the running episode."""
        for row in past.earlier.rows:
            self._count(row)

    def is_refused(self, command: str) -> bool:
        """Return whether the parser has rejected a command."""
        return self._experience.count(command, ActionResult.REFUSED) > 0

    def success_rate(self, command: str) -> float:
        """Return an estimate of how often this command moves or changes an object, if chance decides."""
        return _rate(self._experience.count(command, ActionResult.AFFECTED), self._experience.count(command))

    def promise(self, tried: GrammarTry) -> float:
        """Return how promising a command is, relative to an untried one; 0 if the parser has rejected it."""
        if self.is_refused(tried.command):
            return 0.0
        for row in islice(self._experience.rows, self._counted, None):
            self._count(row)
        self._counted = len(self._experience.rows)
        estimate = _rate(self._worked[tried.pattern], self._tries[tried.pattern]) / _rate(0, 0)
        estimate /= 1 + self._experience.count(tried.command)
        uses = min((self._uses[name] for name in tried.names), default=None)
        return estimate * _novelty(uses) / _novelty(0) if uses is not None else estimate

    def _count(self, row: ExperienceRow) -> None:
        if canonical_direction(row.action) is None:
            tried = analyzed(row.action, self._language)
            self._tries[tried.pattern] += 1
            self._worked[tried.pattern] += row.shows(ActionResult.WORKED)
            self._uses.update(tried.names)


def _rate(successes: int, tries: int) -> float:
    return (successes + _PRIOR_TRIES * _PRIOR_CHANCE) / (tries + _PRIOR_TRIES)


def _novelty(uses: int) -> float:
    return 1 + _NEW_NAME / (_UNTRIED_NAMES + uses)
