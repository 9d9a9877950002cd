"""How long each role's prompts are over a whole walkthrough, with a memory that fills up.

"agent, after the shared beginning" is the part of the agent's prompt after what it shares with the prompt before: a
server with a prefix cache reads only that.

`uv run python -m benchmarks.prompt_sizes [--publish]` plays Zork I if ZORKGPT_ZORK1 names it, else the bundled story.

A model that talks at length plays the walkthrough, remembers something on every turn that it is asked about and wants
five things whenever it is asked, so that memories and objectives are as full as their budgets let them be. Tokens are
estimated from characters, as the budgets are.
"""

import os
import statistics
import sys
import tempfile
from itertools import takewhile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.publish import Table as PublishedTable
from benchmarks.publish import publish
from tests.fixtures.chatty_model import a_chatty_run
from tests.fixtures.walkthrough import ZORK1_SEED, bundled_story_path, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.memory.retrieval import estimated_tokens


def prompts(story: Path, commands: list[str], seed: int) -> dict[str, list[int]]:
    """Tokens of every prompt of one episode, by role."""
    sizes: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as workdir:
        run, llm = a_chatty_run(Path(workdir), story, commands, seed)
        with run:
            run.play_episode()
    before = ""
    for call in llm.calls:
        if call.role == "agent":
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, call.prompt, strict=False)))
            new = call.prompt[shared:]
            sizes.setdefault("agent, after the shared beginning", []).append(estimated_tokens(new))
            before = call.prompt
        thins_out = call.messages[0].content.startswith("You thin out")
        sizes.setdefault(f"{call.role}, thinning out" if thins_out else call.role, []).append(
            estimated_tokens(call.prompt)
        )
    return sizes


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
    if "--publish" in sys.argv:
        tables = {"tokens": PublishedTable(columns=columns, rows=rows)}
        publish("prompt_sizes", "uv run python -m benchmarks.prompt_sizes", tables)


if __name__ == "__main__":
    main()
