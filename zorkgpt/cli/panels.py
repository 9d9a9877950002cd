"""The wide display: one screen that is redrawn after every turn."""

import time
from collections import deque

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from session.history import TurnRecord
from zorkgpt.cli.lines import RESPONSE_LIMIT, printable, rejected, remembered, repeated, score_line, style_of
from zorkgpt.cli.pace import Pace
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted


class PanelDisplay:
    """One screen that is redrawn: the story on the left, on the right what is known of the place and was learned."""

    def __init__(self, console: Console, heading: str, pace: Pace, shown_for_s: float) -> None:
        self._console = console
        self._shown_for_s = shown_for_s
        self._heading = printable(heading)
        self._pace = pace
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
        """The screen as it is now."""
        height = self._console.height
        layout = Layout()
        layout.split_column(Layout(self._header(), size=3), Layout(name="body"))
        layout["body"].split_row(Layout(self._story(height - 5), ratio=3), Layout(name="mind", ratio=2))
        layout["mind"].split_column(Layout(self._known()), Layout(self._made()))
        return layout

    def _header(self) -> RenderableType:
        last = self._turns[-1] if self._turns else None
        line = Table.grid(expand=True, padding=(0, 2))
        line.add_column(ratio=1, no_wrap=True)
        line.add_column(justify="right", no_wrap=True)
        pace = self._pace
        score = score_line(last.transition.after.score, None) if last else "0"
        bar = ProgressBar(total=max(1, pace.turns_played + pace.turns_left), completed=pace.turns_played, width=20)
        progress = Table.grid(padding=(0, 1))
        progress.add_row(Text(f"{pace.position()}  score {score}", "bold"), bar)
        line.add_row(Text(self._heading, overflow="ellipsis"), progress)
        return Panel(line, subtitle=Text(pace.speed()), subtitle_align="right")

    def _story(self, height: int) -> RenderableType:
        """As many of the last turns as fit."""
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
            Text(printable(remembered(event)), style_of(event), no_wrap=True, overflow="ellipsis")
            for event in self._learned
        ]
        return Panel(
            Group(*lines) if lines else Text("nothing yet", "dim"), title="what was remembered", border_style="magenta"
        )


def _turn_block(record: TurnRecord) -> Text:
    step = record.transition
    place = step.before.location.name if step.before.location else "?"
    refusals = "".join(f"{printable(rejected(rejection))}\n" for rejection in record.rejections)
    return Text.assemble(
        (refusals, "yellow"),
        (f"{record.turn} {printable(place)} ", "dim"),
        (f"> {printable(step.action)}", "bold"),
        (repeated(record), "dim"),
        "\n",
        printable(step.response.strip(), RESPONSE_LIMIT),
    )
