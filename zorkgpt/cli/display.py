"""What a person sees while episodes are played: panels where there is room, else lines."""

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
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestration.players import PlayerChoice
from orchestration.zork_orchestrator_v2 import Watcher
from session.history import Rejection, TurnRecord
from zorkgpt.cli.progress import RunProgress
from zorkgpt.cli.status import Status, StatusLine
from zorkgpt.llm.roles import Role
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.returning import RETURN
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted
from zorkgpt.stand_in import RULES
from zorkgpt.text import number_of, printable

_WIDE, _HIGH = 100, 26
_NARROWEST = 20
_PROGRESS_EVERY_TURNS = 50
_FRAMES_PER_S = 10
LINGER_S = 0.5
"""How long a turn that scores or ends the game stays on the panels: players without a model are too fast to watch."""
RESPONSE_LIMIT = 600
"""Characters of the game's response that a display shows."""
_LEFT_OUT = " […] "
_CHOOSERS = {RETURN: "returning", RULES: "chosen by the rules: the model gave no usable answer"}
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
    line: StatusLine, title: str, choice: PlayerChoice, progress: RunProgress, *, linger_s: float = LINGER_S
) -> Watcher:
    """Return the display that fits the terminal.

    Args:
        line: shows what goes on, where the display does not.
        progress: a watcher that is told of every turn before the display is.
    """
    heading = f"{title} — player: {choice.kind} ({_description(choice)})"
    console = line.console
    if console.is_terminal and console.width >= _WIDE and console.height >= _HIGH:
        return PanelDisplay(line, heading, progress, choice.kind, linger_s=linger_s)
    return LineDisplay(console, heading, progress, choice.kind)


def _description(choice: PlayerChoice) -> str:
    if choice.kind == "model" and choice.models:
        return choice.models.of(Role.AGENT).model
    return "rules, no language model" if choice.kind == "rules" else choice.why


class LineDisplay:
    """Prints a few lines for each turn."""

    def __init__(self, console: Console, heading: str, progress: RunProgress, player: str) -> None:
        self._console = console
        self._heading: str | None = heading
        self._progress = progress
        self._player = player

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
        head = f"[{record.episode}.{record.turn}] {place} ({score_change(record)})"
        console.print(
            Text.assemble(
                (printable(head), score_style(record)),
                " > ",
                (printable(step.action), "bold"),
                (printable(chooser_label(record, self._player)), "dim"),
            )
        )
        console.print(Text(shortened(step.response.strip(), RESPONSE_LIMIT)))
        if record.memory_shown:
            known = number_of(record.memory_shown.count("\n") + 1, "thing", "things")
            console.print(Text(f"    knew {known} about {printable(place)}", "dim"))
        for event in record.memory_events:
            console.print(Text("    " + printable(memory_line(event)), style_of(event)))
        if record.turn % _PROGRESS_EVERY_TURNS == 0:
            console.print(Text(f"── {self._progress.position()}  {self._progress.speed()} ──", "dim"))

    def episode_ended(self, event: EpisodeEnded) -> None:
        score = score_line(event.score, event.max_score)
        self._console.print(
            Text(
                f"── Episode {event.episode} ends: {event.reason}, score {score}, "
                f"{number_of(event.turns, 'turn', 'turns')} ──",
                "bold",
            )
        )
        if event.message and event.reason != "interrupted":
            self._console.print(Text(printable(event.message), "red"))


class BarDisplay:
    """Draws a progress bar that disappears at the end, for a run of which only the summary is wanted."""

    def __init__(self, line: StatusLine, progress: RunProgress) -> None:
        self._line = line
        self._progress = progress
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            _StatusColumn(line.status),
            console=line.console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def episode_started(self, event: EpisodeStarted) -> None:
        self._begin()

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._begin()

    def _begin(self) -> None:
        self._line.hide()
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
        self._line.show()


