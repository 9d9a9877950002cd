"""ZorkGPT as an agent for TALES (`tale-suite`). It learns across the restarts of a game.

The suite loads this file by path: `benchmark.py --agent PATH zorkgpt`.
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
from orchestration.player_choice import choose_player
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from zorkgpt.adapters.text_game import TextGame, TurnResult
from zorkgpt.errors import GameClosed, ZorkGPTError
from zorkgpt.extras import importing
from zorkgpt.runlog.events import LAST_ENDINGS

with importing("tales"):
    from tales import Agent
    from tales.agent import AGENTS, register

NAME = "zorkgpt"
_RESTARTED = "\n\n-= Restarting =-\n"
"""At a reset, the suite passes the last text of a game and the first text of the next, separated by this line."""
_SAVE_TIMEOUT_S = 10
"""Maximum time for an episode to be saved when the suite ends."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of this agent on the suite's command line."""

    player: str = "auto"
    llm: str | None = None
    base_url: str | None = None
    seed: int = 1
    memory: bool = True
    workdir: Path | None = None
    """The folder for memories that are kept between evaluations. None if each evaluation starts without memories."""
    nb_steps: int = 100

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Settings":
        """Return the settings from the suite's arguments, which include those of other agents."""
        return cls(**{name: given[name] for name in cls.__dataclass_fields__ if given.get(name) is not None})

    def configuration(self, workdir: Path) -> GameConfiguration:
        """Return the configuration, with the settings of the command line."""
        named = {"agent_model": self.llm, "client_base_url": self.base_url}
        arguments = {name: value for name, value in named.items() if value is not None}
        config = GameConfiguration.load(arguments=arguments).with_workdir(workdir)
        # One step more than the suite plays, so that the suite ends the episode.
        section = config.orchestrator.model_copy(update={"max_turns_per_episode": self.nb_steps + 1})
        return config.model_copy(update={"orchestrator": section})


class _GameRun:
    """The episodes of one game, played in a thread that is controlled by the suite's calls."""

    def __init__(self, settings: Settings, env_name: str, workdir: Path) -> None:
        self.commands: Queue[str | BaseException] = Queue()
        self.results: Queue[TurnResult | None] = Queue()
        self._settings, self._env_name, self._workdir = settings, env_name, workdir
        self.orchestrator: ZorkOrchestratorV2 | None = None
        self._thread = Thread(target=self._play, name=f"zorkgpt {env_name}", daemon=True)
        self._thread.start()

    def next_command(self) -> str:
        """Wait for the player's next command.

        Raises:
            ZorkGPTError: If there is none, because a model can't be reached or a file can't be written.
        """
        command = self.commands.get()
        if isinstance(command, BaseException):
            raise command
        return command

    def close(self) -> None:
        """End and save the running episode."""
        self.results.put(None)
        self._thread.join(_SAVE_TIMEOUT_S)

    def tokens(self) -> tuple[int, int]:
        """Return the prompt and completion tokens of all models so far, as reported by their servers."""
        models = self.orchestrator.services.models if self.orchestrator else None
        tallies = models.usage().values() if models else ()
        return sum(tally["prompt_tokens"] for tally in tallies), sum(tally["completion_tokens"] for tally in tallies)

    def _play(self) -> None:
        try:
            config = self._settings.configuration(self._workdir)
            choice = choose_player(self._settings.player, config)
            options = RunOptions(choice, seed=self._settings.seed, remember=self._settings.memory)
            game = TextGame(self._env_name, self.commands, self.results)
            with assemble(config, options, game=game) as self.orchestrator:
                while True:
                    end = self.orchestrator.play_episode()
                    if end.reason in LAST_ENDINGS:
                        raise ZorkGPTError(f"The episode ended ({end.reason}): {end.message}")
        except GameClosed:
            return
        except BaseException as error:
            self.commands.put(error)


class ZorkGPTAgent(Agent):  # type: ignore[misc] # the package has no types
    """An agent that sees only text, score and moves, and keeps its memories across restarts of the game.

    Of the suite's `info`, it uses `score`, `max_score` and `moves`, but not the walkthrough or admissible commands.
    """

    def __init__(self, **given: Any) -> None:
        self.settings = Settings.of(given)
        self._run: _GameRun | None = None
        self._waits = False
        """Whether the player waits for the result of its command."""
        self._counted = (0, 0)

    @property
    def uid(self) -> str:
        """The name for files and tables. It contains the model, or "rules"."""
        return "_".join(["ZorkGPT", _slug(self._who), f"s{self.settings.seed}", *self._marks])

    @property
    def params(self) -> dict[str, Any]:
        """The description of the agent in the suite's results."""
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
        """Start the first or the next game."""
        last, restarted, opening = obs.rpartition(_RESTARTED)
        if self._run is None:
            self._run = _GameRun(self.settings, env, self._folder(env))
            atexit.register(self._run.close)
        elif self._waits:
            self._run.results.put(TurnResult(last if restarted else "", over=True))
        self._waits, self._counted = False, (0, 0)
        self._run.results.put(_result_of(opening, info))

    def act(self, obs: str, reward: float, done: bool, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the next command and the statistics of the step.

        Raises:
            ZorkGPTError: If there is no next command.
        """
        if self._run is None:
            raise ZorkGPTError("No game has started. Call reset() before act().")
        if self._waits:
            self._run.results.put(_result_of(obs, info))
        command = self._run.next_command()
        self._waits = True
        before, self._counted = self._counted, self._run.tokens()
        prompt, response = (now - then for now, then in zip(self._counted, before, strict=True))
        stats = {"prompt": None, "response": command, "nb_tokens": prompt + response}
        return command, stats | {"nb_tokens_prompt": prompt, "nb_tokens_response": response}

    def close(self) -> None:
        """End the running episode. Called at exit, because the suite doesn't call it."""
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
        help="rules: no language model; auto: the model, if one is given or configured. Default: auto",
    )
    group.add_argument("--llm", help="The model for all roles. Default: as configured.")
    group.add_argument("--base-url", help="OpenAI-compatible server of the model.")
    group.add_argument("--seed", type=int, default=1, help="Seed of the agent. Default: %(default)s")
    group.add_argument(
        "--memory", action=argparse.BooleanOptionalAction, default=True, help="Remember across restarts. Default: yes"
    )
    group.add_argument(
        "--workdir", type=Path, help="Keep memories in this folder between evaluations. Default: start without any."
    )
    return parser


if NAME not in AGENTS:
    register(
        name=NAME,
        desc="ZorkGPT: an agent with a memory of places, played by a model or by rules.",
        klass=ZorkGPTAgent,
        add_arguments=add_arguments,
    )
