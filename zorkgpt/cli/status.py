"""The progress of a run and its current activity: position, speed, cost, remaining time, and the status line."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from session.history import TurnRecord, UsageTotals
from zorkgpt.cli.process import STOP
from zorkgpt.llm.roles import Role
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted
from zorkgpt.text import printable

if TYPE_CHECKING:
    from zorkgpt.llm.progress import CallInProgress, CurrentCall

SILENCE_S = 20.0
"""Seconds after which a check without an answer reports that it is still waiting."""
_REFRESHES_PER_S = 4
_SHOWN_AFTER_S = 1.0
"""Shorter waits are shown without seconds."""
_DOING = {
    Role.AGENT: "waiting for the model",
    Role.CRITIC: "reviewing the action",
    Role.MEMORY: "extracting memories",
    Role.OBJECTIVES: "updating objectives",
    Role.KNOWLEDGE: "updating knowledge",
    Role.SUMMARY: "summarizing earlier turns",
}


class Status:
    """The current activity: a model call, or else a phase of the run.

    Args:
        calls: The model call in progress.
        now: The monotonic clock of `calls`, in seconds.
    """

    def __init__(self, calls: "CurrentCall", now: Callable[[], float] = time.monotonic) -> None:
        self.calls = calls
        self._now = now
        self.progress: Callable[[], str] = lambda: ""
        """Returns the progress of the run, which is shown before the activity."""
        self._phase = ""
        self._began = now()

    def begin(self, phase: str) -> None:
        """Begin a phase. "" means no phase."""
        self._phase, self._began = phase, self._now()

    def line(self) -> str:
        """Return the progress and the current activity, such as `reviewing the action (6 s)`, or "" if none."""
        return "  ".join(filter(None, (self.progress(), self._activity())))

    def _activity(self) -> str:
        if STOP.requested:
            return "interrupted: saving"
        call = self.calls.in_progress
        if call is not None:
            return _call_line(call, self._now(), self._phase)
        return self._phase and _with_details(self._phase, _seconds(self._now() - self._began))


def _call_line(call: "CallInProgress", now: float, phase: str) -> str:
    if call.waits_for:
        return _with_details(call.waits_for, f"{max(0, round((call.ends or now) - now))} s left")
    if call.retry:
        left = "" if call.ends is None else f"{max(0, round(call.ends - now))} s left"
        return _with_details("waiting for the server", f"retry {call.retry} of {call.retries}", left)
    tokens = "" if call.tokens is None else f"{call.tokens:,} {'token' if call.tokens == 1 else 'tokens'}"
    # Before the game starts, the agent's model is only contacted, not asked for an action.
    doing = phase if phase and call.role == Role.AGENT else _DOING[call.role]
    return _with_details(doing, _seconds(now - call.began), tokens)


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= _SHOWN_AFTER_S else ""


def _with_details(what: str, *details: str) -> str:
    joined = ", ".join(filter(None, details))
    return f"{what} ({joined})" if joined else what


class StatusLine:
    """A status line below the output. It is shown only on a terminal.

    Args:
        console: Everything printed while the line is visible must go through this console.
    """

    def __init__(self, console: Console, status: Status) -> None:
        self.status = status
        self.console = console
        self.screen: Callable[[str], None] | None = None
        """Shows a message on the display that covers the line. None if there is none."""
        self._live: Live | None = None
        status.calls.on_notice = self.notify

    def show(self) -> None:
        """Show the line until `hide`."""
        if self._live is None and self.console.is_terminal:
            self._live = Live(
                get_renderable=self._text,
                console=self.console,
                refresh_per_second=_REFRESHES_PER_S,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start(refresh=True)

    def hide(self) -> None:
        """Remove the line."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, message: str) -> None:
        """Print a message above the line on a terminal, otherwise to standard error. Thread-safe."""
        if self.console.is_terminal:
            self.console.print(Text(message), soft_wrap=True)
        else:
            typer.echo(message, err=True)

    def notify(self, message: str) -> None:
        """Show a message of a model call. Thread-safe."""
        (self.screen or self.say)(f"zorkgpt: {printable(message)}")

    def _text(self) -> Text:
        status = self.status.line()
        what, opening, details = status.partition(" (")
        room = self.console.width - len(opening + details) - 3
        shown = what if len(what) <= room else f"{what[: max(0, room - 1)]}…"
        return Text(f"{shown}{opening}{details} …" if status else "", "yellow", no_wrap=True, overflow="ellipsis")

    def __enter__(self) -> "StatusLine":
        self.show()
        return self

    def __exit__(self, *exception: object) -> None:
        self.hide()


