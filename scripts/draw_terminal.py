"""Draw docs/images/play.svg: the terminal during the fourth episode of the bundled story."""

import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import choose_player
from session.game_configuration import GameConfiguration
from zorkgpt.cli.display import ScreenDisplay
from zorkgpt.cli.status import RunProgress, Status, StatusLine
from zorkgpt.llm.progress import CurrentCall

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "play.svg"
_EPISODES, _TURNS = 10, 250
_SHOWN, _SCORE = 4, 55
"""The image shows the turn in which this episode reaches this score."""


def main() -> None:
    screen = Console(
        record=True, width=132, height=38, file=io.StringIO(), force_terminal=True, markup=False, highlight=False
    )
    choice = choose_player("rules", GameConfiguration())
    config = GameConfiguration(embedding_provider="none", max_turns_per_episode=_TURNS)
    pace = RunProgress(_EPISODES, config.max_turns_per_episode)
    line = StatusLine(screen, Status(CurrentCall()))
    heading = "Slack Water — player: rules"
    display = ScreenDisplay(line, heading, pace, "rules", linger_s=0)
    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions(choice, find_story("slackwater"))
        with assemble(config.with_workdir(Path(folder)), options, (pace,)) as run:
            for _ in range(_SHOWN - 1):
                run.play_episode()
            run.reset_episode()
            while (run.game_state.current_score or 0) < _SCORE and not run.game_state.finished:
                display.turn_played(run.process_turn())
            screen.print(display.frame())
    picture = screen.export_svg(title="uv run python main.py")
    # Without web fonts, so that the image loads nothing from other hosts.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
