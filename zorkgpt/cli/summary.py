"""What a run came to, for people and for scripts."""

from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from game_interface.story import Story
from orchestration.players import Choice
from session.game_configuration import LOG_FILE, GameConfiguration
from zorkgpt.cli.account import account
from zorkgpt.cli.lines import printable, score_line
from zorkgpt.memory.models import Persistence
from zorkgpt.runlog.events import EpisodeEnded
from zorkgpt.runlog.metrics import FailureCount, count_failures
from zorkgpt.runlog.reader import episodes_in, read_episode

_PLUG_IN = """To plug in a model (any OpenAI-compatible server, hosted or local):
  uv run python main.py --model NAME --base-url http://localhost:11434/v1
  or OPENAI_API_KEY in the environment and --model NAME for a hosted one"""
_ROOM_FOR_A_TABLE = 76
_LEARNING = ("turns", "turns_asked", "synthesized", "core_validation_downgrade", "persistence_corrected", "audit")
_BRING_ZORK = """To play Zork: put your own zork.z5 into infrastructure/, or name a story with --game FILE"""


def summary_of(
    config: GameConfiguration,
    story: Story,
    choice: Choice,
    ended: list[EpisodeEnded],
    *,
    remembered: bool,
    damaged: list[dict[str, str]],
) -> dict[str, Any]:
    """The summary as JSON values.

    Args:
        damaged: of each file that was not as it was left: what of it, which one, as what it was set aside, and what to
            do if that was on purpose.
    """
    workdir = Path(config.zork_game_workdir)
    failures = _failures(workdir, config.episode_log_file)
    return {
        "story": story.title or story.path.stem,
        "player": choice.kind,
        "why": choice.why,
        "language_model": choice.models.of("agent").model if choice.kind == "model" and choice.models else None,
        "memory": remembered and config.simple_memory.enabled,
        "episodes": [_episode(end, failures.get(end.episode)) for end in ended],
        "damaged_files": damaged,
        "files": _files(workdir, config),
    }


def _failures(workdir: Path, log_name: str) -> dict[int, FailureCount]:
    logs = (read_episode(workdir, episode, log_name) for episode in episodes_in(workdir))
    return {count.episode: count for count in count_failures(logs)}


def _episode(end: EpisodeEnded, count: FailureCount | None) -> dict[str, Any]:
    return {
        "episode": end.episode,
        "ending": end.reason,
        "message": end.message,
        "score": end.score,
        "max_score": end.max_score,
        "turns": end.turns,
        "places": end.places,
        "deaths": end.deaths,
        "memories": end.memories,
        "failed_actions": count.failed if count else 0,
        "repeated_failed_actions": count.repeated if count else 0,
        "model_usage": end.metrics.get("model_usage", {}),
        "deduplication": end.metrics.get("deduplication_metrics", {}),
        "learning": {name: end.metrics[name] for name in _LEARNING if name in end.metrics},
    }


def _files(workdir: Path, config: GameConfiguration) -> dict[str, str]:
    named = {"memories": config.memory_file, "map": config.map_state_file, "runs": "runs", "log": LOG_FILE}
    return {what: str(workdir / name) for what, name in named.items() if (workdir / name).exists()}


def write_summary(console: Console, summary: dict[str, Any]) -> None:
    """The summary as a table, with what to do next."""
    console.print()
    if summary["episodes"]:
        console.print(
            _table(summary["episodes"]) if console.width >= _ROOM_FOR_A_TABLE else _lines(summary["episodes"])
        )
    else:
        console.print("No episode was played.")
    for episode in summary["episodes"]:
        if episode["message"]:
            console.print(printable(f"Episode {episode['episode']} ended early: {episode['message']}"))
    player = f"Player: {summary['player']}, because {summary['why']}."
    console.print(printable(player if summary["memory"] else f"{player} Memory was off."))
    for line in account(summary["episodes"]):
        console.print(printable(line), soft_wrap=True)
    for one in summary["damaged_files"]:
        for line in noted(one):
            console.print(printable(line), soft_wrap=True)
    for what, path in summary["files"].items():
        console.print(printable(f"  {what:<9} {path}"), soft_wrap=True)
    if summary["language_model"] is None and summary["player"] == "offline":
        console.print(f"\n{_PLUG_IN}\n{_BRING_ZORK}")


def noted(damaged: dict[str, str]) -> list[str]:
    """What is to be said of a file that was not as it was left, in lines."""
    lines = [f"Note: {damaged['what']}: {damaged['set_aside'] or damaged['file']}"]
    return [*lines, f"      {damaged['way_out']}"] if damaged["way_out"] else lines


def _lines(episodes: list[dict[str, Any]]) -> str:
    """What the table says, for a terminal too narrow for it."""
    return "\n".join(
        f"Episode {episode['episode']}: {episode['ending']}, "
        f"score {score_line(episode['score'], episode['max_score'])}, "
        f"{episode['turns']} turns, {episode['places']} places, {episode['deaths']} deaths, "
        f"{episode['repeated_failed_actions']} repeated failures, "
        f"memories: {', '.join(f'{count} {kind}' for kind, count in episode['memories'].items())}"
        for episode in episodes
    )


def _table(episodes: list[dict[str, Any]]) -> Table:
    table = Table(title="What came of it", title_justify="left", box=SIMPLE, collapse_padding=True, pad_edge=False)
    repeated, kinds = "repeated\nfailures", "memories\n(core, perm.,\nephem.)"
    for name in ("episode", "ending", "score", "turns", "places", "deaths", repeated, kinds):
        table.add_column(name, justify="left" if name == "ending" else "right", no_wrap=name != "ending")
    for episode in episodes:
        share = f" ({episode['repeated_failed_actions'] / episode['turns']:.0%})" if episode["turns"] else ""
        table.add_row(
            str(episode["episode"]),
            episode["ending"],
            score_line(episode["score"], episode["max_score"]),
            str(episode["turns"]),
            str(episode["places"]),
            str(episode["deaths"]),
            f"{episode['repeated_failed_actions']}{share}",
            ", ".join(str(episode["memories"].get(kind, 0)) for kind in Persistence),
        )
    return table
