"""The summary of a run, for people and for scripts."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from game_interface.story import IS_CHECKOUT, Story
from orchestration.players import PlayerChoice
from session.game_configuration import LOG_FILE, GameConfiguration
from zorkgpt.cli.display import score_line
from zorkgpt.cli.learning import Learning, PlayedEpisode, UsefulMemory, levels_to_compare
from zorkgpt.llm.roles import Role
from zorkgpt.memory.models import Persistence
from zorkgpt.runlog.events import EpisodeEnded
from zorkgpt.text import number_of, printable

COMMAND = "uv run python main.py" if IS_CHECKOUT else "zorkgpt"
"""How the program is started."""
_PLUG_IN = f"""To plug in a model (any OpenAI-compatible server, hosted or local):
  {COMMAND} --model NAME --base-url http://localhost:11434/v1
  or OPENAI_API_KEY in the environment and --model NAME for a hosted one"""
_TABLE_WIDTH = 76
_WIDEST_BAR = 30
_MOST_EPISODES = 10
"""Episodes of the learning curve, the last ones."""
_MOST_LEVELS = 4
"""Scores whose turns are compared."""
_TOO_MANY_DOWNGRADES = 0.05
"""Share of the memories that a model made; above it, the prompt and the model misunderstand each other."""
_LEARNING = ("turns", "turns_asked", "synthesized", "core_validation_downgrade", "persistence_corrected", "audit")
_PUT_ZORK = "put your own zork.z5 into infrastructure/, or " if IS_CHECKOUT else ""
_BRING_ZORK = f"To play Zork: {_PUT_ZORK}name a story with --game FILE"

EpisodeSummary = dict[str, Any]
"""An episode in the summary."""


def summary_of(
    config: GameConfiguration,
    story: Story,
    choice: PlayerChoice,
    ended: list[EpisodeEnded],
    *,
    remembered: bool,
    damaged: list[dict[str, str]],
    learning: Learning,
) -> dict[str, Any]:
    """Return the summary as JSON values.

    Args:
        damaged: for each file that was damaged or missing: `what` is wrong, the `file`, its new name `set_aside`, and
            the `way_out` if that was on purpose.
    """
    workdir = Path(config.zork_game_workdir)
    played = {one.end.episode: one for one in learning.episodes}
    return {
        "story": story.title or story.path.stem,
        "player": choice.kind,
        "why": choice.why,
        "language_model": choice.models.of(Role.AGENT).model if choice.kind == "model" and choice.models else None,
        "memory": remembered and config.simple_memory.enabled,
        "episodes": [_episode(end, played.get(end.episode)) for end in ended],
        "memories_that_helped": [asdict(memory) for memory in learning.memories],
        "damaged_files": damaged,
        "folder": str(workdir),
        "files": _files(workdir, config),
    }


def _episode(end: EpisodeEnded, played: PlayedEpisode | None) -> dict[str, Any]:
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
        "failed_actions": played.failures.failed if played else 0,
        "repeated_failed_actions": played.failures.repeated if played else 0,
        "turns_by_rules": played.rules_turns if played else 0,
        "model_usage": end.metrics.get("model_usage", {}),
        "deduplication": end.metrics.get("deduplication_metrics", {}),
        "learning": {name: end.metrics[name] for name in _LEARNING if name in end.metrics},
    }


def _files(workdir: Path, config: GameConfiguration) -> dict[str, str]:
    named = {"memories": config.memory_file, "map": config.map_state_file, "runs": "runs", "log": LOG_FILE}
    return {what: str(workdir / name) for what, name in named.items() if (workdir / name).exists()}


def write_summary(console: Console, summary: dict[str, Any], learning: Learning) -> None:
    """Print what came of the run, what memory was worth, and what to do next."""
    console.print()
    compared = learning.episodes[-_MOST_EPISODES:] if summary["memory"] else ()
    if not summary["episodes"]:
        console.print("No episode was played.")
    elif len(compared) > 1:
        _write_learning(console, compared, learning.memories, by_rules=summary["player"] == "rules")
    else:
        console.print(_table(summary["episodes"]) if console.width >= _TABLE_WIDTH else _lines(summary["episodes"]))
    for episode in summary["episodes"]:
        if episode["message"] and episode["ending"] != "interrupted":
            console.print(printable(f"Episode {episode['episode']} ended early: {episode['message']}"))
    by_rules, turns = (sum(episode[what] for episode in summary["episodes"]) for what in ("turns_by_rules", "turns"))
    if by_rules:
        whole = number_of(turns, "turn", "turns")
        console.print(f"The rules chose {by_rules} of {whole}, for which the model gave no usable answer.")
    player = f"Player: {summary['player']}, because {summary['why']}."
    console.print(printable(player if summary["memory"] else f"{player} Memory was off."))
    for line in usage_report(summary["episodes"]):
        console.print(printable(line), soft_wrap=True)
    for one in summary["damaged_files"]:
        for line in damage_lines(one):
            console.print(printable(line), soft_wrap=True)
    for what, path in summary["files"].items():
        console.print(printable(f"  {what:<9} {path}"), soft_wrap=True)
    if summary["episodes"]:
        console.print(f"\nTo see each turn, the map and the memories in the browser: {_view_command(summary)}")
    if summary["language_model"] is None and summary["player"] == "rules":
        console.print(f"{_PLUG_IN}\n{_BRING_ZORK}")


def _view_command(summary: dict[str, Any]) -> str:
    return printable(f"{COMMAND} view {shlex.quote(summary['folder'])}")


def _write_learning(
    console: Console, episodes: Sequence[PlayedEpisode], memories: Sequence[UsefulMemory], *, by_rules: bool
) -> None:
    """Print the learning curve, what memory avoided and gained, and the memories that gained the most."""
    console.print(Text("What came of it: the score of each episode", "bold"))
    most = max(max(one.end.score or 0 for one in episodes), 1)
    widest = min(_WIDEST_BAR, console.width // 4)
    block = "#" if console.options.ascii_only else "█"
    wide = console.width >= _TABLE_WIDTH
    for one in episodes:
        end = one.end
        bar = block * max(round(widest * (end.score or 0) / most), 1 if end.score else 0)
        told = [end.reason, number_of(end.turns, "turn", "turns"), number_of(end.places, "place", "places")]
        facts = ", ".join(told if wide else told[:2])
        console.print(
            Text.assemble(
                (f"{end.episode:>4} ", "dim"),
                (f"{bar:<{widest}} ", "green"),
                (f"{score_line(end.score, end.max_score):<7} ", "bold"),
                printable(facts),
            ),
            soft_wrap=True,
        )
    console.print(Text("\nWhat memory avoided and gained", "bold"))
    for line in _worth(episodes, by_rules=by_rules):
        console.print(printable(line))
    if memories:
        console.print(Text("\nThe memories that did most", "bold"))
    for memory in memories:
        console.print(printable(f"  {memory.title}, at {memory.place}, learned in episode {memory.learned_in}"))
        points = number_of(memory.points, "point", "points")
        console.print(
            f"    shown in {number_of(memory.shown, 'turn', 'turns')} → followed {memory.followed}x "
            f"→ worked {memory.worked}x → {points}"
        )
    console.print()


def _worth(episodes: Sequence[PlayedEpisode], *, by_rules: bool) -> Iterator[str]:
    first, later = episodes[0], episodes[1:]
    actions, repeated = sum(one.failures.actions for one in later), sum(one.failures.repeated for one in later)
    since = f"since episode {first.end.episode}"
    yield (
        f"  {number_of(actions, 'action', 'actions')} {since}; "
        f"{number_of(repeated, 'repeats a failure', 'repeat a failure')} that had been seen before."
    )
    if by_rules and first.end.episode == 1 and first.failures.failed:
        yield (
            f"  Without memory, this player repeats the {number_of(first.failures.failed, 'failure', 'failures')} "
            "of episode 1 in each: see --no-memory."
        )
    for level in levels_to_compare(episodes, _MOST_LEVELS):
        turns = (one.turns_to(level) for one in episodes)
        told = " → ".join("-" if turn is None else str(turn) for turn in turns)
        yield f"  Turns to {number_of(level, 'point', 'points')}: {told}"


def damage_lines(damaged: dict[str, str]) -> list[str]:
    """Return the lines about a file that was damaged or missing."""
    lines = [f"Note: {damaged['what']}: {damaged['set_aside'] or damaged['file']}"]
    return [*lines, f"      {damaged['way_out']}"] if damaged["way_out"] else lines


def _lines(episodes: list[dict[str, Any]]) -> str:
    """Return the content of the table for a terminal that is too narrow for it."""
    return "\n".join(
        f"Episode {episode['episode']}: {episode['ending']}, "
        f"score {score_line(episode['score'], episode['max_score'])}, "
        f"{number_of(episode['turns'], 'turn', 'turns')}, {number_of(episode['places'], 'place', 'places')}, "
        f"{number_of(episode['deaths'], 'death', 'deaths')}, "
        f"{number_of(episode['repeated_failed_actions'], 'repeated failure', 'repeated failures')}, "
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


def usage_report(episodes: Iterable[EpisodeSummary]) -> Iterator[str]:
    """Report in sentences what the models used and how their answers fared; nothing if there is nothing to say."""
    episodes = list(episodes)
    yield from _usage(episodes)
    learned = _sums(episode["learning"] for episode in episodes)
    if any("memory" in episode["model_usage"] for episode in episodes):
        yield from _downgrades(learned)
    yield from _contradictions(_sums(episode.get("deduplication", {}) for episode in episodes))
    if contradicted := sum(episode["learning"].get("audit", {}).get("contradicted", 0) for episode in episodes):
        yield f"{_memories(contradicted)} the fresh world contradicted, and marked as wrong."


def _usage(episodes: list[EpisodeSummary]) -> Iterator[str]:
    roles = {role for episode in episodes for role in episode["model_usage"]}
    for role in sorted(roles):
        used = _sums(episode["model_usage"].get(role, {}) for episode in episodes)
        calls = int(used["calls"])
        words = [number_of(calls, "call", "calls"), f"{int(used['prompt_tokens']):,} tokens read"]
        words += [f"{int(used['completion_tokens']):,} written", f"{used['latency_s'] / max(calls, 1):.1f} s a call"]
        words += [f"{int(used['failed'])} failed"] if used["failed"] else []
        words += [f"{int(used['uncounted'])} not counted by the server"] if used["uncounted"] else []
        words += [f"cost {used['cost']:.4f}"] if used["cost"] else []
        yield f"Model as {role}: {', '.join(words)}."


def _downgrades(learned: dict[str, float]) -> Iterator[str]:
    made, downgraded = learned.get("synthesized", 0), learned.get("core_validation_downgrade", 0)
    if made and downgraded / made > _TOO_MANY_DOWNGRADES:
        yield (
            f"{int(downgraded)} of {int(made)} memories were called core on a later visit and kept as permanent: "
            "the prompt does not fit the memory model. Try another memory_model."
        )


def _contradictions(counts: dict[str, float]) -> Iterator[str]:
    if kept := int(counts.get("contradictions_kept", 0)):
        yield f"{kept} of the memories contradicted one that was known; both are kept, see `memories undo --list`."


def _sums(rows: Iterable[dict[str, Any]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, int | float):
                total[name] = total.get(name, 0) + value
    return total


def _memories(count: int) -> str:
    return "One memory that" if count == 1 else f"{count} memories that"
