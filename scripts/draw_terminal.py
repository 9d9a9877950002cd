"""Draws docs/images/play.svg: the terminal while the second episode of the bundled story is played."""

import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.players import choose_player
from session.game_configuration import GameConfiguration
from zorkgpt.cli.display import PanelDisplay
from zorkgpt.cli.progress import RunProgress
from zorkgpt.cli.status import Status, StatusLine
from zorkgpt.llm.progress import CurrentCall

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "play.svg"
_TURNS = 46


def main() -> None:
    screen = Console(
        record=True, width=132, height=38, file=io.StringIO(), force_terminal=True, markup=False, highlight=False
    )
    choice = choose_player("offline", GameConfiguration())
    pace = RunProgress(episodes=2, max_turns=_TURNS)
    line = StatusLine(screen, Status(CurrentCall()))
    heading = "Slack Water — player: offline (rules, no language model)"
    display = PanelDisplay(line, heading, pace, "offline", linger_s=0)
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(zork_game_workdir=folder, max_turns_per_episode=_TURNS, embedding_provider="none")
        with assemble(config, RunOptions(choice, find_story("slackwater")), (pace,)) as run:
            run.play_episode()
            run.reset_episode()
            for _ in range(_TURNS - 6):
                display.turn_played(run.process_turn())
            screen.print(display.frame())
    picture = screen.export_svg(title="uv run python main.py")
    # Without the web fonts, the picture needs nothing from another host.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
