"""Indexes of an episode's two logs: the position of each turn and model call, and the columns of all turns."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from session.history import TurnRecord
from session.outcome import failed
from zorkgpt.directions import exit_name
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.runlog.episodes import is_played
from zorkgpt.runlog.events import SCHEMA_VERSION, from_record
from zorkgpt.text import normalized_action
from zorkgpt.viewer.json_lines import JsonLines, cut, number, objects, text, whole_number

_CHARACTERS = 400_000
_SEARCHED_CHARACTERS = 100_000
_ACTION_CHARACTERS = 500
_SHOWN_LINE = re.compile(r"[-* ]{0,4}\[[^\]]{1,60}\] (.{1,400})")
_TITLE_COLONS = 4


Span = tuple[int, int]
"""The first byte and the length of a line."""


class LogIndex:
    """An index of a growing log, with the position of each turn or model call."""

    def __init__(self, path: Path) -> None:
        self.generation = 0
        """Incremented when records already sent to the page become invalid."""
        self._reset(path)

    def _reset(self, path: Path) -> None:
        self.lines = JsonLines(path)

    def refresh(self) -> bool:
        """Read new lines. Return whether there were any."""
        if self.lines.was_replaced():
            self.generation += 1
            self._reset(self.lines.path)
        before = self.lines.end
        for start, length, record in self.lines.new():
            self._add_record(record, (start, length))
        return self.lines.end != before

    def _add_record(self, record: dict[str, Any], span: Span) -> None:
        raise NotImplementedError


class CallIndex(LogIndex):
    """An index of `model_calls.jsonl`."""

    def _reset(self, path: Path) -> None:
        super()._reset(path)
        self.calls: list[dict[str, Any]] = []
        """All fields except the texts."""
        self._spans: list[Span] = []
        self._searched: list[bytes] = []
        """The lowercase texts of the calls read so far. Filled by searches only, since the texts are large."""
        self._of_turn: dict[int, list[int]] = {}

    def _add_record(self, record: dict[str, Any], span: Span) -> None:
        if _later_version(record):
            self.lines.unreadable += 1
        elif record.get("event") == "model_called":
            turn = whole_number(record.get("turn")) or 0
            self._of_turn.setdefault(turn, []).append(len(self.calls))
            self.calls.append(_brief(record, len(self.calls), turn))
            self._spans.append(span)

    def containing(self, query: str) -> list[int]:
        """Return the indexes of the calls whose prompt or answer contains a lowercase query."""
        for record in self.lines.several(self._spans[len(self._searched) :]):
            self._searched.append("\n".join(call_texts(record)).lower().encode(errors="replace"))
        needle = query.encode(errors="replace")
        return [index for index, texts in enumerate(self._searched) if needle in texts]

    def of_turn(self, turn: int) -> list[dict[str, Any]]:
        return [self.calls[index] for index in self._of_turn.get(turn, ())]

    def whole(self, index: int) -> dict[str, Any] | None:
        """Return a call with its exact prompt and answer. None if there is no such call."""
        if not 0 <= index < len(self.calls):
            return None
        record = self.lines.at(*self._spans[index])
        messages = [
            {"speaker": cut(message.get("speaker"), 50), "content": cut(message.get("content"), _CHARACTERS)}
            for message in objects(record.get("messages"))
        ]
        return self.calls[index] | {
            "messages": messages,
            "sections": prompt_sections(messages),
            "answer": cut(record.get("answer"), _CHARACTERS),
            "reasoning": cut(record.get("reasoning"), _CHARACTERS),
        }


def _later_version(record: dict[str, Any]) -> int | None:
    """Return the schema version of a record written by a newer version of this program. None for any other."""
    version = whole_number(record.get("v"))
    return version if version is not None and version > SCHEMA_VERSION else None


def call_texts(record: dict[str, Any]) -> list[str]:
    """Return the texts of a model call that searches include."""
    prompt = [text(message.get("content")) for message in objects(record.get("messages"))]
    return prompt + [text(record.get(name)) for name in ("answer", "reasoning", "error")]


def _brief(record: dict[str, Any], index: int, turn: int) -> dict[str, Any]:
    return {
        "call": index,
        "turn": turn,
        "role": cut(record.get("role"), 60),
        "model": cut(record.get("model"), 120),
        "prompt_tokens": whole_number(record.get("prompt_tokens")),
        "completion_tokens": whole_number(record.get("completion_tokens")),
        "cost": number(record.get("cost")),
        "latency_s": number(record.get("latency_s")),
        "error": cut(text(record.get("error")), 2000) or None,
        "problem": cut(text(record.get("problem")), 2000) or None,
        "repeats": whole_number(record.get("repeats")) or 0,
    }


FAILED, DIED, VICTORY, REFUSED, REJECTED, WROTE, REPEATED, CONTESTED = (1 << bit for bit in range(8))
SCORED = 1 << 8
"""Bits of the column `marks`."""
_REPEATS = ("seen again", "merged")
NOTED = ("objectives_updated", "knowledge_updated", "returned", "episode_resumed")
"""Kinds of events other than turns. The page shows the latest of each."""


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """What the page needs to know of all turns."""

    turn: int
    place: int | None
    place_after: int | None
    score: int | None
    gain: int
    """The change of the score."""
    marks: int
    """See `FAILED` and the other bits."""
    seconds: float | None
    action: str
    """As the player gave it."""
    searched: str
    """The lowercase texts that searches include."""
    shown: tuple[str, ...]
    """The possible titles of the memories that the player was shown."""
    exits: tuple[tuple[int, str], ...]
    """(room, exit) of the exits that the texts mention."""
    span: Span


class EpisodeIndex(LogIndex):
    """An index of an episode's log."""

    def __init__(self, episode: int, path: Path) -> None:
        super().__init__(path)
        self.episode = episode

    def _reset(self, path: Path) -> None:
        super()._reset(path)
        self.started: dict[str, Any] = {}
        self.ended: dict[str, Any] = {}
        self.later_version: int | None = None
        """The schema version of lines written by a newer version of this program. None if there are none."""
        self.turns: list[IndexedTurn] = []
        self.names: dict[SubjectKey, str] = {}
        self.notes: list[tuple[int, str, Span]] = []
        """(turn, kind, position) of the events in `NOTED`, in order."""

    def __len__(self) -> int:
        return len(self.turns)

    @property
    def unreadable(self) -> int:
        return self.lines.unreadable

    @property
    def half_written(self) -> bool:
        """Whether the file ends in the middle of a line."""
        return self.lines.size() > self.lines.end

    @property
    def age_s(self) -> float:
        """Seconds since the file was last written."""
        return self.lines.age_s()

    @property
    def is_played(self) -> bool | None:
        """Whether a process is playing the episode. None if unknown."""
        return False if self.ended else is_played(self.lines.path.parent)

    @property
    def last_turn(self) -> int:
        return self.turns[-1].turn if self.turns else 0

    def turn(self, index: int) -> TurnRecord | None:
        """Return the turn with this index. None if its line no longer exists."""
        return _turn(self.lines.at(*self.turns[index].span))

    def columns(self, start: int = 0) -> dict[str, list[Any]]:
        """Return the turns from an index on, as a list for each field."""
        turns = self.turns[start:]
        return {
            "turns": [turn.turn for turn in turns],
            "places": [turn.place for turn in turns],
            "places_after": [turn.place_after for turn in turns],
            "scores": [turn.score for turn in turns],
            "marks": [turn.marks for turn in turns],
            "actions": [normalized_action(turn.action) for turn in turns],
        }

    def _add_record(self, record: dict[str, Any], span: Span) -> None:
        kind = record.get("event")
        if later := _later_version(record):
            self.later_version = later
        elif kind == TurnRecord.kind:
            if played := _turn(record):
                self._add_turn(played, span)
            else:
                self.lines.unreadable += 1
        elif kind == "episode_started":
            self.started = record
        elif kind == "episode_ended":
            self.ended = record
        elif kind in NOTED:
            turn = whole_number(record.get("turn"))
            turn = self.last_turn if turn is None else turn
            if kind == "episode_resumed":
                self._discard_from(turn + 1)
                self.ended = {}
            self.notes.append((turn, kind, span))

    def _add_turn(self, turn: TurnRecord, span: Span) -> None:
        self._discard_from(turn.turn)
        for observation in (turn.before, turn.after):
            if observation.location and observation.location.name:
                self.names[observation.location.num] = observation.location.name[:200]
        self.turns.append(_indexed(turn, span))
        self.ended = {}

    def _discard_from(self, turn: int) -> None:
        """Discard this turn and all later ones, which a resumed episode plays again from its checkpoint."""
        if not self.turns or self.last_turn < turn:
            return
        self.generation += 1
        while self.turns and self.last_turn >= turn:
            self.turns.pop()
        self.notes = [note for note in self.notes if note[0] < turn]


