"""Ask models in the background: work pauses until its question is answered, and continues in a later turn."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from functools import partial
from time import monotonic
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.llm.background_work import Work, messages_from
from zorkgpt.runlog.episodes import AppliedAnswers


class BackgroundQuestions(BaseManager):
    """Starts work that asks models, and continues it after the action of a later turn.

    Work of the same kind continues in the order in which it was started, whichever answer comes first.

    Args:
        enabled: Whether work runs in the background. If not, `start` does all of it.
        recorded: The applied answers of the run that is replayed. Answers are then applied at the same times.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        enabled: bool = False,
        recorded: AppliedAnswers | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.enabled = enabled
        self._recorded = recorded
        self._kinds: dict[str, tuple[Callable[[Any], None], Callable[[Any], Any]]] = {}
        self._open: list[Work] = []
        """The work that waits for answers."""
        self._started: Counter[tuple[str, int]] = Counter()
        self._counts: Counter[str] = Counter()

    def reset(self) -> None:
        """Start a new episode."""
        self._abandon()
        self._started.clear()
        self._counts.clear()

    def add(self, kind: str, do: Callable[[Any], None], read: Callable[[Any], Any] = lambda saved: saved) -> None:
        """Register a kind of work.

        Args:
            do: Does the work on the argument of `start`. It may ask a `BackgroundLLM`.
            read: Restores that argument from JSON. Not needed for plain values.
        """
        self._kinds[kind] = do, read

    def is_open(self, kind: str) -> bool:
        """Return whether work of this kind waits for an answer."""
        return any(work.kind == kind for work in self._open)

    def start(self, kind: str, about: Any) -> None:
        """Do work up to its first question, or all of it without a question or a background."""
        if not self.enabled:
            self._kinds[kind][0](about)
            return
        turn = self.game_state.turn_count
        self._started[kind, turn] += 1
        count = self._started[kind, turn]
        self._begin(kind, f"{kind} {turn}" + (f" ({count})" if count > 1 else ""), turn, about)

    def applied(self) -> Iterator[Work]:
        """Continue work after the action of a turn, each piece with one answer, and yield it."""
        if self._recorded is None:
            return self._answered()
        return self._named(self.game_state.turn_count)

    def finish(self, timeout_s: float) -> Iterator[Work]:
        """Finish all work whose answers come in time, and yield it after each answer."""
        for work in self._last(timeout_s):
            self._count(self.game_state.turn_count - work.turn)
            yield work

    def _last(self, timeout_s: float) -> Iterator[Work]:
        if self._recorded is not None:
            yield from self._named(self.game_state.turn_count + 1)
            return
        ends = monotonic() + timeout_s
        while self._open:
            wait([work.answer for work in self._open], timeout=max(0, ends - monotonic()), return_when=FIRST_COMPLETED)
            is_over = monotonic() >= ends
            continued = 0
            for work in self._answered():
                continued += 1
                yield work
            if is_over and not continued:
                return

    def end_episode(self, reason: str) -> None:
        """Drop the open questions. They are asked again if the episode is resumed."""
        if names := [work.name for work in self._open]:
            self.logger.warning("open questions are dropped unless the episode is resumed", extra={"questions": names})
        self._abandon()

    def process_turn(self, record: TurnRecord) -> None:
        """Count the answers that were applied in the turn."""
        for name in record.answers:
            self._count(record.turn - int(name.split()[1]))

    def saved(self) -> list[dict[str, Any]]:
        """Return the open questions, as JSON values."""
        return [work.saved() for work in self._open]

    def ask_again(self, questions: Sequence[dict[str, Any]]) -> None:
        """Start work again with the same questions, which `saved` returned."""
        for saved in questions:
            kind = saved["kind"]
            if kind not in self._kinds:
                continue
            do, read = self._kinds[kind]
            about = read(saved["about"])
            if self.enabled:
                messages, answers = messages_from(saved["messages"]), saved["answers"]
                self._begin(kind, saved["name"], saved["turn"], about, messages=messages, answers=answers)
            else:
                do(about)

    def get_status(self) -> dict[str, Any]:
        """Return the number of applied answers, and their longest delay in turns."""
        return {"type": "background", "metrics": dict(self._counts)}

    def _begin(self, kind: str, name: str, turn: int, about: Any, **known: Any) -> None:
        do, episode = partial(self._kinds[kind][0], about), self.game_state.episode_id
        work = Work(kind, name, episode, turn, about, do, asks_at_once=self._recorded is None, **known)
        self._open.append(work)
        self._run(work)

    def _answered(self) -> Iterator[Work]:
        """Continue all work whose answer has arrived, once each, and yield it."""
        waiting: set[str] = set()
        for work in list(self._open):
            if work.kind not in waiting and work.answer.done():
                yield self._continued(work)
            if work in self._open:
                waiting.add(work.kind)

    def _named(self, turn: int) -> Iterator[Work]:
        """Continue the work whose answers were applied at this turn in the recorded run, and yield it."""
        recorded = self._recorded or {}
        names: Sequence[str] = recorded.get((self.game_state.episode_id, turn), ())
        for name in names:
            work = next((work for work in self._open if work.name == name), None)
            if work is not None:
                yield self._continued(work)

    def _continued(self, work: Work) -> Work:
        self._run(work)
        return work

    def _count(self, delay_turns: int) -> None:
        self._counts["applied"] += 1
        self._counts["longest_delay_turns"] = max(self._counts["longest_delay_turns"], delay_turns)

    def _run(self, work: Work) -> None:
        try:
            work.resume()
        finally:
            if work.is_over:
                self._open.remove(work)

    def _abandon(self) -> None:
        for work in self._open:
            work.abandon()
        self._open = []
