"""Tests of the progress of a run and of the displays."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from orchestration.player_choice import PlayerChoice
from session.history import TurnRecord, UsageTotals
from tests.fixtures.clock import Clock
from tests.fixtures.runs import a_run, a_walkthrough, turns_of
from zorkgpt.cli.display import LineDisplay, ScreenDisplay, display_for, shortened
from zorkgpt.cli.status import RunProgress, Status, StatusLine, duration
from zorkgpt.llm.progress import CurrentCall

pytestmark = pytest.mark.slow


def status_line(console: Console) -> StatusLine:
    return StatusLine(console, Status(CurrentCall()))


class Screen:
    """A screen display on a terminal of a given size."""

    def __init__(self, pace: RunProgress, player: str = "rules", *, width: int = 140, height: int = 45) -> None:
        self._console = Console(width=width, height=height, file=io.StringIO(), force_terminal=True, color_system=None)
        self.display = ScreenDisplay(status_line(self._console), "A story", pace, player, linger_s=0)

    def text(self) -> str:
        """Return what the terminal shows."""
        with self._console.capture() as shown:
            self._console.print(self.display.frame(), end="")
        return shown.get()


def paced(tmp_path, *, episodes: int, turns: int) -> tuple[RunProgress, Clock, object]:
    clock = Clock()
    pace = RunProgress(episodes, turns, clock)
    run = a_run(tmp_path, turns=turns, watchers=(pace,))
    run.reset_episode()
    return pace, clock, run


def test_rate_and_time_left_are_computed_from_played_turns(tmp_path):
    pace, clock, run = paced(tmp_path, episodes=3, turns=40)
    with run:
        for _ in range(10):
            clock.time += 2.0
            run.process_turn()
        assert pace.position() == "episode 1 of 3  turn 10/40"
        assert (pace.turns_per_s, pace.turns_left, pace.seconds_left) == (0.5, 30 + 2 * 40, 220.0)
        assert pace.speed() == "0.5 turns/s  at most 4 min left"


def test_rate_is_unknown_after_one_turn(tmp_path):
    pace, clock, run = paced(tmp_path, episodes=1, turns=40)
    with run:
        clock.time += 1
        run.process_turn()
        assert (pace.turns_per_s, pace.seconds_left, pace.speed()) == (None, None, "")


def test_time_left_assumes_episodes_of_average_length(tmp_path):
    pace = RunProgress(4, 500, Clock())
    with a_walkthrough(tmp_path, "look", "wait", "wait", watchers=(pace,)) as run:
        run.play_episode()
    assert (pace.turns_played, pace.turns_left) == (3, 9)
    assert pace.position() == "episode 1 of 4  turn 3/500"


def test_tokens_and_cost_are_shown(tmp_path):
    pace = RunProgress(1, 40, Clock())
    with a_run(tmp_path) as run:
        record = replace(run.process_turn(), spent=UsageTotals(12840, 0.0214))
    pace.turn_played(record)
    assert pace.speed() == "12,840 tokens  cost 0.0214"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (600, "10 min"), (5400, "1 h 30 min"), (86400, "24 h 0 min")]
)
def test_duration_format(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("width", "height", "terminal", "kind"),
    [
        (120, 40, True, ScreenDisplay),
        (80, 24, True, ScreenDisplay),
        (79, 24, True, LineDisplay),
        (120, 23, True, LineDisplay),
        (120, 40, False, LineDisplay),
    ],
)
def test_display_is_chosen_by_terminal_size(width, height, terminal, kind):
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=terminal)
    display = display_for(status_line(console), "A story", PlayerChoice("rules", "a test", None), RunProgress(1, 10))
    assert type(display) is kind


@pytest.mark.parametrize("terminal", [True, False])
def test_line_display_prints_one_line_per_turn_and_episode(tmp_path, terminal):
    console = Console(width=40, file=io.StringIO(), force_terminal=terminal, color_system=None)
    with a_run(tmp_path, turns=4, watchers=(LineDisplay(console, "A story", "rules"),)) as run:
        run.play_episode()
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "A story"
    assert [line.split("]")[0] for line in lines[1:5]] == [f"[1.{turn}" for turn in range(1, 5)]
    assert lines[5].startswith("Episode 1 ended: turn limit, score ")
    assert len(lines) == 6


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> list[TurnRecord]:
    with a_run(tmp_path_factory.mktemp("run"), turns=30) as run:
        return [run.process_turn() for _ in range(30)]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (99, 30), (100, 26), (120, 40), (200, 60)])
def test_screen_fills_the_terminal(records, width, height):
    pace = RunProgress(1, 60)
    screen = Screen(pace, width=width, height=height)
    for record in records:
        pace.turn_played(record)
        screen.display.turn_played(record)
        lines = screen.text().splitlines()
        assert (len(lines), {len(line) for line in lines}) == (height, {width})
        assert f"{record.turn} {record.transition.before.location.name} > {record.transition.action}" in screen.text()


def test_screen_shows_the_end_of_an_episode(tmp_path):
    pace = RunProgress(2, 5)
    screen = Screen(pace, width=80, height=24)
    with a_run(tmp_path, turns=5, watchers=(pace, screen.display)) as run:
        run.play_episode()
        text = screen.text()
    screen.display.close()
    assert "Episode 1 ended: turn limit, score 1/100, 5 turns" in text
    assert "scores so far: 1" in text


def test_screen_shows_what_outlives_the_episode_with_its_place(tmp_path):
    pace = RunProgress(1, 12)
    screen = Screen(pace, width=200, height=45)
    steps = [
        "read the letter",
        "north",
        "north",
        "east",
        "up",
        "east",
        "up",
        "down",
        "northwest",
        "examine window",
        "open window",
        "south",
    ]
    with a_walkthrough(tmp_path, *steps, watchers=(pace, screen.display)) as run:
        run.play_episode()
        text = screen.text()
    screen.display.close()
    events = [event for turn in turns_of(tmp_path) for event in turn.memory_events]
    assert any(event.title == "Now here" for event in events)
    assert learned_lines(text)[:9] == [
        "+ south: +5 points (Back Garden): Leads to Kitchen.",
        "+ Starts here (Kitchen): Storm lamp (unlit), iron key. On the long table:",
        "stale bread.",
        "+ open window: +2 points (Back Garden): The small window is now open. You",
        "untwist the wire, and the window opens with the small scream of all such",
        "windows.",
        '+ Tried without effect (Orchard): "up", "east", "down" changed nothing here.',
        "+ Starts here (Back Garden): Small window (closed), black berries.",
        "+ Starts here (Orchard): Pear, wooden clapper.",
    ]


def learned_lines(screen: str) -> list[str]:
    """Return the lines of the lower side panel."""
    rows = screen.partition("Learned in this episode")[2].splitlines()[1:]
    return [line for row in rows if (line := row.rpartition("│")[0].rpartition("│")[2].strip())]


def test_screen_shows_position_rate_and_time_left(tmp_path):
    clock = Clock()
    pace = RunProgress(2, 20, clock)
    screen = Screen(pace)
    with a_run(tmp_path, turns=20, watchers=(pace,)) as run:
        run.reset_episode()
        for _ in range(8):
            clock.time += 0.5
            screen.display.turn_played(run.process_turn())
        text = screen.text()
    assert "episode 1 of 2  turn 8/20" in text
    assert "2 turns/s  at most 16 s left" in text


def test_time_left_never_exceeds_the_turn_limit(tmp_path):
    clock = Clock()
    pace = RunProgress(2, 30, clock)
    with a_walkthrough(tmp_path, *["wait"] * 6, watchers=(pace,)) as run:
        run.play_episode()
    with a_run(tmp_path, turns=30, watchers=(pace,)) as run:
        run.reset_episode()
        for _ in range(10):
            clock.time += 1.0
            run.process_turn()
        assert (pace.is_limit, pace.turns_left) == (True, 20)


def test_change_of_the_chooser_is_labeled_once(tmp_path):
    lines = Console(width=100, file=io.StringIO())
    screen, display = Screen(RunProgress(1, 30), "model"), LineDisplay(lines, "A story", "model")
    with a_run(tmp_path) as run:
        record = run.process_turn()
    for player in ("best line", "best line", "rules", "model", "model"):
        turn = replace(record, player=player)
        screen.display.turn_played(turn)
        display.turn_played(turn)
    labels = ["following the best line", "chosen by the rules", "chosen by the model again"]
    assert re.findall(r"  \((.*?)\)", lines.file.getvalue()) == labels
    for label in labels:
        assert screen.text().count(f"({label})") == 1


def test_title_of_the_story_says_who_chooses(tmp_path):
    screen = Screen(RunProgress(1, 30))
    with a_run(tmp_path) as run:
        record = run.process_turn()
    for player, title in (("best line", "Causeway End, following the best line"), ("rules", "Causeway End")):
        screen.display.turn_played(replace(record, player=player))
        assert f"─ {title} ─" in screen.text()


def test_screen_shows_score_change_and_location_of_memories(tmp_path):
    pace = RunProgress(1, 60)
    screen = Screen(pace, "walkthrough")
    with a_walkthrough(tmp_path, "north", "north", "east", "take clapper", watchers=(pace,)) as run:
        for _ in range(4):
            screen.display.turn_played(run.process_turn())
    assert "4 Orchard > take clapper  score 0 → 2 (+2)" in screen.text()
    assert "(Orchard)" in screen.text()
    assert "─ Orchard ─" in screen.text()


def test_shortened_response_keeps_its_end():
    response = "The room is described. " * 40 + "The thief takes the lamp."
    short = shortened(response, 200)
    assert len(short) <= 200
    assert short.startswith("The room is described.")
    assert short.endswith("The thief takes the lamp.")
    assert " […] " in short
    assert shortened("Taken.", 200) == "Taken."
