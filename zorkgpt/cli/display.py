"""What a person sees while episodes are played: panels where there is room, else lines."""

import time
from collections import deque
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestration.players import PlayerChoice
from orchestration.zork_orchestrator_v2 import Watcher
from session.history import Rejection, TurnRecord
from zorkgpt.cli.progress import RunProgress
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.returning import RETURN
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted

_WIDE, _HIGH = 100, 26
_NARROWEST = 20
_PROGRESS_EVERY_TURNS = 50
SHOWN_FOR_S = 0.05
"""The shortest time that a turn stays on the panels: players without a model are too fast to watch."""
RESPONSE_LIMIT = 400
"""Characters of the game's response that a display shows."""
_SIGN = {
    "added": "+",
    "seen again": "=",
    "merged": "=",
    "superseded": "~",
    "contested": "?",
    "qualified": "~",
    "invalidated": "✗",
    "ignored": "·",
}


def console_for(stream: TextIO) -> Console:
    """Return a console without markup or highlighting, since what it prints is data. Honours NO_COLOR."""
    console = Console(file=stream, markup=False, highlight=False, soft_wrap=not stream.isatty())
    if console.width < _NARROWEST:
        console.width = _NARROWEST
    return console


def display_for(
    console: Console, title: str, choice: PlayerChoice, progress: RunProgress, *, shown_for_s: float = SHOWN_FOR_S
) -> Watcher:
    """Return the display that fits the terminal.

    Args:
        progress: a watcher that is told of every turn before the display is.
    """
    heading = f"{title} — player: {choice.kind} ({choice.why})"
    if console.is_terminal and console.width >= _WIDE and console.height >= _HIGH:
        return PanelDisplay(console, heading, progress, shown_for_s)
    return LineDisplay(console, heading, progress)


class LineDisplay:
    """Prints a few lines for each turn."""

    def __init__(self, console: Console, heading: str, progress: RunProgress) -> None:
        self._console = console
        self._heading: str | None = heading
        self._progress = progress

    def episode_started(self, event: EpisodeStarted) -> None:
        self._begin(f"Episode {event.episode}")
        self._console.print(printable(event.opening))

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._begin(f"Episode {event.episode} goes on after turn {event.turn}")

    def _begin(self, what: str) -> None:
        if self._heading:
            self._console.print(Text(printable(self._heading), "bold"))
            self._heading = None
        self._console.print(Text(f"\n── {what} ──", "bold"))

    def turn_played(self, record: TurnRecord) -> None:
        step, console = record.transition, self._console
        place = step.before.location.name if step.before.location else "?"
        for rejection in record.rejections:
            console.print(Text("    " + printable(rejection_line(rejection)), "yellow"))
        head = f"[{record.episode}.{record.turn}] {place} ({score_line(step.after.score, None)})"
        console.print(
            Text.assemble(
                (printable(head), "dim"), " > ", (printable(step.action), "bold"), (returning_label(record), "dim")
            )
        )
        console.print(Text(printable(step.response.strip(), RESPONSE_LIMIT)))
        if record.memory_shown:
            known = record.memory_shown.count("\n") + 1
            console.print(Text(f"    knew {known} {'thing' if known == 1 else 'things'} about this place", "dim"))
        for event in record.memory_events:
            console.print(Text("    " + printable(memory_line(event)), style_of(event)))
        if record.turn % _PROGRESS_EVERY_TURNS == 0:
            console.print(Text(f"── {self._progress.position()}  {self._progress.speed()} ──", "dim"))

    def episode_ended(self, event: EpisodeEnded) -> None:
        score = score_line(event.score, event.max_score)
        self._console.print(
            Text(f"── Episode {event.episode} ends: {event.reason}, {score}, {event.turns} turns ──", "bold")
        )
        if event.message:
            self._console.print(Text(printable(event.message), "red"))


class BarDisplay:
    """Draws a progress bar that disappears at the end, for a run of which only the summary is wanted."""

    def __init__(self, console: Console, progress: RunProgress) -> None:
        self._progress = progress
        self._bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), console=console, transient=True
        )
        self._task = self._bar.add_task("", total=None)

    def episode_started(self, event: EpisodeStarted) -> None:
        self._bar.start()

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._bar.start()

    def turn_played(self, record: TurnRecord) -> None:
        progress = self._progress
        self._bar.update(
            self._task,
            description=f"{progress.position()}  {progress.speed()}",
            completed=progress.turns_played,
            total=progress.turns_played + progress.turns_left,
        )

    def episode_ended(self, event: EpisodeEnded) -> None:
        self._bar.stop()


