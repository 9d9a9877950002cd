"""Measure the length of each role's prompts over a whole walkthrough, while the memory fills up.

`uv run python -m benchmarks.prompt_sizes [--publish]` plays Zork I if ZORKGPT_ZORK1 is set, else the bundled story.

"agent, after the shared beginning" is the part of the agent's prompt that differs from the previous prompt. A server
with a prefix cache processes only this part. "plain" is the same model with only the transcript. "Uncached" are the
tokens after the prefix that a prompt shares with the last one of the same role. Schemas of answers are not counted,
because servers receive them beside the prompt.

The walkthrough is played by a scripted model with long answers. It remembers something whenever it is asked, and always
names five objectives, so that memories and objectives fill their budgets. Tokens are estimated from characters, as for
the budgets.
"""

import os
import re
import statistics
import sys
import tempfile
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.memory_questions import AttentiveLLM
from benchmarks.publish import Table as PublishedTable
from benchmarks.publish import publish
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from tests.fixtures.chatty_model import a_chatty_run
from tests.fixtures.walkthrough import ZORK1_SEED, bundled_story_path, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.llm.scripted import ScriptedCall
from zorkgpt.llm.structured import BARE_OBJECT, FORM_HEADING
from zorkgpt.memory.retrieval import estimated_tokens

_TURNS = (40, 200)
_FORM = re.compile(rf"^{FORM_HEADING}\n.*$", re.MULTILINE)


def prompts(story: Path, commands: list[str], seed: int) -> dict[str, list[int]]:
    """Return role → tokens of each prompt of one episode."""
    sizes: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as workdir:
        run, llm = a_chatty_run(Path(workdir), story, commands, seed)
        with run:
            run.play_episode()
    before = ""
    for call in llm.calls:
        if call.role == "agent":
            sizes.setdefault("agent, after the shared beginning", []).append(uncached_tokens(before, call.prompt))
            before = call.prompt
        sizes.setdefault(call.role, []).append(estimated_tokens(call.prompt))
    return sizes


def uncached_tokens(before: str, prompt: str) -> int:
    """Return the tokens of a prompt after the prefix shared with the previous one."""
    pairs = zip(before, prompt, strict=False)
    return estimated_tokens(prompt[sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) :])


def played(story: Path, commands: list[str], seed: int, player: str) -> list[ScriptedCall]:
    """Return all model calls of an episode in which a model plays the commands."""
    llm = AttentiveLLM(commands)
    with tempfile.TemporaryDirectory() as workdir:
        config = GameConfiguration(
            zork_game_workdir=workdir, max_turns_per_episode=len(commands), embedding_provider="none"
        )
        options = RunOptions(PlayerChoice(player, "a measurement", None), find_story(str(story)), seed)
        with assemble(config, options, llm=llm) as run:
            run.play_episode()
    return llm.calls


def tokens_of(calls: Iterable[ScriptedCall]) -> tuple[int, int]:
    """Return the tokens of all prompts, and of their parts that a prefix cache per role doesn't cover."""
    every = uncached = 0
    last: dict[str, str] = {}
    for call in calls:
        prompt = _FORM.sub("", call.prompt).partition(BARE_OBJECT.rstrip("."))[0]
        every += estimated_tokens(prompt)
        uncached += uncached_tokens(last.get(call.role, ""), prompt)
        last[call.role] = prompt
    return every, uncached


def against_plain(stories: Iterable[tuple[Path, list[str], int]]) -> PublishedTable:
    """Return calls and tokens per turn of the model player and of the plain player."""
    columns = ["story", "turns", "player", "calls a turn", "tokens a turn", "uncached a turn", "uncached against plain"]
    rows = []
    for story, commands, seed in stories:
        for turns in dict.fromkeys(min(turns, len(commands)) for turns in _TURNS):
            plain = 0
            for player in ("plain", "model"):
                calls = played(story, commands[:turns], seed, player)
                every, uncached = tokens_of(calls)
                plain = plain or uncached
                spent = [f"{len(calls) / turns:.2f}", f"{every / turns:.0f}", f"{uncached / turns:.0f}"]
                rows.append([story.name, str(turns), player, *spent, f"{uncached / plain:.1f}"])
    return PublishedTable(columns=columns, rows=rows)


def main() -> None:
    zork = os.environ.get("ZORKGPT_ZORK1")
    if zork:
        story, commands, seed = Path(zork), get_zork1_walkthrough(), ZORK1_SEED
    else:
        story, commands, seed = bundled_story_path(), get_bundled_walkthrough(), 1
    columns = ["role", "prompts", "median", "95 %", "longest"]
    table = Table(*columns, title=f"{story.name}, {len(commands)} turns")
    rows = []
    for role, tokens in sorted(prompts(story, commands, seed).items()):
        p95 = statistics.quantiles(tokens, n=20, method="inclusive")[-1] if len(tokens) > 1 else tokens[0]
        rows.append([role, str(len(tokens)), f"{statistics.median(tokens):.0f}", f"{p95:.0f}", str(max(tokens))])
        table.add_row(*rows[-1])
    Console().print(table)
    stories = [(bundled_story_path(), get_bundled_walkthrough(), 1)]
    compared = against_plain([*stories, (story, commands, seed)] if zork else stories)
    second = Table(*compared["columns"], title="The model with all its roles, and the plain one")
    for row in compared["rows"]:
        second.add_row(*row)
    Console().print(second)
    if "--publish" in sys.argv:
        tables = {"tokens": PublishedTable(columns=columns, rows=rows), "against_plain": compared}
        publish("prompt_sizes", "uv run python -m benchmarks.prompt_sizes", tables)


if __name__ == "__main__":
    main()
