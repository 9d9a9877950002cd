"""A run put together for a test: the real game, the real memory, a player of the test's choice."""

from pathlib import Path

from orchestration.assembly import Wishes, assemble
from orchestration.players import Choice
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration

OFFLINE = Choice("offline", "a test", None)


def a_run(workdir: Path, *, turns: int = 20, watchers: tuple = (), **wishes) -> ZorkOrchestratorV2:
    config = GameConfiguration(zork_game_workdir=str(workdir), max_turns_per_episode=turns, embedding_provider="none")
    return assemble(config, Wishes(**{"choice": OFFLINE} | wishes), watchers)


def a_walkthrough(workdir: Path, *commands: str, **options) -> ZorkOrchestratorV2:
    file = workdir / "walkthrough.txt"
    workdir.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(commands), encoding="utf-8")
    return a_run(workdir, choice=Choice("walkthrough", "a test", None), walkthrough=file, **options)


class CtrlC:
    """A watcher that presses Ctrl-C at a turn."""

    def __init__(self, turn: int) -> None:
        self.turn = turn

    def episode_started(self, event) -> None:
        pass

    def turn_played(self, record) -> None:
        if record.turn == self.turn:
            raise KeyboardInterrupt

    def episode_ended(self, event) -> None:
        pass
