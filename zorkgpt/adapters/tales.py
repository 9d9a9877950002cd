"""ZorkGPT as an agent of TALES (`tale-suite`), which learns across the restarts of a game.

The suite loads this file by its path: `benchmark.py --agent PATH zorkgpt`. It is registered as `zorkgpt`.
"""

import argparse
import atexit
import re
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from orchestration.assembly import RunOptions, assemble
from orchestration.players import choose_player
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from zorkgpt.adapters.text_game import TextGame, TurnResult
from zorkgpt.errors import GameClosed, ZorkGPTError
from zorkgpt.extras import importing

with importing("tales"):
    from tales import Agent
    from tales.agent import AGENTS, register

NAME = "zorkgpt"
_RESTARTED = "\n\n-= Restarting =-\n"
"""Between the last text of a game and the first of the next, in what the suite hands over at a reset."""
_PATIENCE_S = 10
"""How long an episode has to save itself when the suite ends."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for on the suite's command line."""

    player: str = "auto"
    llm: str | None = None
    base_url: str | None = None
    seed: int = 1
    memory: bool = True
    workdir: Path | None = None
    """Where memories are kept between evaluations; None if each starts without any."""
    nb_steps: int = 100

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Settings":
        """Take what is ours from all arguments of the suite."""
        known = {name: given[name] for name in cls.__dataclass_fields__ if given.get(name) is not None}
        return cls(**known)

    def configuration(self, workdir: Path) -> GameConfiguration:
        """Return the settings of a run: those of the configuration, with what the command line says."""
        named = {"agent_model": self.llm, "client_base_url": self.base_url}
        arguments = {name: value for name, value in named.items() if value is not None}
        config = GameConfiguration.load(arguments=arguments).with_workdir(workdir)
        # A step more than the suite plays: it is the suite that ends an episode.
        section = config.orchestrator.model_copy(update={"max_turns_per_episode": self.nb_steps + 1})
        return config.model_copy(update={"orchestrator": section})


class _GameRun:
    """The episodes of one game, played in a thread of their own, which the suite's calls drive."""

    def __init__(self, settings: Settings, env_name: str, workdir: Path) -> None:
        self.commands: Queue[str | BaseException] = Queue()
        self.results: Queue[TurnResult | None] = Queue()
        self._settings, self._env_name, self._workdir = settings, env_name, workdir
        self.orchestrator: ZorkOrchestratorV2 | None = None
        self._thread = Thread(target=self._play, name=f"zorkgpt {env_name}", daemon=True)
        self._thread.start()

    def next_command(self) -> str:
        """Return the command that the player has chosen.

        Raises:
            ZorkGPTError: If it has none: a model can't be asked, or a file can't be written.
        """
        chosen = self.commands.get()
        if isinstance(chosen, BaseException):
            raise chosen
        return chosen

    def close(self) -> None:
        """End the running episode, with everything saved that can be."""
        self.results.put(None)
        self._thread.join(_PATIENCE_S)

    def tokens(self) -> tuple[int, int]:
        """Return the tokens that models have read and written so far, as far as their server said."""
        models = self.orchestrator.services.models if self.orchestrator else None
        tallies = models.usage().values() if models else ()
        return sum(one["prompt_tokens"] for one in tallies), sum(one["completion_tokens"] for one in tallies)

    def _play(self) -> None:
        try:
            config = self._settings.configuration(self._workdir)
            choice = choose_player(self._settings.player, config)
            options = RunOptions(choice, seed=self._settings.seed, remember=self._settings.memory)
            game = TextGame(self._env_name, self.commands, self.results)
            with assemble(config, options, game=game) as self.orchestrator:
                while True:
                    end = self.orchestrator.play_episode()
                    if end.reason in ("error", "budget", "player stopped"):
                        raise ZorkGPTError(f"The episode ended ({end.reason}): {end.message}")
        except GameClosed:
            return
        except BaseException as error:
            self.commands.put(error)