@contextmanager
def report_if_silent(line: StatusLine, who: str, limit_s: float, *, after_s: float = SILENCE_S) -> Iterator[None]:
    """Print a message if the body takes longer than `after_s`."""

    def report() -> None:
        line.say(
            f"zorkgpt: {who} has not answered for {after_s:.0f} s and may be loading the model. "
            f"Waiting up to {limit_s:.0f} s; press Ctrl-C to stop."
        )

    timer = threading.Timer(after_s, report)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


_MEASURED_TURNS = 50
"""Number of recent turns over which the speed is measured."""
_MIN_TURNS = 5
"""Minimum number of turns for a speed."""


class RunProgress:
    """A watcher that counts turns and episodes for the displays.

    Args:
        episodes: Number of episodes to play.
        max_turns: Maximum turns per episode.
        now: A monotonic clock, in seconds.
    """

    def __init__(self, episodes: int, max_turns: int, now: Callable[[], float] = time.monotonic) -> None:
        self._episodes = episodes
        self._max_turns = max_turns
        self._now = now
        self._ended: list[int] = []
        self._turn: int | None = None
        """The last turn of the running episode. None between episodes."""
        self._shown_turn = 0
        """The last turn of the running episode or, between episodes, of the previous one."""
        self._times: deque[float] = deque(maxlen=_MEASURED_TURNS + 1)
        self._spent: UsageTotals | None = None

    def episode_started(self, event: EpisodeStarted) -> None:
        self._turn = self._shown_turn = 0
        if not self._times:
            self._times.append(self._now())

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._turn = self._shown_turn = event.turn
        self._times.append(self._now())

    def turn_played(self, record: TurnRecord) -> None:
        self._turn = self._shown_turn = record.turn
        self._times.append(self._now())
        self._spent = record.spent or self._spent

    def episode_ended(self, event: EpisodeEnded) -> None:
        self._ended.append(event.turns)
        self._turn = None

    @property
    def turns_played(self) -> int:
        """The turns of all episodes so far."""
        return sum(self._ended) + (self._turn or 0)

    @property
    def is_limit(self) -> bool:
        """Whether `turns_left` is an upper limit, because no episode has ended or this one is longer than usual."""
        return not self._ended or (self._turn or 0) >= self._usual_turns

    @property
    def turns_left(self) -> int:
        """The remaining turns, estimated from the length of earlier episodes or else from the limit."""
        usual_turns = self._usual_turns
        running = self._turn is not None
        expected = self._max_turns if self.is_limit else usual_turns
        left_in_episode = max(0, expected - self._turn) if self._turn is not None else 0
        return left_in_episode + max(0, self._episodes - len(self._ended) - running) * usual_turns

    @property
    def _usual_turns(self) -> int:
        return round(sum(self._ended) / len(self._ended)) if self._ended else self._max_turns

    @property
    def turns_per_s(self) -> float | None:
        """The speed. None if too few turns were played."""
        measured = len(self._times) - 1
        took = self._times[-1] - self._times[0] if measured >= _MIN_TURNS else 0.0
        return measured / took if took > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """The remaining time. None if unknown."""
        rate = self.turns_per_s
        return self.turns_left / rate if rate else None

    def position(self) -> str:
        """Return the position, such as `episode 2 of 10  turn 31/400`."""
        episode = len(self._ended) + (self._turn is not None)
        return f"episode {max(1, episode)} of {self._episodes}  turn {self._shown_turn}/{self._max_turns}"

    def speed(self) -> str:
        """Return speed, cost and remaining time: `3.1 turns/s  12,840 tokens  cost 0.0214  about 18 min left`.

        Unknown values are left out. "at most" marks an upper limit of the remaining time.
        """
        parts = [] if (rate := self.turns_per_s) is None else [f"{rate:.3g} turns/s"]
        if self._spent:
            parts.append(f"{self._spent.tokens:,} tokens")
            if self._spent.cost:
                parts.append(f"cost {self._spent.cost:.4f}")
        if (left := self.seconds_left) is not None and self.turns_left:
            parts.append(f"{'at most' if self.is_limit else 'about'} {duration(left)} left")
        return "  ".join(parts)


def duration(seconds: float) -> str:
    """Format a duration: `40 s`, `12 min`, `3 h 5 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
