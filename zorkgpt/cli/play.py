"""The command `play`: play episodes and print a summary."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from game_interface.core.coverage import CONSEQUENCES
from game_interface.story import Story, find_story
from orchestration.assembly import RunOptions, assemble, claim_workdir
from orchestration.player_choice import PlayerChoice, choose_player
from orchestration.players import PLAYERS
from orchestration.zork_orchestrator_v2 import Watcher
from session.game_configuration import LOG_FILE, GameConfiguration
from session.history import TurnRecord
from zorkgpt.cli.control import control_episode
from zorkgpt.cli.display import LINGER_S, LineDisplay, ScreenDisplay, console_for, display_for
from zorkgpt.cli.human import HumanPlayer
from zorkgpt.cli.options import PlayOptions, run_configuration, story_folder
from zorkgpt.cli.process import STOP, ExitCode
from zorkgpt.cli.status import RunProgress, Status, StatusLine, report_if_silent
from zorkgpt.cli.summary import COMMAND, damage_lines, learning_of, summary_of, write_summary
from zorkgpt.cli.view import page_during_run
from zorkgpt.embeddings.choose import without_embeddings
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.client import LLMClient, ModelStatus
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.scripted import RecordedLLM
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.log import get_logger, logging_to
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.run_folder import RUNS
from zorkgpt.runlog.episodes import Recording, recording_in
from zorkgpt.runlog.events import (
    LAST_ENDINGS,
    EpisodeEnded,
    EpisodeEnding,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    PlayerKind,
)
from zorkgpt.runlog.saved_episodes import SavedEpisode, can_be_resumed, find_resumable
from zorkgpt.runlog.story_folder import StoryMark
from zorkgpt.text import printable

log = get_logger(__name__)

_DEFAULT_EPISODES = 2
_EPISODES_BY_PLAYER: dict[str, int] = {PlayerKind.RULES: 10, PlayerKind.HUMAN: 1}
_RULES_MAX_TURNS = 250
"""Default turns per episode for the rules. In longer episodes they run out of promising actions."""
_MAX_DIGITS = 18
"""Maximum digits of an episode number."""
_RESUMABLE_ENDINGS = (*LAST_ENDINGS, EpisodeEnding.INTERRUPTED)


_UNKNOWN_LOCATION = "The player's location is unknown. Until the story shows it, " + CONSEQUENCES["location"] + "."


def play_episodes(options: PlayOptions) -> int:
    """Play episodes and print a summary. Return the exit code.

    Raises:
        ZorkGPTError: If the input is invalid or the configured model can't be reached. Nothing was played.
    """
    status = Status(CurrentCall())
    status.begin("loading the story")
    watcher = _RunWatcher(status)
    try:
        with StatusLine(console_for(sys.stdout if options.display == "live" else sys.stderr), status) as line:
            watcher.console = line.console
            return _play_episodes(options, line, watcher)
    except KeyboardInterrupt:
        typer.echo(f"zorkgpt: Interrupted. {_how_to_continue(options, watcher)}", err=True)
        return ExitCode.INTERRUPTED


@dataclass(frozen=True)
class _Plan:
    """The run to play."""

    options: PlayOptions
    """Completed with the values of a resumed episode."""
    config: GameConfiguration
    story: Story
    choice: PlayerChoice
    resumed: int | None
    """The episode to resume. None for a new one."""
    recording: Recording | None = None
    """The recorded run to replay. None for a normal run."""

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        return self.options.episodes or _EPISODES_BY_PLAYER.get(self.choice.kind, _DEFAULT_EPISODES)

    @property
    def needs_control(self) -> bool:
        """Whether the run is compared with a control episode."""
        is_new = self.resumed is None and self.episodes > 1
        return self.choice.kind == PlayerKind.RULES and not self.options.no_memory and is_new


def _plan(options: PlayOptions, line: StatusLine) -> _Plan:
    saved, options = _resumed(options)
    recording = None
    if options.replay is not None:
        recording = recording_in(options.replay)
        started = recording.started
        options = _completed(options, episodes=recording.episodes, max_turns=started.max_turns, seed=started.seed)
    config = _configuration(options)
    story = find_story(options.game)
    if recording is None:
        choice = _choose(options, config, line)
    else:
        choice = PlayerChoice(recording.started.player, f"replay of {options.replay}", None)
    if choice.kind == PlayerKind.PLAIN:
        options = replace(options, no_memory=True)
    limits = config.orchestrator
    if choice.kind == PlayerKind.RULES and "max_turns_per_episode" not in limits.model_fields_set:
        limits = limits.model_copy(update={"max_turns_per_episode": _RULES_MAX_TURNS})
        config = config.model_copy(update={"orchestrator": limits})
    if options.workdir is None:
        config = config.with_workdir(story_folder(config, StoryMark.of(story.summary())))
    _check_replay(options, config, story, recording)
    return _Plan(options, config, story, choice, saved.episode if saved else None, recording)


def _check_replay(options: PlayOptions, config: GameConfiguration, story: Story, recording: Recording | None) -> None:
    if recording is None:
        return
    recorded = recording.started.story
    if recorded.get("sha256") != story.sha256:
        raise ConfigurationError(
            f"--replay {options.replay} is a run of {printable(str(recorded.get('title') or 'another story'))}. "
            "Name its story file with --game."
        )
    workdir = Path(config.zork_game_workdir)
    if (workdir / RUNS).exists():
        raise ConfigurationError(
            f"{workdir} already has episodes, so a replay would differ from the recorded run. "
            "Name an empty folder with --workdir."
        )


def _play_episodes(options: PlayOptions, line: StatusLine, watcher: "_RunWatcher") -> int:
    plan = _plan(options, line)
    claim_workdir(plan.config, plan.story)
    watcher.workdir = Path(plan.config.zork_game_workdir)
    watcher.memory = plan.config.memory_of_run(remember=not plan.options.no_memory)
    line.status.begin("starting the game")
    person = HumanPlayer(line) if plan.choice.kind == PlayerKind.HUMAN else None
    run_options = RunOptions(
        plan.choice,
        plan.story,
        plan.options.seed or 1,
        not plan.options.no_memory,
        plan.options.walkthrough,
        person=(lambda: person) if person else None,
        observer=line.status.calls,
        recorded_answers=plan.recording.answers if plan.recording else None,
    )
    display, followers = _display(plan, line, person)
    line.hide()
    log_file = Path(plan.config.zork_game_workdir) / LOG_FILE
    with logging_to(log_file) as damaged, page_during_run(plan.config, enabled=options.view) as keep_serving:
        line.show()
        if options.display == "live":
            damaged.on_report = partial(_print_damage, line.console)
        with ExitStack() as stack:
            control_events = _begin_control_episode(plan, run_options.seed, stack)
            try:
                # The run watcher is last, so that a turn is shown before the run is interrupted after it.
                interrupted = _play(plan, run_options, (*followers, watcher), line)
            finally:
                if display is not None:
                    display.close()
            line.show()
            line.status.begin("finishing the control episode")
            control = () if interrupted else control_events()
        line.hide()
        _sum_up(plan, watcher.endings, damaged.reports, control)
        if (interrupted or watcher.is_cut_short) and options.display != "json":
            typer.echo(_how_to_continue(options, watcher))
        if not interrupted:
            keep_serving()
    if interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.EPISODE_FAILED if any(end.reason == EpisodeEnding.ERROR for end in watcher.endings) else ExitCode.OK


def _how_to_continue(options: PlayOptions, watcher: "_RunWatcher") -> str:
    """Return a message that says what is saved, with the command to resume the episode."""
    if watcher.begun is None:
        return "No turn was played, and nothing has changed."
    if not watcher.workdir.is_dir():
        return f"{watcher.workdir} no longer exists, so nothing is saved."
    ended = watcher.endings[-1] if watcher.endings else None
    if ended is not None and ended.episode == watcher.begun and ended.reason not in _RESUMABLE_ENDINGS:
        return "Everything is saved. The next run starts the next episode."
    given = {
        "--workdir": options.workdir,
        "--game": options.game,
        "--model": options.model,
        "--base-url": options.base_url,
    }
    more = "".join(f" {name} {shlex.quote(str(value))}" for name, value in given.items() if value)
    more += " --no-memory" if options.no_memory else ""
    # After an error such as a full disk, the log may be incomplete.
    saved = "What was learned" if ended is not None and ended.reason == EpisodeEnding.ERROR else "Everything"
    if options.replay is not None:
        return f"{saved} is saved. A replay can't be resumed. To restart it, name an empty folder with --workdir."
    if not can_be_resumed(watcher.workdir, watcher.begun, watcher.memory):
        return f"{saved} is saved. This episode can't be resumed. The next run starts a new one."
    return f"{saved} is saved. To resume this episode: {COMMAND} --resume {watcher.begun}{more}"


def _resumed(options: PlayOptions) -> tuple[SavedEpisode | None, PlayOptions]:
    """Return the episode to resume, or None for a new one, and the options completed with its values."""
    if options.resume is None:
        return None, options
    if options.resume != "last" and not (options.resume.isdecimal() and len(options.resume) <= _MAX_DIGITS):
        raise ConfigurationError(f"--resume takes an episode number, not {options.resume!r}.")
    config = _configuration(options)
    episode = None if options.resume == "last" else int(options.resume)
    workdir = Path(run_configuration(options.workdir, options.game).zork_game_workdir)
    log_name, memory = config.episode_log_file, config.memory_of_run(remember=not options.no_memory)
    saved = find_resumable(workdir, log_name, memory, episode=episode, max_turns=options.max_turns)
    run = saved.checkpoint.run
    if options.player == "auto":
        options = replace(options, player=None)
    return saved, _completed(
        replace(options, workdir=workdir),
        episodes=1,
        max_turns=run.max_turns,
        game=run.story_path,
        seed=run.seed,
        player=run.player,
        no_memory=not run.remember,
        walkthrough=Path(run.walkthrough) if run.walkthrough else None,
    )


def _completed(options: PlayOptions, **values: Any) -> PlayOptions:
    """Return the options with these values for those that are not given."""
    return replace(options, **{name: value for name, value in values.items() if not getattr(options, name)})


def _configuration(options: PlayOptions) -> GameConfiguration:
    return GameConfiguration.load(
        arguments={
            "max_turns_per_episode": options.max_turns,
            "keep_episodes": options.keep,
            "zork_game_workdir": str(options.workdir) if options.workdir else None,
            "agent_model": options.model,
            "client_base_url": options.base_url,
            "turn_delay_seconds": options.delay,
            "max_cost": options.max_cost,
            "max_tokens": options.max_tokens,
            "ask_in_background": False if options.synchronous else None,
        }
    )


def _choose(options: PlayOptions, config: GameConfiguration, line: StatusLine) -> PlayerChoice:
    player = options.player or "auto"
    if player not in ("auto", *PLAYERS):
        raise ConfigurationError(f"Unknown player {player!r}. Choose one of: {', '.join(('auto', *PLAYERS))}.")
    choice = choose_player(PlayerKind.WALKTHROUGH if options.walkthrough and player == "auto" else player, config)
    if options.resume is not None:
        choice = replace(choice, why="resumed")
    if choice.models is not None:
        choice = replace(choice, servers=_check_models(choice.models, line))
    return choice


def _check_models(models: LLMSettings, line: StatusLine) -> tuple[ModelStatus, ...]:
    client = LLMClient(models, observer=line.status.calls)
    servers = sorted({client.base_url(role) for role in models.roles})
    who = f"the server {servers[0]}" if len(servers) == 1 else f"one of the servers {', '.join(servers)}"
    line.status.begin(f"contacting {who}")
    with report_if_silent(line, who, models.deadline_s):
        return client.check()


class _RunWatcher:
    """A watcher that records the endings of episodes, and interrupts the run after a turn if a signal requested it."""

    def __init__(self, status: Status) -> None:
        self.begun: int | None = None
        """The last episode that was started. None if none was."""
        self.endings: list[EpisodeEnded] = []
        self.workdir = Path()
        """The folder of the story. Set once it is known."""
        self.memory = ""
        """The name of the memory file in it, or the address of the memory."""
        self.console: Console | None = None
        self._status = status

    @property
    def is_cut_short(self) -> bool:
        """Whether the last episode was interrupted and can be resumed."""
        return bool(self.endings) and self.endings[-1].reason in _RESUMABLE_ENDINGS

    def episode_started(self, event: EpisodeStarted) -> None:
        if self.begun is None and event.location_id is None and self.console is not None:
            self.console.print(Text(_UNKNOWN_LOCATION, "yellow"), soft_wrap=True)
        self.begun = event.episode
        self._status.begin("")

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self.begun = event.episode
        self._status.begin("")

    def turn_played(self, record: TurnRecord) -> None:
        STOP.raise_if_requested()

    def episode_ended(self, event: EpisodeEnded) -> None:
        self.endings.append(event)
        self._status.begin("")


def _display(
    plan: _Plan, line: StatusLine, person: HumanPlayer | None
) -> tuple[LineDisplay | ScreenDisplay | None, tuple[Watcher, ...]]:
    """Return the display of the turns, or None if there is none, and all watchers that show the run."""
    progress = RunProgress(plan.episodes, plan.config.max_turns_per_episode)
    if person is not None:
        return None, (person,)
    if plan.options.display != "live":
        line.status.progress = lambda: f"{progress.position()}  {progress.speed()}"
        return None, (progress,)
    title = plan.story.title or plan.story.path.stem
    linger_s = LINGER_S if plan.options.delay is None else 0.0
    display = display_for(line, title, plan.choice, progress, linger_s=linger_s)
    return display, (progress, display)


def _begin_control_episode(plan: _Plan, seed: int, stack: ExitStack) -> Callable[[], Sequence[Event]]:
    """Return a function that waits for the events of the control episode. It returns none if there is no episode."""
    turns, log_name = plan.config.max_turns_per_episode, plan.config.episode_log_file
    if plan.needs_control:
        try:
            return stack.enter_context(control_episode(plan.story.path, seed, turns, log_name))
        except OSError as error:
            log.warning("control episode failed", extra={"problem": str(error)})
    return tuple


def _print_damage(console: Console, damaged: dict[str, str]) -> None:
    for line in damage_lines(damaged):
        console.print(Text(printable(line), "yellow"), soft_wrap=True)


def _play(plan: _Plan, run_options: RunOptions, watchers: tuple[Watcher, ...], line: StatusLine) -> bool:
    """Play episodes, the first of which may be a resumed one. Return whether a signal interrupted them."""
    try:
        llm = RecordedLLM(plan.recording.calls) if plan.recording else None
        with assemble(plan.config, run_options, watchers, llm=llm) as orchestrator:
            if plan.choice.models and (missing := _missing_embeddings(plan.config, orchestrator.simple_memory)):
                line.say(f"zorkgpt: {missing}")
            for number in range(plan.episodes):
                ended = orchestrator.play_episode(resume=None if number else plan.resumed)
                if ended.reason in LAST_ENDINGS or STOP.requested:
                    break
    except KeyboardInterrupt:
        return True
    return STOP.requested


def _missing_embeddings(config: GameConfiguration, memory: SimpleMemoryManager | None) -> str:
    """Return how to install embeddings, or "" if they are installed or disabled."""
    wanted = config.memory_deduplication
    if memory is None or memory.parts.vectors or not wanted.enable or wanted.provider in ("none", "llm"):
        return ""
    return without_embeddings(wanted.provider, wanted.sentence_transformer_model)


def _sum_up(plan: _Plan, ended: list[EpisodeEnded], damaged: list[dict[str, str]], control: Sequence[Event]) -> None:
    config, remember = plan.config, not plan.options.no_memory
    workdir = Path(config.zork_game_workdir)
    memory = config.memory_of_run(remember=remember)
    memories = memory if memory == config.memory_address else workdir / memory
    learning = learning_of(workdir, config.episode_log_file, memories, control)
    summary = summary_of(
        config, plan.story, plan.choice, ended, remembered=remember, damaged=damaged, learning=learning
    )
    if plan.options.display == "json":
        sys.stdout.write(json.dumps(summary, ensure_ascii=False, indent=1) + "\n")
    else:
        write_summary(console_for(sys.stdout), summary)
