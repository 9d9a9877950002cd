"""Measure the questions to the memory model over whole walkthroughs: their number, reasons and length.

`uv run python -m benchmarks.memory_questions [--episodes 2]` plays the bundled story and, if ZORKGPT_ZORK1 is set, Zork
I.

A scripted model answers from the facts in its prompt. As the prompt asks, it remembers first looks, scoring actions,
refusals and deaths, but not the positions of objects. Tokens are estimated from characters, as for the budgets.
"""

import argparse
import os
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures.chatty_model import ChattyLLM
from tests.fixtures.walkthrough import ZORK1_SEED, bundled_story_path, get_bundled_walkthrough, get_zork1_walkthrough
from tests.golden.roles import exits_named, remembered
from zorkgpt.directions import canonical_direction
from zorkgpt.llm.messages import Message
from zorkgpt.llm.roles import Role
from zorkgpt.llm.scripted import Script
from zorkgpt.memory.retrieval import estimated_tokens

_SECTION = re.compile(r"^# (.+)$", re.MULTILINE)


class AttentiveLLM(ChattyLLM):
    """A scripted model that plays the commands and remembers the facts in each question."""

    def _reply(self, messages: list[Message], role: Role) -> Script:
        if role != "memory":
            return super()._reply(messages, role)
        prompt = messages[-1].content
        if "You compare short notes" in messages[0].content:
            return {"verdicts": []}
        answer = remembered(prompt)
        if _is_whereabouts(answer) and "The score rose" not in prompt:
            answer = next(iter(answer.get("also", ())), {}) | {"should_remember": "also" in answer}
        for fact in (answer, *answer.get("also", ())):
            fact |= {name: fact[name][:120] for name in ("memory_title", "memory_text") if name in fact}
        return answer | {"exits": exits_named(prompt)}


def _is_whereabouts(answer: Mapping[str, Any]) -> bool:
    """Return whether the answer is only about the position of an object."""
    title = answer.get("memory_title", "")
    return title.endswith(" is here") or title.startswith("I left the ")


@dataclass(frozen=True)
class Question:
    """A question to the memory model, and the turn in which it was asked (None for the opening)."""

    system: str
    user: str
    record: TurnRecord | None

    @property
    def tokens(self) -> int:
        return estimated_tokens(f"{self.system}\n{self.user}")

    @property
    def taught_something(self) -> bool:
        return bool(remembered(self.user)["should_remember"])

    @property
    def is_first_look(self) -> bool:
        return "first look at it in this episode" in self.user

    @property
    def is_walk(self) -> bool:
        return self.record is not None and canonical_direction(self.record.transition.action) is not None

    def sections(self) -> dict[str, int]:
        """Return heading → number of characters in the section."""
        ends = [*(found.start() for found in _SECTION.finditer(self.user)), len(self.user)]
        return {found[1]: ends[at + 1] - found.end() for at, found in enumerate(_SECTION.finditer(self.user))}


def questions(story: Path, commands: list[str], seed: int, episodes: int = 1, **settings: Any) -> list[list[Question]]:
    """Return the questions of each episode."""
    llm = AttentiveLLM(commands * episodes)
    with tempfile.TemporaryDirectory() as workdir:
        config = GameConfiguration(
            zork_game_workdir=workdir, max_turns_per_episode=len(commands), embedding_provider="none", **settings
        )
        options = RunOptions(PlayerChoice("model", "a measurement", None), find_story(str(story)), seed)
        told: dict[int, TurnRecord] = {}
        with assemble(config, options, (_Watcher(llm, told),), llm=llm) as run:
            counts = []
            for _ in range(episodes):
                run.play_episode()
                counts.append(len(llm.calls))
    found: list[list[Question]] = []
    begin = 0
    for end in counts:
        asked = [
            Question(
                call.messages[0].content,
                call.messages[1].content,
                told.get(at),
            )
            for at, call in enumerate(llm.calls[begin:end], begin)
            if call.role == "memory" and call.messages[0].content.startswith("You keep the memory")
        ]
        found.append(asked)
        begin = end
    return found


class _Watcher:
    """A watcher that records the turn of each model call."""

    def __init__(self, llm: ChattyLLM, told: dict[int, TurnRecord]) -> None:
        self._llm, self._told, self._before = llm, told, 0

    def episode_started(self, event: object) -> None:
        self._before = len(self._llm.calls)

    def turn_played(self, record: TurnRecord) -> None:
        self._told.update(dict.fromkeys(range(self._before, len(self._llm.calls)), record))
        self._before = len(self._llm.calls)

    def episode_ended(self, event: object) -> None:
        pass


def report(console: Console, title: str, turns: int, played: list[list[Question]]) -> None:
    columns = ("episode", "turns", "questions", "first looks", "walks", "taught something", "median tokens", "longest")
    table = Table(*columns, title=title)
    for number, asked in enumerate(played, 1):
        tokens = [question.tokens for question in asked]
        table.add_row(
            str(number),
            str(turns),
            str(len(asked)),
            str(sum(one.is_first_look for one in asked)),
            str(sum(one.is_walk and not one.is_first_look for one in asked)),
            str(sum(one.taught_something for one in asked)),
            f"{statistics.median(tokens):.0f}" if tokens else "",
            str(max(tokens, default=0)),
        )
    console.print(table)
    sizes: Counter[str] = Counter()
    every = [question for asked in played for question in asked]
    for question in every:
        sizes.update(question.sections())
    means = ", ".join(f"{name}: {size / len(every):.0f}" for name, size in sizes.most_common())
    console.print(f"mean characters a question under each heading: {means}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=2)
    given = parser.parse_args()
    console = Console(width=160)
    stories = [(bundled_story_path(), get_bundled_walkthrough(), 1)]
    if zork := os.environ.get("ZORKGPT_ZORK1"):
        stories.append((Path(zork), get_zork1_walkthrough(), ZORK1_SEED))
    for story, commands, seed in stories:
        played = questions(story, commands, seed, given.episodes)
        report(console, story.name, len(commands), played)


if __name__ == "__main__":
    main()
