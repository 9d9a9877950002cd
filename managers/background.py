"""Ask models in the background: work gives way while its question is open, and goes on at the end of a turn."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import asdict, dataclass
from functools import partial
from time import monotonic
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.llm.background_work import OpenQuestion, Work, question_from
from zorkgpt.llm.messages import Message

LATE = -1
"""In the place of a turn: before a later episode."""
AppliedAnswers = Mapping[tuple[int, int], Sequence[str]]
"""Episode and turn → the names of the questions whose answers were applied after its action, in order. What was applied
after the last turn of an episode has the next number."""


@dataclass(frozen=True, slots=True)
class Applied:
    """Work that went on with the answer to its question."""

    name: str
    turn: int
    """The turn that it is about."""


class BackgroundQuestions(BaseManager):
    """Starts work that asks models, and lets it go on at the end of a turn.

    Work of one kind goes on in the order in which it was started, whichever answer comes first.

    Args:
        enabled: Whether work gives way at all. If not, `start` does all of it.
        recorded: When the answers were applied in the run that is replayed; nothing is applied at any other time.
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
        self._started: Counter[tuple[str, int]] = Counter()
        self._restored: list[OpenQuestion] = []
        self._counts: Counter[str] = Counter()

    def reset(self) -> None:
        """Begin a new episode."""
        self.abandon()
        self._started.clear()
        self._restored = []
        self._counts.clear()

    def add(self, kind: str, do: Callable[[Any], None], read: Callable[[Any], Any] = lambda saved: saved) -> None:
        """Name a kind of work.

        Args:
            do: Does the work on what `start` is given. It may ask a `BackgroundLLM`.
            read: Makes that value again from its JSON. By default, it is a plain value.
        """
        self._kinds[kind] = do, read

    def start(self, kind: str, about: Any) -> None:
        """Do work up to its first question; all of it if it asks none or nothing runs in the background."""
        if not self.enabled:
            self._kinds[kind][0](about)
            return
        turn = self._state.turn_count
        self._started[kind, turn] += 1
        count = self._started[kind, turn]
        self._begin(kind, f"{kind} {turn}" + (f" ({count})" if count > 1 else ""), turn, about)

    def is_open(self, kind: str) -> bool:
        """Return whether work of this kind waits for an answer."""
        return any(work.kind == kind for work in self._open)

    @property
    def is_midway(self) -> bool:
        """Whether work waits for the answer to a later question than its first.

        It may have changed something already, so it can't be begun again.
        """
        return any(work.asked > 1 for work in self._open)

    def applied(self, names: Sequence[str] | None = None) -> Iterator[Applied]:
        """Let work go on at the end of a turn, each with one answer, and yield it.

        Args:
            names: The work to wait for and to let go on, in this order. None for that whose answers are here.
        """
        if self._recorded is not None:
            names = self._recorded.get((self._state.episode_id, self._state.turn_count), ())
        if names is not None:
            yield from self._exactly(names)
            return
        waiting: set[str] = set()
        for work in list(self._open):
            if work.kind not in waiting and work.is_answered:
                yield self._go_on(work)
            if work in self._open:
                waiting.add(work.kind)

    def finish(self, timeout_s: float, *, is_late: bool = False) -> Iterator[Applied]:
        """Let all work go on to its end, as far as the answers come in time, and yield it.

        Args:
            is_late: Whether the episode ended before, and its questions are asked again.
        """
        if self._recorded is not None:
            turn = LATE if is_late else self._state.turn_count + 1
            yield from self._exactly(self._recorded.get((self._state.episode_id, turn), ()))
            return
        ends = monotonic() + timeout_s
        while self._open:
            wait([work.answer for work in self._open], timeout=max(0, ends - monotonic()), return_when=FIRST_COMPLETED)
            is_over = monotonic() >= ends
            went_on = False
            for each in self.applied():
                went_on = True
                yield each
            if is_over and not went_on:
                return

    def abandon(self) -> list[OpenQuestion]:
        """End all work that waits for an answer, and return it."""
        left = self._questions()
        for work in self._open:
            work.abandon()
        self._open = []
        return left

    def snapshot(self) -> dict[str, Any]:
        """Return the open questions."""
        return {"open": [asdict(one) for one in self._questions()], "counts": dict(self._counts)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take the open questions that `snapshot` returned. `ask_again` asks them."""
        self._restored = [question_from(saved) for saved in state["open"]]
        self._counts = Counter({str(name): int(count) for name, count in state["counts"].items()})

    def ask_again(self) -> None:
        """Begin the restored work again, with the same questions."""
        restored, self._restored = self._restored, []
        for each in restored:
            if each.kind not in self._kinds:
                continue
            about = self._kinds[each.kind][1](each.about)
            if self.enabled:
                self._begin(each.kind, each.name, each.turn, about, each.messages)
            else:
                self._kinds[each.kind][0](about)

    def get_status(self) -> dict[str, Any]:
        """Return how many answers were applied, and how many turns after their questions at most."""
        state = "in the background" if self.enabled else "at once"
        return {"type": "background", "state": state, "metrics": dict(self._counts)}

    def _begin(self, kind: str, name: str, turn: int, about: Any, messages: Sequence[Message] = ()) -> None:
        do = partial(self._kinds[kind][0], about)
        work = Work(kind, name, self._state.episode_id, turn, about, do, messages, asks_at_once=self._recorded is None)
        self._open.append(work)
        self._run(work)

    def _exactly(self, names: Sequence[str]) -> Iterator[Applied]:
        for name in names:
            work = next((work for work in self._open if work.name == name), None)
            if work is not None:
                yield self._go_on(work)

    def _go_on(self, work: Work) -> Applied:
        work.await_answer()
        self._counts["applied"] += 1
        self._counts["longest_delay_turns"] = max(
            self._counts["longest_delay_turns"], self._state.turn_count - work.turn
        )
        self._run(work)
        return Applied(work.name, work.turn)

    def _run(self, work: Work) -> None:
        try:
            work.go_on()
        finally:
            if work.is_over:
                self._open.remove(work)

    def _questions(self) -> list[OpenQuestion]:
        return [OpenQuestion(work.kind, work.name, work.turn, work.about, work.messages) for work in self._open]