class ZorkGPTAgent(Agent):  # type: ignore[misc] # the package has no types
    """Plays by text, score and moves alone, and remembers by place, for as long as the suite restarts the game.

    Of what the suite knows it reads `score`, `max_score` and `moves`, never the walkthrough or admissible commands.
    """

    def __init__(self, **given: Any) -> None:
        self.settings = Settings.of(given)
        self._run: _GameRun | None = None
        self._waits = False
        """Whether the player waits for the result of its command."""
        self._counted = (0, 0)

    @property
    def uid(self) -> str:
        """Return a name for files and tables; without a model it says that rules play."""
        return "_".join(["ZorkGPT", _slug(self._who), f"s{self.settings.seed}", *self._marks])

    @property
    def params(self) -> dict[str, Any]:
        """Return what the suite writes down of the agent."""
        settings = self.settings
        return {
            "agent_type": NAME,
            "llm": None if self._who == "rules" else self._who,
            "player": "rules, no language model" if self._who == "rules" else "model",
            "seed": settings.seed,
            "memory": settings.memory,
            "memory_of_earlier_evaluations": settings.workdir is not None,
        }

    @property
    def _who(self) -> str:
        config = self.settings.configuration(Path())
        choice = choose_player(self.settings.player, config)
        return str(config.llm.agent_model) if choice.models is not None else "rules"

    @property
    def _marks(self) -> list[str]:
        marks = [] if self.settings.memory else ["nomemory"]
        return [*marks, *(["kept"] if self.settings.workdir else [])]

    def reset(self, obs: str, info: dict[str, Any], env: str) -> None:
        """Begin a game: the first, or the next after one that has ended."""
        last, restarted, opening = obs.rpartition(_RESTARTED)
        if self._run is None:
            self._run = _GameRun(self.settings, env, self._folder(env))
            atexit.register(self._run.close)
        elif self._waits:
            self._run.results.put(TurnResult(last if restarted else "", over=True))
        self._waits, self._counted = False, (0, 0)
        self._run.results.put(_result_of(opening, info))

    def act(self, obs: str, reward: float, done: bool, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the next command, and what the suite writes down of the step.

        Raises:
            ZorkGPTError: If there is no next command.
        """
        if self._run is None:
            raise ZorkGPTError("No game has begun: the suite calls reset() before act().")
        if self._waits:
            self._run.results.put(_result_of(obs, info))
        command = self._run.next_command()
        self._waits = True
        before, self._counted = self._counted, self._run.tokens()
        read, written = (now - then for now, then in zip(self._counted, before, strict=True))
        stats = {"prompt": None, "response": command, "nb_tokens": read + written}
        return command, stats | {"nb_tokens_prompt": read, "nb_tokens_response": written}

    def close(self) -> None:
        """End the running episode; the suite does not call it, so it is called when the process ends."""
        if self._run is not None:
            self._run.close()
            atexit.unregister(self._run.close)
            self._run = None

    def _folder(self, env: str) -> Path:
        if self.settings.workdir is not None:
            return self.settings.workdir / _slug(env)
        above = Path("game_files") / "tales" / _slug(env)
        numbers = [int(each.name) for each in above.iterdir() if each.name.isdecimal()] if above.is_dir() else []
        return above / str(max(numbers, default=0) + 1)


def _result_of(text: str, info: dict[str, Any]) -> TurnResult:
    return TurnResult(text, info.get("score"), info.get("max_score"), info.get("moves"))


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:60] or "game"


def add_arguments(parser: argparse.ArgumentParser | None = None) -> argparse.ArgumentParser:
    """Add the options of this agent."""
    parser = parser or argparse.ArgumentParser()
    group = parser.add_argument_group("ZorkGPT settings")
    group.add_argument(
        "--player",
        choices=("auto", "model", "rules"),
        default="auto",
        help="rules: no language model; auto: the model, if one is named or configured. Default: auto",
    )
    group.add_argument("--llm", help="The model of all roles. Default: that of the configuration.")
    group.add_argument("--base-url", help="The server of the model, with an OpenAI-compatible API.")
    group.add_argument("--seed", type=int, default=1, help="Seed of the agent. Default: %(default)s")
    group.add_argument(
        "--memory", action=argparse.BooleanOptionalAction, default=True, help="Remember across restarts. Default: yes"
    )
    group.add_argument(
        "--workdir", type=Path, help="Keep memories there from one evaluation to the next. Default: begin with none."
    )
    return parser


if NAME not in AGENTS:
    register(
        name=NAME,
        desc="ZorkGPT: remembers by place what each episode has taught; a model, or rules without one.",
        klass=ZorkGPTAgent,
        add_arguments=add_arguments,
    )