def _turn(record: dict[str, Any]) -> TurnRecord | None:
    try:
        turn = from_record(record)
    except (TypeError, ValueError):
        return None
    return turn if isinstance(turn, TurnRecord) and 0 <= turn.turn < 2**53 else None


def _indexed(turn: TurnRecord, span: Span) -> IndexedTurn:
    step = turn.transition
    return IndexedTurn(
        turn=turn.turn,
        place=step.before.location_id,
        place_after=step.after.location_id,
        score=step.after.score,
        gain=step.points,
        marks=_marks(turn),
        seconds=number(turn.duration_s),
        action=step.action[:_ACTION_CHARACTERS],
        searched="\n".join(searched_texts(turn)).lower(),
        shown=tuple(map(sys.intern, _shown_titles(turn.memory_shown))),
        exits=tuple(_mentioned_exits(turn)),
        span=span,
    )


def _mentioned_exits(turn: TurnRecord) -> Iterator[tuple[int, str]]:
    step = turn.transition
    named = [(each.location, each.exits) for each in turn.named_exits]
    if turn.extraction and step.after.location and not (step.refused or step.fault):
        named.append((step.after.location, turn.extraction.exits))
    for place, ways in named:
        for way in ways:
            yield place.num, exit_name(way)


def _shown_titles(memory_shown: str) -> set[str]:
    """Return the possible titles in lines like "[category] title: text".

    A title may contain colons, so a line with several colons has several possible titles.
    """
    titles = set()
    for line in memory_shown[:_SEARCHED_CHARACTERS].splitlines():
        match = _SHOWN_LINE.match(line)
        parts = match[1].split(":", _TITLE_COLONS) if match else []
        titles |= {":".join(parts[:end]) for end in range(1, len(parts))}
    return titles


