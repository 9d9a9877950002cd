"""How one turn becomes memories: asked about if it may teach something, checked, then kept."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from zorkgpt.memory.keeping.keeper import Keeper
from zorkgpt.memory.learning.again import taken_again, to_take_again
from zorkgpt.memory.learning.novelty import Judged, key_of
from zorkgpt.memory.learning.synthesis import MemorySynthesizer, RecentTurn, SynthesisRequest
from zorkgpt.memory.learning.titles import meant
from zorkgpt.memory.learning.triggers import ALL, Trigger, reasons_to_remember
from zorkgpt.memory.models import Memory, MemoryStatus, MemorySynthesisResponse, ZMachineContext
from zorkgpt.memory.storage.escaping import one_line
from zorkgpt.memory.whereabouts import Handled

_KEPT_AS = ("added", "seen again", "merged")
"""Events that name the memory that a turn led to."""


@dataclass(slots=True)
class Counts:
    """Of one episode."""

    turns: int = 0
    turns_asked: int = 0
    """Turns with at least one question, the opening text left out."""
    judged_before: int = 0
    """Outcomes that were passed over, since they had been judged."""
    triggers: dict[str, int] = field(default_factory=dict)
    """Outcomes by each reason to ask about them, those passed over too."""
    synthesis_calls: int = 0
    synthesized: int = 0
    synthesis_failures: int = 0
    core_validation_downgrade: int = 0
    core_by_own_action: int = 0
    persistence_corrected: int = 0
    """Called lasting, and about where the agent itself had put something."""
    audit: dict[str, int] = field(default_factory=dict)
    """What the fresh world said of the core memories when the episode began, by verdict."""
    unknown_titles: int = 0
    echoes: int = 0
    """What the agent had been shown and the model took for news."""
    turn_failures: int = 0
    """Turns that nothing could be learned from, whatever the reason."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values; `asdict` would take longer, and this is asked for on every turn."""
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: dict(value) if isinstance(value, dict) else value for name, value in values}