class _StatusColumn(ProgressColumn):
    """What goes on, beside a progress bar."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self._status = status

    def render(self, task: Task) -> Text:
        return Text(printable(self._status.line()), "yellow")


class PanelDisplay:
    """Redraws one screen: the story on the left; on the right what is known of the place and what was learned.

    Args:
        line: shows what goes on between the episodes; the panels show it during one.
        player: who plays the run; a turn that another one chose says so.
        linger_s: how long a turn that scores or ends the game stays on the screen.
    """

    def __init__(
        self, line: StatusLine, heading: str, progress: RunProgress, player: str, *, linger_s: float = LINGER_S
    ) -> None:
        self._line = line
        self._console = line.console
        self._player = player
        self._linger_s = linger_s
        self._heading = printable(heading)
        self._progress = progress
        self._turns: deque[TurnRecord] = deque(maxlen=12)
        self._learned: deque[MemoryEvent] = deque(maxlen=14)
        self._opening = ""
        self._live: Live | None = None
        self._changing = Lock()

    def episode_started(self, event: EpisodeStarted) -> None:
        self._begin(event.opening)

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._begin(f"Episode {event.episode} goes on after turn {event.turn}.")

    def _begin(self, text: str) -> None:
        with self._changing:
            self._turns.clear()
            self._learned.clear()
            self._opening = text
        self._line.hide()
        self._live = Live(
            get_renderable=self.frame,
            console=self._console,
            refresh_per_second=_FRAMES_PER_S,
            screen=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def turn_played(self, record: TurnRecord) -> None:
        with self._changing:
            self._turns.append(record)
            self._learned.extend(record.memory_events)
        step = record.transition
        if self._live and self._linger_s and (step.before.score != step.after.score or step.finished):
            self._live.refresh()
            time.sleep(self._linger_s)

    def episode_ended(self, event: EpisodeEnded) -> None:
        if self._live:
            self._live.refresh()
            self._live.stop()
            self._live = None
        score = score_line(event.score, event.max_score)
        self._console.print(
            Text(
                f"Episode {event.episode}: {event.reason}, score {score}, {number_of(event.turns, 'turn', 'turns')}, "
                f"{number_of(event.places, 'place', 'places')}, "
                f"{number_of(sum(event.memories.values()), 'memory', 'memories')}"
            )
        )
        if event.message and event.reason != "interrupted":
            self._console.print(Text(printable(event.message), "red"))
        self._line.show()

    def frame(self) -> RenderableType:
        """Return the screen as it is now."""
        with self._changing:
            turns, learned = list(self._turns), list(self._learned)
        height = self._console.height
        layout = Layout()
        layout.split_column(Layout(self._header(turns), size=3), Layout(name="body"))
        layout["body"].split_row(Layout(self._story(turns, height - 5), ratio=3), Layout(name="memory", ratio=2))
        room = (height - 3) // 2 - 2
        layout["memory"].split_column(Layout(self._known(turns, room)), Layout(self._made(learned, room)))
        return layout

    def _header(self, turns: Sequence[TurnRecord]) -> RenderableType:
        last = turns[-1] if turns else None
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

    def _story(self, turns: Sequence[TurnRecord], height: int) -> RenderableType:
        """Return as many of the last turns as fit."""
        width = max(20, self._console.width * 3 // 5 - 6)
        blocks: deque[Text] = deque()
        room = height
        for record in reversed(turns):
            block = _turn_block(record, self._player)
            room -= len(block.wrap(self._console, width)) + 1
            if room < 0 and blocks:
                break
            blocks.appendleft(block)
        if not turns:
            blocks.append(Text(printable(self._opening)))
        last = turns[-1].transition.after.location if turns else None
        title = f"now at {printable(last.name)}" if last else "the story"
        goes_on = self._line.status.line()
        return Panel(
            Group(*(Group(block, Text("")) for block in blocks)),
            title=Text(title),
            subtitle=Text(f" {printable(goes_on)} … ", "bold yellow") if goes_on else None,
            subtitle_align="left",
            border_style="cyan",
        )

    def _known(self, turns: Sequence[TurnRecord], room: int) -> RenderableType:
        """Return what the player knew of the place where it chose the last action."""
        last = turns[-1] if turns else None
        place = last.transition.before.location if last else None
        shown = printable(last.memory_shown) if last else ""
        title = f"known of {printable(place.name)} before turn {last.turn}" if place and last else "known of this place"
        lines = [Text(line) for line in shown.splitlines()]
        return self._side_panel(lines, title, "green", room, newest_last=False)

    def _made(self, learned: Sequence[MemoryEvent], room: int) -> RenderableType:
        lines = [Text(printable(memory_line(event)), style_of(event)) for event in learned]
        return self._side_panel(lines, "what was remembered", "magenta", room, newest_last=True)

    def _side_panel(
        self, lines: Sequence[Text], title: str, style: str, room: int, *, newest_last: bool
    ) -> RenderableType:
        """Return a panel with the lines that fit whole, and how many do not."""
        width = max(20, self._console.width - self._console.width * 3 // 5 - 4)
        shown: list[Text] = []
        for line in reversed(lines) if newest_last else lines:
            room -= len(line.wrap(self._console, width))
            if room < (1 if len(shown) + 1 < len(lines) else 0) and shown:
                break
            shown.append(line)
        rest = len(lines) - len(shown)
        more = [Text(f"({rest} earlier)" if newest_last else f"({rest} more)", "dim")] if rest else []
        body = [*more, *reversed(shown)] if newest_last else [*shown, *more]
        return Panel(Group(*(body or [Text("nothing yet", "dim")])), title=Text(title), border_style=style)


def _turn_block(record: TurnRecord, player: str) -> Text:
    step = record.transition
    place = step.before.location.name if step.before.location else "?"
    refusals = "".join(f"{printable(rejection_line(rejection))}\n" for rejection in record.rejections)
    scored = f"  score {score_change(record)}" if step.before.score != step.after.score else ""
    return Text.assemble(
        (refusals, "yellow"),
        (f"{record.turn} {printable(place)} ", "dim"),
        (f"> {printable(step.action)}", "bold"),
        (printable(chooser_label(record, player)), "dim"),
        (scored, score_style(record)),
        "\n",
        shortened(step.response.strip(), RESPONSE_LIMIT),
    )


def score_line(score: int | None, most: int | None) -> str:
    """Return a score with the highest possible one, as far as they are known."""
    if score is None:
        return "score unknown"
    return f"{score}" if most is None else f"{score}/{most}"


def score_change(record: TurnRecord) -> str:
    """Return the score after a turn, and the one before if that was another: `4`, `4 → 6 (+2)`."""
    before, after = record.transition.before.score, record.transition.after.score
    if before is None or after is None or before == after:
        return score_line(after, None)
    return f"{before} → {after} ({after - before:+d})"


def score_style(record: TurnRecord) -> str:
    """Return the style of a turn's score: a gain and a loss stand out."""
    change = (record.transition.after.score or 0) - (record.transition.before.score or 0)
    return "bold green" if change > 0 else "bold red" if change < 0 else "dim"


