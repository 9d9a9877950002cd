"""The displays of a running game: a live screen if the terminal is large enough, otherwise one line per turn."""

import os
import re
import time
from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestration.player_choice import PlayerChoice
from session.history import Rejection, TurnRecord
from zorkgpt.cli.status import RunProgress, StatusLine
from zorkgpt.delegating_players import FOLLOWED
from zorkgpt.memory.models import MemoryEvent, PlaceKey
from zorkgpt.runlog.events import EpisodeEnded, EpisodeEnding, EpisodeResumed, EpisodeStarted, PlayerKind
from zorkgpt.text import number_of, printable, visible

_MIN_WIDTH, _MIN_HEIGHT = 80, 24
"""The smallest terminal with a live screen."""
_FULL_WIDTH, _FULL_HEIGHT = 100, 26
"""The smallest terminal with the side panels beside the story."""
_HEADER_HEIGHT = 3
_COMPACT_PANEL_HEIGHT = 5
_NARROWEST = 20
_FRAMES_PER_S = 10
LINGER_S = 0.5
"""How long a turn that scores or ends the game stays on the screen. The rules play too fast to watch otherwise."""
_NOTICE_TURNS = 3
"""The number of further turns during which a notice is shown."""
RESPONSE_LIMIT = 600
"""Characters of the game's response that a display shows."""
_LEFT_OUT = " […] "
_CHOOSERS = {
    FOLLOWED: ("following the best line", "end of the best line"),
    PlayerKind.RULES: ("chosen by the rules", "chosen by the model again"),
}
"""What is said at the first turn that another player chose, and at the first turn after its turns."""
_NOTHING_NEW = ("seen again", "ignored")
"""Kinds of memory events that added nothing new."""
_WITH_TEXT = ("added", "edited")
"""Kinds of memory events that are shown as the text of the memory."""
_SIGN = {
    "added": "+",
    "edited": "~",
    "merged": "=",
    "superseded": "~",
    "contested": "?",
    "qualified": "~",
    "invalidated": "✗",
}


def console_for(stream: TextIO) -> Console:
    """Return a console without markup. It honors NO_COLOR and treats a dumb terminal as a pipe."""
    dumb = os.environ.get("TERM") in ("dumb", "unknown")
    console = Console(
        file=stream,
        markup=False,
        highlight=False,
        soft_wrap=not stream.isatty(),
        force_terminal=False if dumb else None,
    )
    if console.width < _NARROWEST:
        console.width = _NARROWEST
    return console


def display_for(
    line: StatusLine, title: str, choice: PlayerChoice, progress: RunProgress, *, linger_s: float = LINGER_S
) -> "LineDisplay | ScreenDisplay":
    """Return the display that fits the terminal.

    Args:
        line: Shows the status while the display doesn't.
        progress: A watcher that receives each turn before the display.
    """
    console = line.console
    model = choice.agent_model
    heading = f"{title} — player: {f'{choice.kind} {model}' if model else choice.kind}"
    if console.is_terminal and console.width >= _MIN_WIDTH and console.height >= _MIN_HEIGHT:
        return ScreenDisplay(line, heading, progress, choice.kind, linger_s=linger_s)
    return LineDisplay(console, heading, choice.kind)


class LineDisplay:
    """A display that prints one line per turn and one per episode."""

    def __init__(self, console: Console, heading: str, player: str) -> None:
        self._console = console
        self._heading = heading
        self._player = self._chooser = player

    def episode_started(self, event: EpisodeStarted) -> None:
        self._chooser = self._player
        self._print_heading()

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._print_heading()
        self._print(f"Episode {event.episode} resumed after turn {event.turn}", "bold")

    def _print_heading(self) -> None:
        self._print(self._heading, "bold")
        self._heading = ""

    def turn_played(self, record: TurnRecord) -> None:
        step = record.transition
        place = step.before.location.name if step.before.location else "?"
        label = chooser_label(record, self._chooser, self._player)
        self._chooser = record.player
        self._print(
            f"[{record.episode}.{record.turn}] {place} > {step.action}{label}{_scored(record)}", score_style(record)
        )

    def episode_ended(self, event: EpisodeEnded) -> None:
        self._print(ending_line(event), "bold")

    def close(self) -> None:
        """Do nothing. Only `ScreenDisplay` has to restore the terminal."""

    def _print(self, line: str, style: str) -> None:
        if line:
            # On a terminal, a longer line would wrap.
            text = Text(visible(line), style)
            self._console.print(text, no_wrap=True, overflow="ellipsis" if self._console.is_terminal else "ignore")