class Learner:
    """Asks what a turn teaches and applies the answer. Raises what the synthesizer raises."""

    def __init__(
        self,
        keeper: Keeper,
        synthesizer: MemorySynthesizer,
        counts: Counts,
        is_echo: Callable[[int, Memory], bool],
        log: logging.Logger,
        *,
        handled: Handled | None = None,
        judged: Judged | None = None,
        triggers: frozenset[Trigger] = ALL,
    ) -> None:
        """
        Args:
            handled: what the agent has moved in this episode.
            judged: what need not be asked about again; None: everything is.
            triggers: the reasons to ask that count.
        """
        self._handled = handled or Handled()
        self._judged = judged
        self._triggers = triggers
        self._keeper = keeper
        self._synthesizer = synthesizer
        self._counts = counts
        self._is_echo = is_echo
        self._log = log

    def learn(
        self,
        location_id: int,
        location_name: str,
        action: str,
        response: str,
        context: ZMachineContext,
        *,
        episode: int | str,
        history: tuple[RecentTurn, ...] = (),
        recalled: tuple[str, ...] = (),
        arrival: bool = False,
    ) -> None:
        triggers = reasons_to_remember(context, response_length=len(response), enabled=self._triggers)
        for trigger in triggers:
            self._counts.triggers[trigger.value] = self._counts.triggers.get(trigger.value, 0) + 1
        before = self._handled.numbers()
        if not arrival:
            self._handled.note(action, context)
        if not triggers:
            return
        request = SynthesisRequest(
            location_id,
            location_name,
            action,
            response,
            context,
            memories=tuple(self._keeper.current(location_id)),
            history=history,
            triggers=tuple(trigger.value for trigger in triggers),
            arrival=arrival,
            recalled=recalled,
            handled=before,
        )
        if self._judged is None:
            self._ask(request, episode)
            return
        key = key_of(request, type(self._synthesizer).__name__)
        if self._seen_again(request, self._judged.led_to(key), episode) or self._true_again(request, key, episode):
            self._counts.judged_before += 1
            return
        told = len(self._keeper.events)
        if answer := self._ask(request, episode):
            new = [event for event in self._keeper.events[told:] if event.location_id == location_id]
            kept = [event for event in new if event.kind in _KEPT_AS]
            again = to_take_again(request, answer) if any(one.persistence == "ephemeral" for one in kept) else None
            self._judged.keep(key, tuple(dict.fromkeys(event.title for event in kept)), again)

    def _true_again(self, request: SynthesisRequest, key: str, episode: int | str) -> bool:
        """Keep what the same made true of an earlier episode for this one; False: there is nothing to take over."""
        judged = self._judged
        if judged is None or (kept := judged.again(key)) is None:
            return False
        # What was replaced or disproved since this episode began is judged in that light.
        been = {memory.title for memory in self._keeper.ephemeral.get(request.location_id, ())}
        answer = None if been & set(judged.led_to(key) or ()) else taken_again(request, kept)
        return answer is not None and self._apply(request, answer, episode)

    def _seen_again(self, request: SynthesisRequest, titles: tuple[str, ...] | None, episode: int | str) -> bool:
        """Count one more observation of what this outcome led to; False: it is not judged, or not believed any more."""
        if titles is None:
            return False
        standing = {memory.title: memory for memory in request.memories}
        if not all(title in standing for title in titles):
            return False
        for title in titles:
            self._keeper.seen_again(request.location_id, standing[title], request.context.turn, episode)
        return True

    def _ask(self, request: SynthesisRequest, episode: int | str) -> MemorySynthesisResponse | None:
        """Ask, and apply the answer; None: there was none, or it could not be kept."""
        location_id, context = request.location_id, request.context
        self._counts.synthesis_calls += 1
        answer = self._synthesizer.synthesize(request)
        if answer is None:
            self._counts.synthesis_failures += 1
            self._log.warning(
                "no answer about what to remember", extra={"location_id": location_id, "turn": context.turn}
            )
            return None
        self._counts.synthesized += answer.should_remember
        return answer if self._apply(request, answer, episode) else None

    def _apply(self, request: SynthesisRequest, answer: MemorySynthesisResponse, episode: int | str) -> bool:
        location_id, turn = request.location_id, request.context.turn
        for title in self._existing(request, answer.invalidate_memory_titles):
            self._keeper.invalidate(location_id, title, answer.invalidation_reason or "", turn)
            self._never_again(title)
        if not answer.should_remember:
            return True
        memory = self._checked(request, answer, episode)
        # What the game itself has just said is news, however often it was read elsewhere.
        said = one_line(request.response).casefold()
        if one_line(memory.text).casefold() not in said and self._is_echo(location_id, memory):
            self._counts.echoes += 1
            self._keeper.ignore(location_id, memory, "the agent had been shown it elsewhere")
            return True
        if self._keeper.is_forbidden(location_id, request.location_name, memory):
            return True
        titles = self._existing(request, answer.supersedes_memory_titles)
        titles = self._keeper.replaceable(location_id, titles, memory)
        if memory.persistence != "ephemeral":
            self._never_again(*titles)
        if titles and self._keeper.supersede(location_id, request.location_name, titles, memory, turn):
            return True
        # Also where the old one may not be replaced: what was learned is then true beside it.
        return self._keeper.add(location_id, request.location_name, memory)

    def _never_again(self, *titles: str) -> None:
        """They were proved wrong, or replaced by what lasts: no later episode takes them over."""
        if self._judged is not None:
            self._judged.judge_anew(titles)

    def _existing(self, request: SynthesisRequest, titles: set[str]) -> list[str]:
        found = []
        for title in sorted(titles):
            memory = meant(title, request.memories)
            if memory is None:
                self._counts.unknown_titles += 1
                self._log.warning("no memory of this title", extra={"location_id": request.location_id, "title": title})
            elif memory.title not in found:
                found.append(memory.title)
        return found

    def _checked(self, request: SynthesisRequest, answer: MemorySynthesisResponse, episode: int | str) -> Memory:
        context = request.context
        memory = Memory(
            answer.category,
            answer.memory_title,
            episode,
            str(context.turn),
            context.score_delta,
            answer.memory_text,
            answer.persistence,
            answer.status if answer.status != MemoryStatus.SUPERSEDED else MemoryStatus.ACTIVE,
        )
        if memory.persistence == "ephemeral":
            return memory
        thing = self._handled.put_there(request.location_id, f"{memory.title}. {memory.text}")
        if thing is not None:
            self._counts.persistence_corrected += 1
            self._log.warning(
                "%s about where the agent has put something kept for the episode",
                memory.persistence,
                extra={"title": memory.title, "thing": thing, "turn": context.turn},
            )
            return replace(memory, persistence="ephemeral")
        if memory.persistence == "permanent":
            return memory
        if changed_by_action(memory, context):
            self._counts.core_by_own_action += 1
            self._log.info("core by the agent's own doing kept for the episode", extra={"title": memory.title})
            return replace(memory, persistence="ephemeral")
        if not context.first_visit:
            self._counts.core_validation_downgrade += 1
            self._log.warning(
                "core on a later visit kept as permanent", extra={"title": memory.title, "turn": context.turn}
            )
            return replace(memory, persistence="permanent")
        return memory


def changed_by_action(memory: Memory, context: ZMachineContext) -> bool:
    """Whether the memory is about an object that this very action moved or changed."""
    words = _words(f"{memory.title} {memory.text}")
    rooms = {context.location_before, context.location_after}
    for item in (*context.moved, *context.changed):
        # A room's own attributes are the game's notes, that it was visited for instance.
        name = _words(item.name) if item.number not in rooms else []
        # "lantern" for the "brass lantern": the noun stands last.
        if name and (f" {name[-1]} " in f" {' '.join(words)} "):
            return True
    return False


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