class PanelDisplay:
    """Redraws one screen: the story on the left; on the right what is known of the place and what was learned."""

    def __init__(self, console: Console, heading: str, progress: RunProgress, shown_for_s: float) -> None:
        self._console = console
        self._shown_for_s = shown_for_s
        self._heading = printable(heading)
        self._progress = progress
        self._turns: deque[TurnRecord] = deque(maxlen=12)
        self._learned: deque[MemoryEvent] = deque(maxlen=14)
        self._opening = ""
        self._live: Live | None = None
        self._drawn = 0.0

    def episode_started(self, event: EpisodeStarted) -> None:
        self._begin(event.opening)

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._begin(f"Episode {event.episode} goes on after turn {event.turn}.")

    def _begin(self, text: str) -> None:
        self._turns.clear()
        self._learned.clear()
        self._opening = text
        self._live = Live(self.frame(), console=self._console, auto_refresh=False, screen=True)
        self._live.start(refresh=True)

    def turn_played(self, record: TurnRecord) -> None:
        self._turns.append(record)
        self._learned.extend(record.memory_events)
        if self._live:
            time.sleep(max(0.0, self._drawn + self._shown_for_s - time.monotonic()))
            self._drawn = time.monotonic()
            self._live.update(self.frame(), refresh=True)

    def episode_ended(self, event: EpisodeEnded) -> None:
        if self._live:
            self._live.update(self.frame(), refresh=True)
            self._live.stop()
            self._live = None
        score = score_line(event.score, event.max_score)
        self._console.print(
            Text(
                f"Episode {event.episode}: {event.reason}, score {score}, {event.turns} turns, "
                f"{event.places} places, {sum(event.memories.values())} memories"
            )
        )
        if event.message:
            self._console.print(Text(printable(event.message), "red"))

    def frame(self) -> RenderableType:
        """Return the screen as it is now."""
        height = self._console.height
        layout = Layout()
        layout.split_column(Layout(self._header(), size=3), Layout(name="body"))
        layout["body"].split_row(Layout(self._story(height - 5), ratio=3), Layout(name="memory", ratio=2))
        layout["memory"].split_column(Layout(self._known()), Layout(self._made()))
        return layout

    def _header(self) -> RenderableType:
        last = self._turns[-1] if self._turns else None
        line = Table.grid(expand=True, padding=(0, 2))
        line.add_column(ratio=1, no_wrap=True)
        line.add_column(justify="right", no_wrap=True)
        progress = self._progress
        score = score_line(last.transition.after.score, None) if last else "0"
        bar = ProgressBar(
            total=max(1, progress.turns_played + progress.turns_left), completed=progress.turns_played, width=20
        )
        position = Table.grid(padding=(0, 1))
        position.add_row(Text(f"{progress.position()}  score {score}", "bold"), bar)
        line.add_row(Text(self._heading, overflow="ellipsis"), position)
        return Panel(line, subtitle=Text(progress.speed()), subtitle_align="right")

    def _story(self, height: int) -> RenderableType:
        """Return as many of the last turns as fit."""
        width = max(20, self._console.width * 3 // 5 - 6)
        blocks: deque[Text] = deque()
        room = height
        for record in reversed(self._turns):
            block = _turn_block(record)
            room -= len(block.wrap(self._console, width)) + 1
            if room < 0 and blocks:
                break
            blocks.appendleft(block)
        if not self._turns:
            blocks.append(Text(printable(self._opening)))
        last = self._turns[-1].transition.after.location if self._turns else None
        title = printable(last.name) if last else "the story"
        return Panel(Group(*(Group(block, Text("")) for block in blocks)), title=Text(title), border_style="cyan")

    def _known(self) -> RenderableType:
        shown = self._turns[-1].memory_shown if self._turns else ""
        body = Text(printable(shown) or "nothing yet", "" if shown else "dim")
        return Panel(body, title="what was known of this place", border_style="green")

    def _made(self) -> RenderableType:
        lines = [
            Text(printable(memory_line(event)), style_of(event), no_wrap=True, overflow="ellipsis")
            for event in self._learned
        ]
        return Panel(
            Group(*lines) if lines else Text("nothing yet", "dim"), title="what was remembered", border_style="magenta"
        )


def _turn_block(record: TurnRecord) -> Text:
    step = record.transition
    place = step.before.location.name if step.before.location else "?"
    refusals = "".join(f"{printable(rejection_line(rejection))}\n" for rejection in record.rejections)
    return Text.assemble(
        (refusals, "yellow"),
        (f"{record.turn} {printable(place)} ", "dim"),
        (f"> {printable(step.action)}", "bold"),
        (returning_label(record), "dim"),
        "\n",
        printable(step.response.strip(), RESPONSE_LIMIT),
    )


def printable(text: str, limit: int | None = None) -> str:
    """Return the text without control characters, cut to `limit` characters."""
    clean = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
    return clean if limit is None or len(clean) <= limit else clean[: limit - 1] + "…"


def score_line(score: int | None, most: int | None) -> str:
    """Return a score with the highest possible one, as far as they are known."""
    if score is None:
        return "score unknown"
    return f"{score}" if most is None else f"{score}/{most}"


def returning_label(record: TurnRecord) -> str:
    """Return the label of a turn whose command was repeated from an earlier episode."""
    return "  (returning)" if record.player == RETURN else ""


def rejection_line(rejection: Rejection) -> str:
    """Return a line about a proposal that was not played, and why."""
    return f"! not played: {rejection.action} — {rejection.reason}"


def memory_line(event: MemoryEvent) -> str:
    """Return a line about what happened to a memory."""
    kind = f"{event.category} {event.persistence}".strip().lower()
    detail = f" — {event.detail}" if event.detail else ""
    return f"{_SIGN.get(event.kind, ' ')} {event.kind}: {event.title} [{kind}]{detail}"


def style_of(event: MemoryEvent) -> str:
    """Return the style that a line about a memory is printed in."""
    styles = {"added": "green", "seen again": "dim", "superseded": "yellow", "invalidated": "red"}
    return styles.get(event.kind, "dim")
