"""The player for a person at the keyboard, who is shown what the agent would be."""

import sys

from zorkgpt.cli.display import console_for, printable, score_line
from zorkgpt.context.sections import way_to_points
from zorkgpt.player import AgentDecision, Player, PlayerContext, PlayerStopped


class HumanPlayer(Player):
    """Reads commands from standard input; its end, or a line with only `.`, ends the episode."""

    def __init__(self) -> None:
        self._console = console_for(sys.stdout)

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Show the situation and read a command."""
        self._show(context)
        while True:
            try:
                line = input("> ").strip()
            except EOFError:
                raise PlayerStopped("The input has ended.") from None
            if line == ".":
                raise PlayerStopped("The person at the keyboard has had enough.")
            if line:
                return AgentDecision(line)

    def _show(self, context: PlayerContext) -> None:
        now, console = context.observation, self._console
        console.print()
        console.print(printable(context.response.strip()))
        place = now.location.name if now.location else "unknown place"
        carried = ", ".join(item.name for item in now.inventory or ()) or "nothing"
        score = score_line(now.score, context.max_score)
        console.print(printable(f"\n[{context.turn}/{context.max_turns}] {place}, score {score}, carrying {carried}"))
        if context.exits:
            ways = ", ".join(f"{one.way} to {one.leads_to}" if one.leads_to else one.way for one in context.exits)
            console.print(printable(f"known ways: {ways}"))
        for known in context.known_points:
            points = f"+{known.points} {known.action} at {known.place}, {way_to_points(known)}"
            console.print(printable(f"known to score: {points}"))
        if context.memories:
            console.print(printable(f"remembered of this place:\n{context.memories}"))