def chooser_label(record: TurnRecord, player: str) -> str:
    """Return who chose a turn's action, if that was not the run's own player."""
    if record.player in (player, ""):
        return ""
    return f"  ({_CHOOSERS.get(record.player, f'chosen by {record.player}')})"


def shortened(text: str, limit: int) -> str:
    """Return the text without control characters and empty space; of a long one its beginning and end."""
    clean = re.sub(r"\n\s*\n", "\n\n", printable(text))
    if len(clean) <= limit:
        return clean
    # What an action brings about stands at the end of a response.
    half = limit // 2 - len(_LEFT_OUT)
    head, tail = clean[:half], clean[-half:]
    return f"{head[: head.rfind(' ')] if ' ' in head else head}{_LEFT_OUT}{tail[tail.find(' ') + 1 :]}"


def rejection_line(rejection: Rejection) -> str:
    """Return a line about a proposal that was not played, and why."""
    return f"! not played: {rejection.action} — {rejection.reason}"


def memory_line(event: MemoryEvent) -> str:
    """Return a line about what happened to a memory."""
    kind = f"{event.category} {event.persistence}".strip().lower()
    detail = f" — {event.detail}" if event.detail else ""
    text = f": {event.text}" if event.kind in ("added", "seen again") and event.text else ""
    return f"{_SIGN.get(event.kind, ' ')} {event.kind}: {event.title} [{kind}]{text}{detail}"


def style_of(event: MemoryEvent) -> str:
    """Return the style that a line about a memory is printed in."""
    styles = {"added": "green", "seen again": "dim", "superseded": "yellow", "invalidated": "red"}
    return styles.get(event.kind, "dim")
