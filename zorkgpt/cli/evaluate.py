"""The command `eval`: play the runs of an evaluation and print the results."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from game_interface.story import find_story
from orchestration.player_choice import PlayerChoice, choose_player
from orchestration.players import PLAYERS
from session.game_configuration import GameConfiguration
from zorkgpt.cli.display import console_for
from zorkgpt.cli.options import EvalOptions
from zorkgpt.cli.process import ExitCode
from zorkgpt.errors import ConfigurationError, FileError
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.executor import Executor, ProcessExecutor, RunOutcome, play_all
from zorkgpt.evals.protocols import protocol_named
from zorkgpt.evals.results import EvaluationResults, as_csv, as_json_text, results_of, tables
from zorkgpt.evals.runs import EvaluationRun, plan
from zorkgpt.evals.storage import ResultStore, is_url
from zorkgpt.files import write_file
from zorkgpt.offline.walkthrough import WalkthroughPlayer
from zorkgpt.runlog.events import PlayerKind
from zorkgpt.text import number_of, printable

if TYPE_CHECKING:
    from zorkgpt.evals.report import Pages

_FOLDER = "evaluations"
_SEEDS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_MAX_SEEDS = 1000


def evaluate(options: EvalOptions) -> int:
    """Play the remaining runs of an evaluation and print the results. Return the exit code.

    Raises:
        ZorkGPTError: If the input is invalid or the configured model can't be reached. Nothing was played.
    """
    store = ResultStore(options.out) if options.out and is_url(options.out) else None
    runs = _planned(options)
    root = runs[0].root
    if store is not None:
        store.fetch(root)
    for run in runs:
        run.check()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{root} can't be used as a folder: {error.strerror}. Choose another with --out."
        ) from None
    executor = _executor(options)
    try:
        with _progress_bar() as bar:
            display = _Display(runs, bar, store)
            outcomes = play_all(
                runs, executor=executor, progress=display.progress, ended=display.ended, limit_s=options.limit
            )
    except KeyboardInterrupt:
        typer.echo(
            f"zorkgpt: Interrupted. Finished runs are kept in {root}. Run the same command to continue.", err=True
        )
        return ExitCode.INTERRUPTED
    results = results_of(outcomes)
    _write(results, root, pages=not options.no_pages)
    if options.json:
        sys.stdout.write(as_json_text(results).decode("utf-8", "replace"))
    else:
        protocol = runs[0].protocol
        console = console_for(sys.stdout)
        console.print(f"{protocol.name}: {protocol.what}\n", soft_wrap=True)
        console.print(tables(results), soft_wrap=True)
        console.print(f"Report: {root / 'report.html'}", soft_wrap=True)
    if store is not None:
        try:
            store.keep(root, root)
        except FileError as error:
            message = f"zorkgpt: {error}. The results are kept in {root}. Run the same command to upload them."
            typer.echo(printable(message), err=True)
            return ExitCode.EPISODE_FAILED
        if not options.json:
            console_for(sys.stdout).print(f"Stored: {store.shown}", soft_wrap=True)
    return ExitCode.EPISODE_FAILED if results.failures else ExitCode.OK


def _executor(options: EvalOptions) -> Executor:
    if options.ray is None:
        return ProcessExecutor(options.jobs or os.cpu_count() or 1)
    from zorkgpt.evals.ray_executor import RayExecutor

    return RayExecutor(options.ray, options.jobs, options.out if options.out and is_url(options.out) else None)


def _planned(options: EvalOptions) -> list[EvaluationRun]:
    protocol = protocol_named(options.protocol)
    config = GameConfiguration.load(arguments={"agent_model": options.model, "client_base_url": options.base_url})
    if config.memory_address:
        raise ConfigurationError("An evaluation starts with empty memory files. Unset memory_address.")
    stories = list({story.sha256: story for story in map(find_story, options.games or (None,))}.values())
    seeds = list(protocol.seeds) if options.seeds is None else _seeds(options.seeds)
    choice = _choice(options, config)
    root = _root(options.out, Path(config.zork_game_workdir) / _FOLDER, protocol.name)
    ablations = _ablations(options.ablate, has_model=choice.models is not None)
    return plan(protocol, stories, seeds, ablations, choice, config, root.absolute(), options.walkthrough)


def _root(out: str | None, folder: Path, name: str) -> Path:
    """Return the local folder for the runs. Each object store has its own folder."""
    if out is None:
        return folder / name
    if not out.strip():
        raise ConfigurationError("--out is empty. Name a folder, or the URL of a store.")
    return folder / f"{name}-{sha256(out.encode()).hexdigest()[:8]}" if is_url(out) else Path(out)


def _seeds(given: str) -> list[int]:
    """Parse seeds such as `1-5` or `1,2,7`."""
    seeds: dict[int, None] = {}
    for part in given.replace(" ", ",").split(","):
        match = _SEEDS.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last or last - first >= _MAX_SEEDS:
            raise ConfigurationError(f"--seeds takes positive numbers, such as 1,2,3 or 1-10, not {given!r}.")
        seeds |= dict.fromkeys(range(first, last + 1))
    return list(seeds)


def _ablations(given: str | None, *, has_model: bool) -> list[Ablation]:
    """Parse ablations such as `off,shuffled`. The first one returned is always `Ablation.ON`, the baseline."""
    names = [name for name in (given or "").replace(" ", ",").split(",") if name]
    if names == ["all"]:
        return [ablation for ablation in Ablation if has_model or ablation is not Ablation.PLAIN]
    if Ablation.PLAIN in names and not has_model:
        raise ConfigurationError("--ablate plain compares with a model that sees only the transcript. Name a --model.")
    choices = [*(ablation.value for ablation in Ablation), "all"]
    for name in names:
        if name not in choices[:-1]:
            raise ConfigurationError(f"Unknown ablation {name!r}. Choose from: {', '.join(choices)}.")
    return list(dict.fromkeys((Ablation.ON, *map(Ablation, names))))


def _choice(options: EvalOptions, config: GameConfiguration) -> PlayerChoice:
    player = options.player or (PlayerKind.WALKTHROUGH if options.walkthrough else "auto")
    players = ["auto", *(name for name in PLAYERS if name != PlayerKind.HUMAN)]
    if player not in players:
        raise ConfigurationError(f"The player {player!r} can't be evaluated. Choose one of: {', '.join(players)}.")
    if player == PlayerKind.WALKTHROUGH and options.walkthrough is None:
        raise ConfigurationError("The walkthrough player needs a file of commands. Name one with --walkthrough.")
    if options.walkthrough is not None:
        WalkthroughPlayer.from_file(options.walkthrough)
    choice = choose_player(player, config)
    if choice.models is not None:
        from zorkgpt.llm.client import LLMClient

        choice = replace(choice, servers=LLMClient(choice.models).check())
    return choice


class _Display:
    """The progress of the runs: a bar on a terminal, otherwise a line for each finished run.

    Args:
        store: Where each run is uploaded when it ends.
    """

    def __init__(self, runs: Sequence[EvaluationRun], bar: Progress, store: ResultStore | None) -> None:
        self._store = store
        self._turns = dict.fromkeys((run.folder for run in runs), 0)
        self._ended = 0
        self._reported_failure = False
        """Whether a failed upload was reported."""
        self._bar = bar
        self._task = bar.add_task("", total=sum(run.protocol.max_turns for run in runs))
        self._update_bar()

    def progress(self, run: EvaluationRun, turns: int) -> None:
        self._turns[run.folder] = turns
        self._update_bar()

    def ended(self, outcome: RunOutcome) -> None:
        self._ended += 1
        run = outcome.run
        if outcome.failure or not self._bar.console.is_terminal:
            end = f"not finished: {outcome.failure}" if outcome.failure else "finished"
            self._print(f"{run.story.title or run.game.stem}, {run.ablation}, seed {run.seed}: {end}")
        if self._store is not None and run.folder.is_dir():
            try:
                self._store.keep(run.root, run.folder)
            except FileError as error:
                # Everything is uploaded again at the end.
                if not self._reported_failure:
                    self._print(f"{error}. The runs are kept in {run.root}.")
                self._reported_failure = True
        self._update_bar()

    def _print(self, line: str) -> None:
        self._bar.console.print(printable(line), soft_wrap=True)

    def _update_bar(self) -> None:
        description = f"{self._ended} of {number_of(len(self._turns), 'run', 'runs')} finished"
        self._bar.update(self._task, completed=sum(self._turns.values()), description=description)


def _progress_bar() -> Progress:
    console = console_for(sys.stderr)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _write(results: EvaluationResults, root: Path, *, pages: bool) -> None:
    from zorkgpt.evals.report import report

    write_file(root / "results.json", as_json_text(results))
    write_file(root / "episodes.csv", as_csv(results))
    write_file(root / "report.md", tables(results).encode("utf-8", "replace"))
    written = _pages(results) if pages else {}
    write_file(root / "report.html", report(results, written).encode("utf-8", "replace"))


def _pages(results: EvaluationResults) -> "Pages":
    """Write a page for each run, and return their paths by working directory."""
    from zorkgpt.viewer.export import export_run

    pages = {}
    for result in results.runs:
        run = result.run
        for workdir in {run.workdir(episode.episode) for episode in result.episodes}:
            page = workdir.with_suffix(".html")
            # A finished run doesn't change, so its page is current.
            if not page.is_file():
                export_run(workdir, page, config=run.config)
            pages[workdir] = page
    return pages