def searched_texts(turn: TurnRecord) -> list[str]:
    """Return the texts of a turn that searches include. The last ones are shown first."""
    step = turn.transition
    texts = [part for event in turn.memory_events for part in (event.title, event.text)]
    texts += [step.action, step.before.location_name, step.after.location_name, turn.reasoning]
    texts += [step.refused or "", step.fault or "", step.response]
    return [text[:_SEARCHED_CHARACTERS] for text in texts]


def _marks(turn: TurnRecord) -> int:
    step, kinds = turn.transition, {event.kind for event in turn.memory_events}
    marks = (
        (FAILED, failed(step)),
        (DIED, step.died),
        (VICTORY, step.victory),
        (REFUSED, step.refused or step.fault),
        (REJECTED, turn.rejections),
        (WROTE, kinds - {*_REPEATS, "ignored"}),
        (REPEATED, kinds & {*_REPEATS}),
        (CONTESTED, "contested" in kinds),
        (SCORED, step.points),
    )
    return sum(mark for mark, is_set in marks if is_set)


_HEADING = re.compile(r"#{1,2} \S")
_FENCE = re.compile(r"`{3,}")


def prompt_sections(messages: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return the sections of all messages, in order.

    A system message is one section. In other messages, each heading begins a new section.

    Returns:
        A row per section: the index of its `message`, its `heading` ("" if none), its estimated `tokens`, and its
        `length` in UTF-16 code units, as in JavaScript.
    """
    return [
        {
            "message": index,
            "heading": heading,
            "tokens": estimated_tokens(text),
            "length": len(text.encode("utf-16-le", "surrogatepass")) // 2,
        }
        for index, message in enumerate(messages)
        for heading, text in _parts(message["content"], whole=message["speaker"] == "system")
    ]


def _parts(content: str, *, whole: bool) -> Iterator[tuple[str, str]]:
    heading, lines, fence = "", list[str](), ""
    # Not `splitlines`, which also splits at other characters that may occur in the game's texts.
    for line in content.split("\n"):
        if not (whole or fence) and _HEADING.match(line):
            if lines:
                yield heading, "".join(lines)
            heading, lines = cut(line.lstrip("# ").rstrip(), 120), []
        lines.append(f"{line}\n")
        if fence:
            fence = "" if line.strip() == fence else fence
        elif opening := _FENCE.match(line):
            fence = opening[0]
    yield heading, "".join(lines)[:-1]
