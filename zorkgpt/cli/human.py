"""The human player: reads commands and shows responses and, on request, the agent's view."""

import sys
from contextlib import suppress
from dataclasses import replace

from rich.text import Text

from session.history import TurnRecord
from zorkgpt.cli.display import ending_line, score_change, score_style
from zorkgpt.cli.status import StatusLine
from zorkgpt.context.prompt import AGENT, prompt_sections
from zorkgpt.player import AgentDecision, Player, PlayerContext, PlayerStopped, UndoRequested
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted
from zorkgpt.text import normalized_action, printable

_HELP = """Commands of this program (everything else goes to the game):
  /see    show what the agent would see
  /undo   undo the last turn (also: undo)
  /quit   save and stop (also: quit, Ctrl-D)
  /help   show this list (`help` goes to the game)"""
_WELCOME = "You are playing. Type /help for commands: /see, /undo, /quit."
# The game's own versions would change its state without a recorded turn.
_SAME_AS = {"undo": "/undo", "quit": "/quit", "q": "/quit"}


class HumanPlayer(Player):
    """A player that reads commands from standard input. It also watches the run and prints the responses.

    Args:
        line: Shows the status between commands. All output goes to its console.
    """

    def __init__(self, line: StatusLine) -> None:
        self._line = line
        self._console = line.console
        self._played: list[TurnRecord] = []
        """The turns that can be undone."""
        self._undone: list[TurnRecord] = []
        """The turns undone since the last command."""
        self._owes_response = False
        """Whether the last response still has to be printed."""
        with suppress(ImportError):
            # Gives `input` line editing and a history.
            import readline  # noqa: F401

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Read a command for the game. Commands for this program are handled first."""
        self._line.hide()
        if self._owes_response:
            self._owes_response = False
            self._console.print(printable(context.response.strip()))
        if context.refused:
            self._console.print(Text(printable(context.refused), "yellow"))
        while True:
            command = self._read()
            name = _SAME_AS.get(normalized_action(command), command.lower())
            if name == "/quit":
                raise PlayerStopped("You stopped.")
            if name == "/undo":
                self._undo()
            elif name == "/see":
                self._show(context)
            elif name == "/help":
                self._console.print(_HELP)
            elif name.startswith("/"):
                self._console.print(printable(f"Unknown command {command}. Type /help for a list."))
            else:
                undone = ", ".join(f"turn {record.turn} ({record.transition.action})" for record in self._undone)
                self._undone.clear()
                self._line.show()
                return AgentDecision(command, f"Undid {undone}." if undone else "")

    def _read(self) -> str:
        self._console.print()
        while True:
            try:
                line = input("> ").strip()
            except EOFError:
                self._console.print()
                raise PlayerStopped("The input has ended.") from None
            if line:
                return line

    def _undo(self) -> None:
        if not self._played:
            self._console.print("There is nothing to undo.")
            return
        last = self._played.pop()
        self._undone.append(last)
        self._owes_response = True
        place = last.transition.before.location
        where = f" You are back at {place.name}." if place else ""
        self._console.print(printable(f"Undone: {last.transition.action}.{where}\n"))
        raise UndoRequested

    def _show(self, context: PlayerContext) -> None:
        # Without what the person has already read.
        context = replace(context, opening="", recent=(), summary="", response="")
        for section in prompt_sections(AGENT, context):
            self._console.print(printable(f"{section}\n"), soft_wrap=True)

    def episode_started(self, event: EpisodeStarted) -> None:
        """Print the opening text."""
        self._begin()
        self._console.print(printable(event.opening.strip()))
        self._line.show()

    def episode_resumed(self, event: EpisodeResumed) -> None:
        """Print where the episode resumes. The last response is printed with the first prompt."""
        self._begin()
        self._console.print(f"Episode {event.episode} resumed after turn {event.turn}.\n")
        self._owes_response = True
        self._line.show()

    def _begin(self) -> None:
        self._line.hide()
        self._played.clear()
        self._undone.clear()
        self._console.print(Text(_WELCOME if sys.stdin.isatty() else "", "dim"))

    def turn_played(self, record: TurnRecord) -> None:
        """Print the response and any change of score."""
        self._played.append(record)
        self._line.hide()
        step = record.transition
        self._console.print(printable((step.refused or step.response).strip()))
        if step.before.score != step.after.score:
            self._console.print(Text(f"[score {score_change(record)}]", score_style(record)))
        self._line.show()

    def episode_ended(self, event: EpisodeEnded) -> None:
        """Print how the episode ended."""
        self._line.hide()
        self._console.print(Text(f"\n{printable(ending_line(event))}", "bold"), soft_wrap=True)
        self._line.show()
