"""The command `play`: from options to episodes to a summary."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import typer
from rich.text import Text

from game_interface.story import Story, find_story
from managers.resumable import SavedEpisode, find_resumable
from orchestration.assembly import RunOptions, assemble, claim_workdir
from orchestration.players import PLAYER_KINDS, PlayerChoice, choose_player
from orchestration.zork_orchestrator_v2 import Watcher
from session.checkpoint import Run
from session.game_configuration import LOG_FILE, GameConfiguration
from session.history import TurnRecord
from zorkgpt.cli import exits
from zorkgpt.cli.display import SHOWN_FOR_S, BarDisplay, console_for, display_for
from zorkgpt.cli.human import HumanPlayer
from zorkgpt.cli.lines import printable
from zorkgpt.cli.pace import Pace
from zorkgpt.cli.places import folder_of_story, places
from zorkgpt.cli.stopping import STOP
from zorkgpt.cli.summary import noted, summary_of, write_summary
from zorkgpt.cli.view import page_beside
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.client import LLMClient
from zorkgpt.log import logging_to
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted
from zorkgpt.runlog.story_folder import StoryMark, read_mark

_EPISODES = 2
_LONGEST_NUMBER = 18
"""Digits of an episode's number."""
# After an episode that ends so, the next one would end so too.
_LAST_WORDS = ("error", "player stopped", "budget")


@dataclass(frozen=True)
class PlayOptions:
    """The options of `play`; None where the configuration decides."""

    episodes: int | None = None
    max_turns: int | None = None
    game: str | None = None
    seed: int | None = None
    player: str | None = None
    model: str | None = None
    base_url: str | None = None
    walkthrough: Path | None = None
    workdir: Path | None = None
    explore: str | None = None
    remember: bool = True
    max_cost: float | None = None
    max_tokens: int | None = None
    delay_s: float | None = None
    view: bool = False
    resume: str | None = None
    """The number of an episode, or "last"; None: begin a new one."""
    display: Literal["live", "quiet", "json"] = "live"


def play_episodes(options: PlayOptions) -> int:
    """Play, show it, sum it up. Returns the exit code.

    Raises:
        ZorkGPTError: the input can't be used, or the configured model can't be reached; nothing was played.
    """
    saved, options = _to_be_resumed(options)
    if saved is not None:
        options = as_it_was(options, saved.checkpoint.run)
    config = _configuration(options)
    story = find_story(options.game)
    choice = _choose(options, config)
    if options.workdir is None:
        config = _in_the_story_s_folder(config, story)
    claim_workdir(config, story)
    run_options = RunOptions(choice, story, options.seed or 1, options.remember, options.walkthrough, HumanPlayer)
    endings = _Endings()
    watchers = (endings, *_displays(options, config, story, choice), _TurnsEnd())
    log = Path(config.zork_game_workdir) / LOG_FILE
    with logging_to(log) as damaged, page_beside(config, wanted=options.view) as stay:
        if options.display == "live":
            damaged.tell = _tell
        resumed = saved.checkpoint.episode if saved else None
        interrupted = _play(config, run_options, watchers, options.episodes or _EPISODES, resumed)
        _sum_up(options, config, story, choice, endings.events, damaged.found)
        if not interrupted:
            stay()
    if interrupted:
        return exits.INTERRUPTED
    return exits.EPISODE_FAILED if any(end.reason == "error" for end in endings.events) else exits.OK


def _in_the_story_s_folder(config: GameConfiguration, story: Story) -> GameConfiguration:
    found = folder_of_story(config, StoryMark.of(story.summary()))
    if found.note:
        typer.echo(f"zorkgpt: {found.note}", err=True)
    return config.with_workdir(found.path)


def _to_be_resumed(options: PlayOptions) -> tuple[SavedEpisode | None, PlayOptions]:
    """The episode that goes on, and the options with its folder; None: a new one begins."""
    if options.resume is None:
        return None, options
    if options.resume != "last" and not (options.resume.isdecimal() and len(options.resume) <= _LONGEST_NUMBER):
        raise ConfigurationError(f"--resume takes the number of an episode, not {options.resume!r}.")
    config = _configuration(options)
    episode = None if options.resume == "last" else int(options.resume)
    workdir = places(options.workdir, options.game).workdir
    saved = find_resumable(workdir, config.episode_log_file, episode=episode, max_turns=options.max_turns)
    # A folder of all stories, as an earlier version kept it, is still to become the story's.
    is_settled = options.workdir is not None or read_mark(workdir) is not None
    return saved, replace(options, workdir=workdir if is_settled else None)


