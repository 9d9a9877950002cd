"""Takes turns in: counts the visit, completes the ground truth, lets the turn be learned from. Never raises."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from zorkgpt.errors import LLMError
from zorkgpt.memory.keeping.counts import counts_of
from zorkgpt.memory.keeping.keeper import Keeper
from zorkgpt.memory.keeping.lifecycle import Visits
from zorkgpt.memory.learning.echo_filter import EchoFilter
from zorkgpt.memory.learning.judgment_cache import JudgmentCache
from zorkgpt.memory.learning.learner import Counts, Learner
from zorkgpt.memory.learning.recent import recent_turns
from zorkgpt.memory.learning.synthesis import MemorySynthesizer, RecentTurn
from zorkgpt.memory.learning.triggers import ALL, Trigger
from zorkgpt.memory.models import Memory, ZMachineContext
from zorkgpt.memory.object_locations import HandledThings
from zorkgpt.memory.storage.history import TurnStamp


class Recorder:
    """What the turns of an episode leave behind.

    Args:
        game_state: see `SimpleMemoryManager`.
        history_window: how many turns before the present one a synthesizer sees.
        judged: answers that need not be asked for again; None: everything is asked.
        triggers: the reasons to ask that count.
    """

    def __init__(
        self,
        keeper: Keeper,
        visits: Visits,
        synthesizer: MemorySynthesizer | None,
        game_state: Any,
        log: logging.Logger,
        *,
        history_window: int,
        judged: JudgmentCache | None = None,
        triggers: frozenset[Trigger] = ALL,
    ) -> None:
        self.synthesizer = synthesizer
        self.counts = Counts()
        self.recalled = EchoFilter()
        self._keeper = keeper
        self._visits = visits
        self._state = game_state
        self._log = log
        self._history_window = history_window
        self._judged = judged
        self._triggers = triggers
        self._handled = HandledThings()
        self._last_action = (-1, "")
        """Turn and action: what led to an arrival of the same turn."""
        self._last_asked_turn = -1
        self._recording: TurnStamp | None = None
        keeper.moment = self.moment

    @property
    def episode(self) -> int | str:
        found = getattr(self._state, "episode_id", 1)
        return found if isinstance(found, (int, str)) else 1

    @property
    def turn(self) -> int:
        """0 where nobody counts."""
        found = getattr(self._state, "turn_count", 0)
        return found if isinstance(found, int) else 0

    def moment(self) -> TurnStamp | None:
        """The turn that is being recorded; else the present one, if anybody counts."""
        if self._recording is not None or self._state is None:
            return self._recording
        return TurnStamp(self.episode, self.turn)

    def is_first_visit(self, location_id: int) -> bool:
        return self._visits.is_first(location_id, self.turn)

    def shown(self, location_id: int, memories: Sequence[Memory]) -> None:
        """The player sees these memories of the location at which it is about to act."""
        self.recalled.show(location_id, memories)
        self._keeper.evidence.show(location_id, memories)

    def record(self, location_id: int, name: str, action: str, response: str, given: Any, *, arrival: bool) -> None:
        try:
            with self._keeper.store.guard:
                context = self._context(location_id, given, arrival=arrival)
                self._been_at(location_id, context, arrival=arrival)
            action = self._action_of(action, context, arrival=arrival)
            self._recording = TurnStamp.of(self.episode, context.turn, action, response, context.state)
            if not arrival:
                self._judge_advice(location_id, action, context)
            if self.synthesizer is not None:
                self._learn(location_id, name, action, response, context, arrival=arrival)
        except LLMError as error:
            self.counts.synthesis_failures += 1
            extra = {"location_id": location_id, "error": str(error)}
            self._log.warning("the model could not be asked what to remember", extra=extra)
        except Exception as error:
            # Not only our own errors: the synthesizer may be anybody's, and the turn loop must not stop for it.
            self.counts.turn_failures += 1
            extra = {"location_id": location_id, "error": repr(error)}
            self._log.warning("nothing learned from the turn", extra=extra, exc_info=True)
        finally:
            self._recording = None
            self._keeper.count_visits()
            if self._keeper.evidence.is_due(self.turn):
                self._keeper.count_evidence()

    def reset(self) -> None:
        """A new episode."""
        self.counts = Counts()
        self.recalled.clear()
        self._handled.clear()
        self._last_action = (-1, "")
        self._last_asked_turn = -1
        self._visits.reset()

    def _judge_advice(self, location_id: int, action: str, context: ZMachineContext) -> None:
        with self._keeper.store.guard:
            self._keeper.evidence.note(location_id, action, context, self.episode)

    def snapshot(self) -> dict[str, Any]:
        """All that an interrupted episode needs to be learned from as if nothing had happened, as plain values."""
        return {
            "visits": self._visits.snapshot(),
            "recalled": self.recalled.to_dict(),
            "handled": self._handled.to_list(),
            "counts": self.counts.to_dict(),
            "last_action": list(self._last_action),
            "last_asked_turn": self._last_asked_turn,
        }

    def restore(self, first_turns: dict[int, int], under_way: dict[str, Any] | None) -> None:
        """Go on with an episode that was interrupted; None: nothing more is known of it than its visits."""
        self._visits.restore(first_turns, under_way and under_way["visits"])
        if under_way is not None:
            self.recalled.restore(under_way["recalled"])
            self._handled.restore(under_way["handled"])
            self.counts = counts_of(Counts, under_way["counts"])
            turn, action = under_way["last_action"]
            self._last_action = int(turn), str(action)
            self._last_asked_turn = int(under_way["last_asked_turn"])

    def _learn(
        self, location_id: int, name: str, action: str, response: str, context: ZMachineContext, *, arrival: bool
    ) -> None:
        self._keeper.refresh()
        with self._keeper.store.guard:
            recalled = self.recalled.shown_elsewhere(location_id)
        learner = Learner(
            self._keeper,
            self.synthesizer,
            self.counts,
            self.recalled.is_echo,
            self._visits.is_first,
            self._log,
            handled=self._handled,
            judged=self._judged,
            triggers=self._triggers,
        )
        asked = self.counts.synthesis_calls
        try:
            learner.learn(
                location_id,
                name,
                action,
                response,
                context,
                episode=self.episode,
                history=self._history(),
                recalled=recalled,
                arrival=arrival,
            )
        finally:
            if self.counts.synthesis_calls > asked and context.turn != self._last_asked_turn and context.turn:
                self._last_asked_turn = context.turn
                self.counts.turns_asked += 1

    def _action_of(self, action: str, context: ZMachineContext, *, arrival: bool) -> str:
        """The action, or the one of this turn that led to the arrival; "" for the opening text."""
        if arrival:
            turn, led_here = self._last_action
            return action or (led_here if turn == context.turn else "")
        self.counts.turns += 1
        self._last_action = (context.turn, action)
        return action

    def _context(self, location_id: int, given: Any, *, arrival: bool) -> ZMachineContext:
        context = ZMachineContext.of(given)
        if not context.turn:
            context = replace(context, turn=self.turn)
        says = isinstance(given, ZMachineContext) or "first_visit" in (given or {})
        first = context.first_visit if says and not arrival else self._visits.is_first(location_id, context.turn)
        return replace(context, first_visit=first)

    def _been_at(self, location_id: int, context: ZMachineContext, *, arrival: bool) -> None:
        self._visits.enter(location_id, self.episode)
        if not arrival:
            self._visits.processed(location_id, context.turn)
            if context.location_changed:
                # A death may be followed by any place, or by none.
                self._visits.come_to(None if context.died else context.location_after, self.episode)

    def _history(self) -> tuple[RecentTurn, ...]:
        names = ("action_history", "action_reasoning_history")
        actions, reasoning = (getattr(self._state, name, ()) for name in names)
        return recent_turns(actions, reasoning, self._history_window)
