"""The summary of a run, as text or as JSON, with the learning across the episodes of its folder."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from sys import maxsize
from typing import Any

from rich.console import Console
from rich.text import Text

from game_interface.story import Story
from orchestration.player_choice import PlayerChoice
from session.game_configuration import LOG_FILE, GameConfiguration
from zorkgpt.cli.display import score_line
from zorkgpt.errors import MemoryStoreError
from zorkgpt.extras import IS_CHECKOUT
from zorkgpt.llm.roles import Role
from zorkgpt.llm.usage import Tally, useless_answers
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.losses import loss_in
from zorkgpt.memory.models import NO_EFFECT, Category, Memory, MemoryKind, SubjectKey
from zorkgpt.memory.places import is_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.history import Trial
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episodes import FailureCount, count_failures, last_end, read_episode, turns_in
from zorkgpt.runlog.events import EpisodeEnded, EpisodeEnding, EpisodeStarted, Event, PlayerKind
from zorkgpt.text import number_of, printable

COMMAND = "uv run python main.py" if IS_CHECKOUT else "zorkgpt"
"""The command that starts this program."""
_WIDE = 76
_MAX_BAR_WIDTH = 30
_MAX_EPISODES = 10
"""Maximum episodes in the bar chart. The default run fits, and the summary is about a screen long."""
_MAX_DOWNGRADES = 0.05
"""Share of a model's memories above which the summary warns that the model misreads its prompt."""
_LEARNING = ("turns", "turns_asked", "synthesized", "core_validation_downgrade", "persistence_corrected", "audit")
EpisodeSummary = dict[str, Any]
"""The summary of an episode, as JSON values."""


TitleKey = tuple[SubjectKey, str]
"""The location and the title of a memory."""
_SHOWN_MEMORIES = 3


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """A finished episode."""

    end: EpisodeEnded
    failures: FailureCount
    rules_turns: int = 0
    """Turns chosen by the rules because the model gave no usable answer."""


@dataclass(frozen=True, slots=True)
class UsefulMemory:
    """A memory that the player followed with success."""

    title: str
    place: str
    followed: int
    worked: int
    points: int
    """Points scored in the turns in which it worked."""


@dataclass(frozen=True, slots=True)
class Learning:
    """The finished episodes and their most useful memories."""

    episodes: tuple[PlayedEpisode, ...]
    memories: tuple[UsefulMemory, ...]
    """Best first."""
    control: FailureCount | None = None
    """Failures of the control episode, counted as a second episode without memory. None if none was played."""


def learning_of(workdir: Path, log_name: str, memories: Path | str, control: Sequence[Event] = ()) -> Learning:
    """Measure the learning across the episodes of a folder.

    Args:
        memories: The memory file, or the address of a PostgreSQL database.
        control: The events of the control episode, if there was one.
    """
    numbers = episodes_in(workdir)
    known, every_trial = _memories_and_trials(memories)
    # Other folders that share the memory use other episode numbers.
    trials = [trial for trial in every_trial if trial.episode in numbers]
    gains: dict[tuple[int | str, int], int] = {}
    # The end of each episode, and the number of turns in which the rules replaced its player.
    played: list[tuple[EpisodeEnded | None, int]] = []

    def logs() -> Iterator[Sequence[Event]]:
        for number in numbers:
            events = read_episode(workdir, number, log_name)
            turns = turns_in(events).values()
            gains.update(((turn.episode, turn.turn), turn.transition.points) for turn in turns)
            player = next((event.player for event in events if isinstance(event, EpisodeStarted)), "")
            played.append((last_end(events), sum(turn.player == PlayerKind.RULES != player for turn in turns)))
            yield events

    failures = list(count_failures(logs()))
    counted = zip(played, failures, strict=True)
    episodes = tuple(PlayedEpisode(end, failed, rules) for (end, rules), failed in counted if end is not None)
    control_failures = None
    if control and numbers:
        # As if the control episode were played after the folder's first episode.
        _, control_failures = count_failures([read_episode(workdir, numbers[0], log_name), control])
    return Learning(episodes, _useful_memories(known, trials, gains), control_failures)


def _memories_and_trials(memories: Path | str) -> tuple[list[LocatedMemory], list[Trial]]:
    try:
        with AgentMemory(path=memories) as manager:
            return manager.find(limit=maxsize), list(manager.store.journal.trials())
    except MemoryStoreError:
        # The run has already reported the error. The scores can still be shown.
        return [], []