def as_it_was(options: PlayOptions, run: Run) -> PlayOptions:
    """The options with which the episode was begun, where no others are given."""
    asked = None if options.player == "auto" else options.player
    return replace(
        options,
        episodes=options.episodes or 1,
        max_turns=options.max_turns or run.max_turns,
        game=options.game or run.story_path,
        seed=options.seed or run.seed,
        player=asked or run.player,
        explore=options.explore or run.explore,
        remember=options.remember and run.remember,
        walkthrough=options.walkthrough or (Path(run.walkthrough) if run.walkthrough else None),
    )


def _configuration(options: PlayOptions) -> GameConfiguration:
    return GameConfiguration.load(
        arguments={
            "max_turns_per_episode": options.max_turns,
            "zork_game_workdir": str(options.workdir) if options.workdir else None,
            "agent_model": options.model,
            "explore": options.explore,
            "client_base_url": options.base_url,
            "turn_delay_seconds": options.delay_s,
            "max_cost": options.max_cost,
            "max_tokens": options.max_tokens,
        }
    )


def _choose(options: PlayOptions, config: GameConfiguration) -> PlayerChoice:
    player = options.player or "auto"
    if player not in PLAYER_KINDS:
        raise ConfigurationError(f"There is no player {player!r}. There are: {', '.join(PLAYER_KINDS)}.")
    choice = choose_player("walkthrough" if options.walkthrough and player == "auto" else player, config)
    if options.resume is not None:
        choice = replace(choice, why="it has played the episode so far")
    if choice.models is not None:
        LLMClient(choice.models).check()
    return choice


class _Endings:
    """Keeps how each episode ended."""

    def __init__(self) -> None:
        self.events: list[EpisodeEnded] = []

    def episode_started(self, event: EpisodeStarted) -> None:
        pass

    def episode_resumed(self, event: EpisodeResumed) -> None:
        pass

    def turn_played(self, record: TurnRecord) -> None:
        pass

    def episode_ended(self, event: EpisodeEnded) -> None:
        self.events.append(event)


class _TurnsEnd:
    """Here at the latest a run ends that is to be stopped."""

    def episode_started(self, event: EpisodeStarted) -> None:
        pass

    def episode_resumed(self, event: EpisodeResumed) -> None:
        pass

    def turn_played(self, record: TurnRecord) -> None:
        STOP.insist()

    def episode_ended(self, event: EpisodeEnded) -> None:
        pass


def _displays(
    options: PlayOptions, config: GameConfiguration, story: Story, choice: PlayerChoice
) -> tuple[Watcher, ...]:
    pace = Pace(options.episodes or _EPISODES, config.max_turns_per_episode)
    if choice.kind == "human":
        return ()
    if options.display != "live":
        console = console_for(sys.stderr)
        return (pace, BarDisplay(console, pace)) if console.is_terminal else ()
    title = story.title or story.path.stem
    shown_for_s = SHOWN_FOR_S if options.delay_s is None else 0.0
    console = console_for(sys.stdout)
    return (pace, display_for(console, title, choice, pace, shown_for_s=shown_for_s))


def _tell(damaged: dict[str, str]) -> None:
    console = console_for(sys.stdout)
    for line in noted(damaged):
        console.print(Text(printable(line), "yellow"), soft_wrap=True)


def _play(
    config: GameConfiguration,
    run_options: RunOptions,
    watchers: tuple[Watcher, ...],
    episodes: int,
    resumed: int | None,
) -> bool:
    """Play so many episodes, the first of them perhaps a resumed one; True if a person cut them short."""
    try:
        with assemble(config, run_options, watchers) as orchestrator:
            for number in range(episodes):
                ended = orchestrator.play_episode(resume=None if number else resumed)
                if ended.reason in _LAST_WORDS or STOP.asked:
                    break
    except KeyboardInterrupt:
        return True
    return STOP.asked


def _sum_up(
    options: PlayOptions,
    config: GameConfiguration,
    story: Story,
    choice: PlayerChoice,
    ended: list[EpisodeEnded],
    damaged: list[dict[str, str]],
) -> None:
    summary = summary_of(config, story, choice, ended, remembered=options.remember, damaged=damaged)
    if options.display == "json":
        sys.stdout.write(json.dumps(summary, ensure_ascii=False, indent=1) + "\n")
    else:
        write_summary(console_for(sys.stdout), summary)