class ScreenDisplay:
    """A live screen with the story, the memories shown to the player, and the memories it learned.

    The memory panels are beside the story on a large terminal and below it on a small one.

    Args:
        line: Shows the status before the first episode.
        player: The run's player. Turns chosen by another player are labeled.
        linger_s: How long a turn that scores or ends the game stays on the screen.
    """

    def __init__(
        self, line: StatusLine, heading: str, progress: RunProgress, player: str, *, linger_s: float = LINGER_S
    ) -> None:
        self._line = line
        self._console = line.console
        self._player = self._chooser = player
        self._linger_s = linger_s
        self._heading = visible(heading)
        self._progress = progress
        self._blocks: deque[Text] = deque(maxlen=12)
        """The last turns of this episode."""
        self._last: TurnRecord | None = None
        """The last turn of this episode."""
        self._learned: dict[tuple[PlaceKey | None, str, str], Text] = {}
        """The last change of each lasting memory of this episode, newest last, by place or other subject, and title."""
        self._scores: list[str] = []
        """The final scores of finished episodes."""
        self._opening = self._ending = self._notice = ""
        self._notice_turns = 0
        """The turns for which the notice is still shown."""
        self._live: Live | None = None
        self._changing = Lock()

    def episode_started(self, event: EpisodeStarted) -> None:
        self._begin(event.opening)

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._begin(f"Episode {event.episode} resumed after turn {event.turn}.")

    def _begin(self, text: str) -> None:
        with self._changing:
            self._blocks.clear()
            self._learned.clear()
            self._last, self._chooser = None, self._player
            self._opening, self._ending = text, ""
        if self._live is None:
            self._line.hide()
            self._line.screen = self._notify
            self._live = Live(
                get_renderable=self.frame,
                console=self._console,
                refresh_per_second=_FRAMES_PER_S,
                screen=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start(refresh=True)

    def _notify(self, message: str) -> None:
        with self._changing:
            self._notice, self._notice_turns = message, _NOTICE_TURNS

    def turn_played(self, record: TurnRecord) -> None:
        with self._changing:
            self._notice_turns -= 1
            if self._notice_turns < 0:
                self._notice = ""
            self._blocks.append(_turn_block(record, chooser_label(record, self._chooser, self._player)))
            self._last, self._chooser = record, record.player
            for event in record.memory_events:
                self._note_learned(event, record)
        step = record.transition
        if step.before.score != step.after.score or step.finished:
            self._linger()

    def _note_learned(self, event: MemoryEvent, record: TurnRecord) -> None:
        """Record a change of a memory. Ephemeral ones describe the running episode, so they are not learned."""
        if event.kind in _NOTHING_NEW or not event.persistence.outlives_episode:
            return
        key = event.location_id, event.subject, event.title
        self._learned.pop(key, None)
        if event.kind != "removed":
            self._learned[key] = Text(printable(memory_line(event, _place_name(event, record))), style_of(event))

    def episode_ended(self, event: EpisodeEnded) -> None:
        with self._changing:
            self._ending = ending_line(event)
            self._scores.append("?" if event.score is None else str(event.score))
        self._linger()

    def _linger(self) -> None:
        if self._live and self._linger_s:
            self._live.refresh()
            time.sleep(self._linger_s)

    def close(self) -> None:
        """Restore the terminal."""
        if self._live:
            self._live.stop()
            self._live = self._line.screen = None

    def frame(self) -> RenderableType:
        """Return the current content of the screen."""
        with self._changing:
            blocks, last, learned = list(self._blocks), self._last, list(self._learned.values())
        width, height = self._console.size
        layout, body, side = Layout(), Layout(), Layout()
        layout.split_column(Layout(self._header(last, width), size=_HEADER_HEIGHT), body)
        height -= _HEADER_HEIGHT
        if width >= _FULL_WIDTH and height + _HEADER_HEIGHT >= _FULL_HEIGHT:
            story_size, side_size = (width * 3 // 5, height), (width - width * 3 // 5, height // 2)
            body.split_row(Layout(self._story(blocks, last, *story_size), size=story_size[0]), side)
        else:
            story_size, side_size = (width, height - 2 * _COMPACT_PANEL_HEIGHT), (width, _COMPACT_PANEL_HEIGHT)
            body.split_column(Layout(self._story(blocks, last, *story_size), size=story_size[1]), side)
        side.split_column(Layout(self._shown_panel(last, *side_size)), Layout(self._learned_panel(learned, *side_size)))
        return layout

    def _header(self, last: TurnRecord | None, width: int) -> RenderableType:
        progress = self._progress
        score = score_line(last.after.score, None) if last else "0"
        cells: list[RenderableType] = [
            Text(self._heading, overflow="ellipsis"),
            Text(f"{progress.position()}  score {score}", "bold"),
        ]
        if width >= _FULL_WIDTH:
            total = max(1, progress.turns_played + progress.turns_left)
            cells.append(ProgressBar(total=total, completed=progress.turns_played, width=20))
        line = Table.grid(expand=True, padding=(0, 1))
        line.add_column(ratio=1, no_wrap=True)
        line.add_row(*cells)
        scores = Text(f"scores so far: {', '.join(self._scores)}") if self._scores else None
        return Panel(line, title=scores, title_align="right", subtitle=Text(progress.speed()), subtitle_align="right")

    def _story(self, blocks: list[Text], last: TurnRecord | None, width: int, height: int) -> RenderableType:
        """Return the last lines that fit. The middle of the last turn is left out if it is too long."""
        room = height - 2
        blocks = blocks or [Text(printable(self._opening).strip())]
        blocks += [Text(printable(text), "bold yellow") for text in (self._notice, self._ending) if text]
        wrapped = [list(block.wrap(self._console, width - 4)) for block in blocks]
        newest = wrapped[-1]
        if len(newest) > room:
            lines = [newest[0], Text("[…]", "dim"), *newest[2 - room :]]
        else:
            lines = [line for block in wrapped for line in (Text(), *block)][1:][-room:]
        place = last.after.location if last else None
        chooser = _CHOOSERS[last.player][0] if last and last.player in _CHOOSERS and last.player != self._player else ""
        title = ", ".join(filter(None, (place.name if place else "Story", chooser)))
        status = self._line.status.line()
        return Panel(
            Group(*lines),
            title=Text(printable(title)),
            subtitle=Text(f" {printable(status)} … ", "bold yellow") if status else None,
            subtitle_align="left",
            border_style="cyan",
            height=height,
        )

    def _shown_panel(self, last: TurnRecord | None, width: int, height: int) -> RenderableType:
        """Return the memories shown to the player before the last action."""
        place = last.before.location if last else None
        lines = printable(last.memory_shown).splitlines() if last else []
        title = number_of(len(lines), "memory shown", "memories shown") if lines else "No memories shown"
        title = f"{title} ({printable(place.name)})" if place else title
        return self._side_panel([Text(line) for line in lines], title, "green", width, height)

    def _learned_panel(self, learned: Sequence[Text], width: int, height: int) -> RenderableType:
        return self._side_panel(learned[::-1], "Learned in this episode (newest first)", "magenta", width, height)

    def _side_panel(self, lines: Sequence[Text], title: str, style: str, width: int, height: int) -> RenderableType:
        """Return a panel with the first lines and a count of the lines that don't fit."""
        room, compact = height - 2, height <= _COMPACT_PANEL_HEIGHT
        rows: list[Text] = []
        for number, line in enumerate(lines):
            wrapped = [line] if compact else list(line.wrap(self._console, width - 4))
            is_last = number == len(lines) - 1
            if rows and len(rows) + len(wrapped) > (room if is_last else room - 1):
                rows.append(Text(f"({len(lines) - number} more)", "dim"))
                break
            rows += wrapped
        for row in rows:
            row.no_wrap, row.overflow = True, "ellipsis"
        body = rows or [Text("none", "dim")]
        return Panel(Group(*body), title=Text(title), border_style=style, height=height)


def _turn_block(record: TurnRecord, label: str) -> Text:
    step = record.transition
    place = step.before.location.name if step.before.location else "?"
    refusals = "".join(f"{printable(rejection_line(rejection))}\n" for rejection in record.rejections)
    return Text.assemble(
        (refusals, "yellow"),
        (f"{record.turn} {printable(place)} ", "dim"),
        (f"> {printable(step.action)}", "bold"),
        (printable(label), "dim"),
        (_scored(record), score_style(record)),
        "\n",
        shortened(step.response.strip(), RESPONSE_LIMIT),
    )


def _scored(record: TurnRecord) -> str:
    return f"  score {score_change(record)}" if record.before.score != record.after.score else ""


def ending_line(event: EpisodeEnded) -> str:
    """Return one line about a finished episode."""
    counts = (
        number_of(event.turns, "turn", "turns"),
        number_of(event.places, "place", "places"),
        number_of(sum(event.memories.values()), "memory", "memories"),
    )
    problem = f" ({event.message})" if event.message and event.reason != EpisodeEnding.INTERRUPTED else ""
    score = score_line(event.score, event.max_score)
    return f"Episode {event.episode} ended: {event.reason}{problem}, score {score}, {', '.join(counts)}"


def score_line(score: int | None, most: int | None) -> str:
    """Return a score and the maximum, such as `35/100`. The maximum is left out if unknown."""
    if score is None:
        return "score unknown"
    return f"{score}" if most is None else f"{score}/{most}"


def score_change(record: TurnRecord) -> str:
    """Return the score after a turn, and its change if any: `4`, `4 → 6 (+2)`."""
    points, after = record.transition.points, record.after.score
    return f"{record.before.score} → {after} ({points:+d})" if points else score_line(after, None)


def score_style(record: TurnRecord) -> str:
    """Return the style of a turn: green for gains, red for losses."""
    points = record.transition.points
    return "bold green" if points > 0 else "bold red" if points < 0 else "dim"


def chooser_label(record: TurnRecord, before: str, player: str) -> str:
    """Return a label if another player chose the turn than the one before, otherwise "".

    Args:
        before: The player of the turn before. For the first turn, the run's player.
        player: The run's player.
    """
    if record.player in (before, ""):
        return ""
    if record.player == player:
        return f"  ({_CHOOSERS[before][1]})" if before in _CHOOSERS else ""
    return f"  ({_CHOOSERS[record.player][0] if record.player in _CHOOSERS else f'chosen by {record.player}'})"


def shortened(text: str, limit: int) -> str:
    """Return the text without control characters and repeated blank lines. The middle of a long text is left out."""
    clean = re.sub(r"\n\s*\n", "\n\n", printable(text))
    if len(clean) <= limit:
        return clean
    # The effect of an action is usually at the end of the response.
    half = limit // 2 - len(_LEFT_OUT)
    head, tail = clean[:half], clean[-half:]
    return f"{head[: head.rfind(' ')] if ' ' in head else head}{_LEFT_OUT}{tail[tail.find(' ') + 1 :]}"


def rejection_line(rejection: Rejection) -> str:
    """Return a line about a rejected action."""
    return f"! rejected: {rejection.action} ({rejection.reason})"


def memory_line(event: MemoryEvent, place: str) -> str:
    """Return a line about a change of a memory.

    Args:
        place: The name of its place. "" if unknown.
    """
    where = f" ({place})" if place else ""
    line = f"{event.title}{where}"
    if event.kind in _WITH_TEXT and event.text:
        line += f": {' '.join(event.text.split())}"
    else:
        line = f"{event.kind}: {line}" + (f" ({event.detail})" if event.detail else "")
    return f"{_SIGN.get(event.kind, ' ')} {line}"


def _place_name(event: MemoryEvent, record: TurnRecord) -> str:
    """Return the name of a memory's place if the player was there on this turn, otherwise ""."""
    step = record.transition
    near = (location for location in (step.before.location, step.after.location) if location)
    return next((location.name for location in near if location.num == event.location_id), "")


def style_of(event: MemoryEvent) -> str:
    """Return the style of a line about a memory."""
    styles = {"added": "green", "superseded": "yellow", "invalidated": "red"}
    return styles.get(event.kind, "dim")