def _useful_memories(
    memories: Iterable[LocatedMemory], trials: Iterable[Trial], gains: dict[tuple[int | str, int], int]
) -> tuple[UsefulMemory, ...]:
    by_title: dict[TitleKey, LocatedMemory] = {}
    for each in memories:
        by_title.setdefault((each.location_id, each.memory.title), each)
    by_memory: defaultdict[TitleKey, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_memory[trial.location_id, trial.title].append(trial)
    useful = []
    for (place, title), followed in by_memory.items():
        worked = [trial for trial in followed if trial.worked]
        located = by_title.get((place, title))
        points = sum(gains.get((trial.episode, trial.turn), 0) for trial in worked)
        if located is None or not _promises_gain(located.memory) or not worked or points < 0:
            continue
        if not is_place(place) or not located.location_name:
            continue
        useful.append(UsefulMemory(title, located.location_name, len(followed), len(worked), points))
    useful.sort(key=lambda memory: (memory.points, memory.worked), reverse=True)
    return tuple(useful[:_SHOWN_MEMORIES])


def _promises_gain(memory: Memory) -> bool:
    """Return whether following the memory is meant to help, unlike a warning of a loss or of a vain action."""
    is_warning = memory.kind is MemoryKind.DANGER or memory.category in (Category.DANGER, Category.FAILURE)
    return not is_warning and memory.outcome != NO_EFFECT and loss_in(memory.outcome) is None


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
        damaged: A row per damaged, missing or unwritable file: `what` is wrong, the `file`, its new name `set_aside`,
            and `way_out`, the cause or the fix, if known.
    """
    workdir = Path(config.zork_game_workdir)
    first = learning.episodes[0].end.episode if learning.episodes else None
    numbers = {end.episode for end in ended}
    played = {episode.end.episode: episode for episode in learning.episodes}
    later = [episode.failures for number, episode in played.items() if number in numbers and number != first]
    return {
        "story": story.title or story.path.stem,
        "player": choice.kind,
        "why": choice.why,
        "language_model": choice.agent_model,
        "memory": remembered and config.simple_memory.enabled,
        "episodes": [_episode(end, played.get(end.episode)) for end in ended],
        "memories_that_helped": [asdict(memory) for memory in learning.memories],
        "repeated_mistakes": _rate(later),
        "control": _rate([learning.control]) if learning.control and learning.control.actions else None,
        "damaged_files": damaged,
        "folder": str(workdir),
        "files": _files(workdir, config),
    }


def _rate(counts: Sequence[FailureCount]) -> dict[str, Any]:
    """Return the share of actions that repeat an earlier failure. The rate is None if there are no actions."""
    actions = sum(count.actions for count in counts)
    repeated = sum(count.repeated for count in counts)
    return {
        "episodes": len(counts),
        "actions": actions,
        "repeated_failed_actions": repeated,
        "rate": repeated / actions if actions else None,
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


def write_summary(console: Console, summary: dict[str, Any]) -> None:
    """Print the results of the run and the next steps."""
    console.print()
    episodes = summary["episodes"]
    if episodes:
        _write_chart(console, episodes)
    else:
        console.print("No episode was played.")
    for line in _mistakes(summary):
        console.print(line)
    if memories := summary["memories_that_helped"] if summary["memory"] else ():
        console.print(Text("\nMost useful memories", "bold"))
        for memory in memories:
            console.print(printable(_memory_line(memory)))
    console.print()
    for episode in episodes:
        if episode["message"] and episode["ending"] != EpisodeEnding.INTERRUPTED:
            console.print(printable(f"Episode {episode['episode']} ended early: {episode['message']}"))
    by_rules = sum(episode["turns_by_rules"] for episode in episodes)
    if by_rules and summary["language_model"]:
        turns = number_of(sum(episode["turns"] for episode in episodes), "turn", "turns")
        console.print(f"The rules chose {by_rules} of {turns}, because the model gave no usable answer.")
    damage = [line for damaged in summary["damaged_files"] for line in damage_lines(damaged)]
    for line in (*usage_report(episodes), *damage):
        console.print(printable(line), soft_wrap=True)
    for name, value in _next_steps(summary):
        console.print(printable(f"{name:<14} {value}"), soft_wrap=True)


def _write_chart(console: Console, episodes: Sequence[EpisodeSummary]) -> None:
    shown = episodes[-_MAX_EPISODES:]
    which = f" (last {len(shown)} of {len(episodes)} episodes)" if len(shown) < len(episodes) else ""
    console.print(Text(f"Results: score per episode{which}", "bold"))
    best = max(max(episode["score"] or 0 for episode in shown), 1)
    width = min(_MAX_BAR_WIDTH, console.width // 4)
    block = "#" if console.options.ascii_only else "█"
    for episode in shown:
        score = episode["score"] or 0
        bar = block * max(round(width * score / best), 1 if score else 0)
        facts = [episode["ending"], number_of(episode["turns"], "turn", "turns")]
        facts += [number_of(episode["places"], "place", "places")] if console.width >= _WIDE else []
        console.print(
            Text.assemble(
                (f"{episode['episode']:>4} ", "dim"),
                (f"{bar:<{width}} ", "green"),
                (f"{score_line(episode['score'], episode['max_score']):<7} ", "bold"),
                printable(", ".join(facts)),
            ),
            soft_wrap=True,
        )


def _mistakes(summary: dict[str, Any]) -> Iterator[str]:
    """Yield lines with the rate of repeated mistakes, and the rate without memory if it was measured."""
    mistakes, control = summary["repeated_mistakes"], summary["control"]
    if mistakes["rate"] is None:
        return
    rate = f"\nRepeated mistakes: {mistakes['rate']:.0%} of actions"
    counted = f"{mistakes['repeated_failed_actions']} of {mistakes['actions']:,} actions"
    if not summary["memory"]:
        yield f"{rate} ({counted}; memory was off)"
    elif control is not None:
        yield f"{rate} with memory, {control['rate']:.0%} without"
        yield f"  With: {counted} in {number_of(mistakes['episodes'], 'later episode', 'later episodes')}."
        without = f"{control['repeated_failed_actions']} of {number_of(control['actions'], 'action', 'actions')}"
        yield f"  Without: {without} in a control episode without memory."
    else:
        yield f"{rate} with memory ({counted})"
        if summary["player"] == PlayerKind.MODEL:
            yield f"  To measure without memory: {COMMAND} eval learning-5 --ablate off"


def _memory_line(memory: dict[str, Any]) -> str:
    worked = f"worked {memory['worked']} of {number_of(memory['followed'], 'time', 'times')}"
    points = f", {number_of(memory['points'], 'point', 'points')}" if memory["points"] else ""
    return f"  {memory['title']} ({memory['place']}): {worked}{points}"


def _next_steps(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Player:", f"{summary['player']} ({summary['why']})"
    if not Path(summary["folder"]).is_dir():
        yield "Not saved:", f"{summary['folder']} no longer exists."
    elif summary["episodes"]:
        yield "Browser:", f"{COMMAND} view {shlex.quote(summary['folder'])}"
    if summary["player"] == PlayerKind.RULES:
        yield "With a model:", f"{COMMAND} --model NAME --base-url URL"
        yield "Another story:", f"{COMMAND} --game FILE"


def damage_lines(damaged: dict[str, str]) -> list[str]:
    """Return the lines about a file that was damaged or missing."""
    lines = [f"Note: {damaged['what']}: {damaged['set_aside'] or damaged['file']}"]
    return [*lines, f"      {damaged['way_out']}"] if damaged["way_out"] else lines


def usage_report(episodes: Iterable[EpisodeSummary]) -> Iterator[str]:
    """Yield lines about model usage and problems with model answers."""
    episodes = list(episodes)

    def total(part: str, name: str) -> int:
        return sum(episode.get(part, {}).get(name, 0) for episode in episodes)

    yield from _usage(episodes)
    made, downgraded = total("learning", "synthesized"), total("learning", "core_validation_downgrade")
    if made and downgraded / made > _MAX_DOWNGRADES and any("memory" in each["model_usage"] for each in episodes):
        yield (
            f"{downgraded} of {made} memories were marked core on a later visit and stored as permanent. "
            "The memory model misreads its prompt. Try another memory_model."
        )
    if kept := total("deduplication", "contradictions_kept"):
        contradicting = number_of(kept, "new memory contradicts", "new memories contradict")
        yield f"{contradicting} an existing one. Both were kept."
    if contradicted := sum(episode["learning"].get("audit", {}).get("contradicted", 0) for episode in episodes):
        yield f"{number_of(contradicted, 'memory was', 'memories were')} disproved at the start of an episode."


def _usage(episodes: list[EpisodeSummary]) -> Iterator[str]:
    roles = {role for episode in episodes for role in episode["model_usage"]}
    for role in sorted(roles):
        used = sum((Tally.of_values(episode["model_usage"].get(role, {})) for episode in episodes), Tally())
        facts = [number_of(used.calls, "call", "calls"), f"{used.used} used"]
        facts += [f"{count} {words}" for name, words in _OUTCOMES.items() if (count := getattr(used, name))]
        sent = used.prompt_tokens
        cached = f" ({used.cached_tokens / sent:.0%} cached)" if used.cached_tokens and sent else ""
        about = "about " if used.estimated else ""
        facts += [f"{about}{sent:,} tokens in{cached}", f"{about}{used.completion_tokens:,} tokens out"]
        facts.append(f"{used.latency_s / max(used.calls, 1):.1f} s per call")
        facts += [f"cost {used.cost:.4f}"] if used.cost else []
        yield f"Model ({role}): {', '.join(facts)}"
        known = next((each for each in Role if each == role), None)
        if known is not None and (message := useless_answers(known, used.calls, used.failed + used.not_understood)):
            yield message


_OUTCOMES = {
    "refused": "refused",
    "not_understood": "not understood",
    "failed": "failed",
    "repeated": "repeated",
    "clipped": "with clipped numbers",
}
"""What became of a model's answers, with the words for it. `repeated` counts requests, the others count answers."""
