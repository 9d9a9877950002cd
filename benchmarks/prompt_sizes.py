"""How long each role's prompts are over a whole walkthrough, with a memory that fills up.

`uv run python -m benchmarks.prompt_sizes` (ZORKGPT_ZORK1 names Zork I; without it the bundled story is played).

A server on localhost plays the walkthrough, remembers something on every turn that it is asked about and wants five
things whenever it is asked, so memories and objectives are as full as their budgets let them be. Tokens are estimated
from characters, as the budgets are.
"""

import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from game_interface.story import find_story
from orchestration.assembly import Wishes, assemble
from orchestration.players import choose_player
from session.game_configuration import GameConfiguration
from tests.fixtures.chat_server import ChatServer, Request
from tests.fixtures.walkthrough import ZORK1_SEED, bundled_story_path, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.memory.retrieval import estimated_tokens

_BEGINNINGS = {
    "memory": "You keep the memory",
    "critic": "You judge the commands",
    "objectives": "You keep the list of objectives",
    "refinement": "You thin out the list of objectives",
    "knowledge": "You keep the knowledge base",
    "summary": "You keep the diary",
}


def role_of(request: Request) -> str:
    for role, beginning in _BEGINNINGS.items():
        if beginning in request.prompt:
            return role
    return "agent"


def fact(number: int) -> str:
    """A memory that no other one resembles, as long as memories usually are."""
    words = " ".join(f"word{number}x{place}" for place in range(14))
    return (
        '{"should_remember": true, "category": "DISCOVERY", "persistence": "permanent", '
        f'"memory_title": "Fact {number} of this place", "memory_text": "Here {words}."}}'
    )


def goals(number: int) -> str:
    """Five objectives that no other ones resemble."""
    new = [{"text": f"Find out about {number}x{one}, which somebody spoke of", "scope": "world"} for one in range(5)]
    return json.dumps({"new": new})


def prompts(story: Path, commands: list[str], seed: int) -> Iterator[tuple[str, int]]:
    """Role and tokens of every prompt of one episode."""
    script, facts = iter(commands), iter(range(10_000))

    def reply(request: Request) -> str:
        match role_of(request):
            case "memory":
                return fact(next(facts))
            case "critic":
                return '{"score": 1, "reason": "as planned"}'
            case "objectives":
                return goals(next(facts))
            case "refinement":
                return '{"keep": [1, 2, 3, 4, 5, 6, 7, 8]}'
            case "knowledge":
                return '{"new": []}'
            case "summary":
                return '{"summary": "Much was tried."}'
            case _:
                return f"As planned.\nACTION: {next(script)}"

    with tempfile.TemporaryDirectory() as workdir, ChatServer(reply) as server:
        config = GameConfiguration(
            zork_game_workdir=workdir,
            max_turns_per_episode=len(commands),
            enable_semantic_deduplication=False,
            agent_model=server.model,
            client_base_url=server.url,
        )
        wishes = Wishes(choose_player("model", config), find_story(str(story)), seed)
        with assemble(config, wishes) as game:
            game.play_episode()
    for request in server.requests:
        yield role_of(request), estimated_tokens(request.prompt)


def main() -> None:
    zork = os.environ.get("ZORKGPT_ZORK1")
    if zork:
        story, commands, seed = Path(zork), get_zork1_walkthrough(), ZORK1_SEED
    else:
        story, commands, seed = bundled_story_path(), get_bundled_walkthrough(), 1
    sizes: dict[str, list[int]] = {}
    for role, tokens in prompts(story, commands, seed):
        sizes.setdefault(role, []).append(tokens)
    table = Table(
        "role", "prompts", "p50 tokens", "p95 tokens", "longest", title=f"{story.name}, {len(commands)} turns"
    )
    for role, tokens in sorted(sizes.items()):
        p95 = statistics.quantiles(tokens, n=20)[-1]
        table.add_row(role, str(len(tokens)), f"{statistics.median(tokens):.0f}", f"{p95:.0f}", str(max(tokens)))
    Console().print(table)


if __name__ == "__main__":
    main()
