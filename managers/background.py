"""Ask models in the background: work pauses until its question is answered, and continues in a later turn."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.llm.background_work import OpenQuestion, Work, question_from
from zorkgpt.llm.work_queue import WorkQueue
from zorkgpt.runlog.recording import LATE, AppliedAnswers


class BackgroundQuestions(BaseManager):
    """Starts work that asks models, and continues it after the action of a later turn.

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
        self.open = WorkQueue()
        """The work that waits for answers."""
        self._started: Counter[tuple[str, int]] = Counter()
        self._restored: list[OpenQuestion] = []
        self._counts: Counter[str] = Counter()

    def reset(self) -> None:
        """Start a new episode."""
        self.open.abandon()
        self._started.clear()
        self._restored = []
        self._counts.clear()

    def add(self, kind: str, do: Callable[[Any], None], read: Callable[[Any], Any] = lambda saved: saved) -> None:
        """Register a kind of work.

        Args:
            do: Does the work on the argument of `start`. It may ask a `BackgroundLLM`.
            read: Restores that argument from JSON. Not needed for plain values.
        """
        self._kinds[kind] = do, read

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
            return self._counted(self.open.answered())
        names = self._recorded.get((self.game_state.episode_id, self.game_state.turn_count), ())
        return self._counted(self.open.named(names))

    def finish(self, timeout_s: float, *, is_late: bool = False) -> Iterator[Work]:
        """Finish all work whose answers come in time, and yield it.

        Args:
            is_late: Whether the episode ended earlier and its questions are asked again.
        """
        if self._recorded is None:
            return self._counted(self.open.finish(timeout_s))
        turn = LATE if is_late else self.game_state.turn_count + 1
        return self._counted(self.open.named(self._recorded.get((self.game_state.episode_id, turn), ())))

    def snapshot(self) -> dict[str, Any]:
        """Return the open questions."""
        return {"open": [asdict(question) for question in self.open.questions()], "counts": dict(self._counts)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the open questions from the result of `snapshot`. `ask_again` asks them."""
        self._restored = [question_from(saved) for saved in state["open"]]
        self._counts = Counter({str(name): int(count) for name, count in state["counts"].items()})

    def ask_again(self) -> None:
        """Start the restored work again, with the same questions."""
        restored, self._restored = self._restored, []
        for question in restored:
            if question.kind not in self._kinds:
                continue
            do, read = self._kinds[question.kind]
            about = read(question.about)
            if self.enabled:
                self._begin(question.kind, question.name, question.turn, about, question)
            else:
                do(about)

    def get_status(self) -> dict[str, Any]:
        """Return the number of applied answers, and their longest delay in turns."""
        return {"type": "background", "metrics": dict(self._counts)}

    def _begin(self, kind: str, name: str, turn: int, about: Any, restored: OpenQuestion | None = None) -> None:
        do = partial(self._kinds[kind][0], about)
        known = (restored.messages, restored.answers) if restored else ()
        episode, asks_at_once = self.game_state.episode_id, self._recorded is None
        self.open.begin(Work(kind, name, episode, turn, about, do, *known, asks_at_once=asks_at_once))

    def _counted(self, continued: Iterable[Work]) -> Iterator[Work]:
        for work in continued:
            self._counts["applied"] += 1
            delay = self.game_state.turn_count - work.turn
            self._counts["longest_delay_turns"] = max(self._counts["longest_delay_turns"], delay)
            yield work
