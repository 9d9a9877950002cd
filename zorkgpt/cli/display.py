"""What a person sees while episodes are played: panels where there is room, else lines, plain ones in a pipe."""

from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from orchestration.players import PlayerChoice
from session.history import TurnRecord
from zorkgpt.cli.lines import RESPONSE_LIMIT, printable, rejected, remembered, repeated, score_line, style_of
from zorkgpt.cli.pace import Pace
from zorkgpt.cli.panels import PanelDisplay
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted

if TYPE_CHECKING:
    from orchestration.zork_orchestrator_v2 import Watcher

_WIDE, _HIGH = 100, 26
_NARROWEST = 20
_PACE_EVERY_TURNS = 50
SHOWN_FOR_S = 0.05
"""A turn stays on the panels for so long at least: the players without a model are too quick to be watched."""


def console_for(stream: TextIO) -> Console:
    """A console without markup or highlighting: what it prints is data. Honours NO_COLOR."""
    console = Console(file=stream, markup=False, highlight=False, soft_wrap=not stream.isatty())
    if console.width < _NARROWEST:
        console.width = _NARROWEST
    return console


def display_for(
    console: Console, title: str, choice: PlayerChoice, pace: Pace, *, shown_for_s: float = SHOWN_FOR_S
) -> "Watcher":
    """The display that fits the terminal.

    Args:
        pace: is told of every turn before the display is.
    """
    heading = f"{title} — player: {choice.kind} ({choice.why})"
    if console.is_terminal and console.width >= _WIDE and console.height >= _HIGH:
        return PanelDisplay(console, heading, pace, shown_for_s)
    return LineDisplay(console, heading, pace)


class LineDisplay:
    """A few lines for each turn."""

    def __init__(self, console: Console, heading: str, pace: Pace) -> None:
        self._console = console
        self._heading: str | None = heading
        self._pace = pace

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
            console.print(Text("    " + printable(rejected(rejection)), "yellow"))
        head = f"[{record.episode}.{record.turn}] {place} ({score_line(step.after.score, None)})"
        console.print(
            Text.assemble((printable(head), "dim"), " > ", (printable(step.action), "bold"), (repeated(record), "dim"))
        )
        console.print(Text(printable(step.response.strip(), RESPONSE_LIMIT)))
        if record.memory_shown:
            known = record.memory_shown.count("\n") + 1
            console.print(Text(f"    knew {known} {'thing' if known == 1 else 'things'} about this place", "dim"))
        for event in record.memory_events:
            console.print(Text("    " + printable(remembered(event)), style_of(event)))
        if record.turn % _PACE_EVERY_TURNS == 0:
            console.print(Text(f"── {self._pace.position()}  {self._pace.speed()} ──", "dim"))

    def episode_ended(self, event: EpisodeEnded) -> None:
        score = score_line(event.score, event.max_score)
        self._console.print(
            Text(f"── Episode {event.episode} ends: {event.reason}, {score}, {event.turns} turns ──", "bold")
        )
        if event.message:
            self._console.print(Text(printable(event.message), "red"))


class BarDisplay:
    """A single line that goes when it is done, for a run of which only the summary is wanted."""

    def __init__(self, console: Console, pace: Pace) -> None:
        self._pace = pace
        self._progress = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), console=console, transient=True
        )
        self._task = self._progress.add_task("", total=None)

    def episode_started(self, event: EpisodeStarted) -> None:
        self._progress.start()

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._progress.start()

    def turn_played(self, record: TurnRecord) -> None:
        pace = self._pace
        self._progress.update(
            self._task,
            description=f"{pace.position()}  {pace.speed()}",
            completed=pace.turns_played,
            total=pace.turns_played + pace.turns_left,
        )

    def episode_ended(self, event: EpisodeEnded) -> None:
        self._progress.stop()
