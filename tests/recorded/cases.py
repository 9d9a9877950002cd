"""Play the recorded cases. The commands and the model's answers are fixed, so no player decides anything."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from game_interface.story import load_story
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from tests.fixtures import own_stories
from tests.fixtures.chat_server import Request
from tests.fixtures.runs import MODEL, a_run
from tests.fixtures.walkthrough import bundled_story_path, get_bundled_walkthrough
from tests.golden import roles
from tests.golden.transcript import Question, dialogue, document
from zorkgpt.llm.messages import Message
from zorkgpt.llm.roles import Role
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.models import Memory, MemoryStatus
from zorkgpt.memory.places import place_in_words, place_order

STORIES = ("slackwater", "perils", "nightfall", "sluice", "lantern", "rowboat")
SEEDS = (1, 2)
_FIRST, _SECOND = 18, 24
"""The number of commands of a walkthrough in each episode."""
_LAST = {"perils": ("west", "take toadstool", "eat toadstool")}
"""The last commands of the first episode."""
_SETTINGS = {
    "ask_in_background": False,
    "enable_critic": False,
    "objective_update_interval": 8,
    "knowledge_update_interval": 10,
}


@dataclass(frozen=True, slots=True)
class Recording:
    """What a case leaves, as text. Times are replaced."""

    memories: str
    """`Memories.md`."""
    prompts: str
    """Every question to the model with its answer. Repeated parts are named."""
    past: str
    """The memories as of every turn, as differences from the turn before."""

    def files(self) -> dict[str, str]:
        return {"Memories.md": self.memories, "prompts.txt": self.prompts, "as_of.txt": self.past}


def record(story: str, seed: int, workdir: Path) -> Recording:
    """Play two episodes of a story."""
    path = bundled_story_path() if story == "slackwater" else own_stories.compiled(story)
    commands = get_bundled_walkthrough() if story == "slackwater" else _walk(story)
    episodes = [[*commands[:_FIRST], *_LAST.get(story, ())], commands[:_SECOND]]
    questions: list[Question] = []
    answers = _Answers(questions)
    longest = max(map(len, episodes))
    with a_run(
        workdir,
        turns=longest,
        llm=ScriptedLLM(answers),
        choice=MODEL,
        story=load_story(path),
        seed=seed,
        settings=_SETTINGS,
    ) as run:
        played = [_play(run, commands, answers) for commands in episodes]
        past = "".join(_past(run, episode, turns) for episode, turns in enumerate(played, 1))
    return Recording(document((workdir / "Memories.md").read_text("utf-8")), dialogue(questions), past)


def _walk(story: str) -> list[str]:
    return [step.command for step in own_stories.walkthrough(story) if step.command]


def _play(run: ZorkOrchestratorV2, commands: list[str], answers: "_Answers") -> int:
    """Play an episode and return its number of turns."""
    run.reset_episode()
    for command in commands:
        answers.begin(run, command)
        if run.game_state.finished:
            break
        run.process_turn()
    return run.game_state.turn_count


class _Answers:
    """The model: the given command for the player, and fixed rules for the other roles."""

    def __init__(self, questions: list[Question]) -> None:
        self._questions = questions
        self._at = self._command = ""

    def begin(self, run: ZorkOrchestratorV2, command: str) -> None:
        self._at = f"{run.game_state.episode_id}.{run.game_state.turn_count + 1}"
        self._command = command

    def __call__(self, messages: list[Message], role: Role) -> str:
        prompt = "\n\n".join(message.content for message in messages)
        answer = self._answer(prompt, messages, role)
        asked = tuple((message.speaker, message.content) for message in messages)
        self._questions.append(Question(self._at, role, asked, answer))
        return answer

    def _answer(self, prompt: str, messages: list[Message], role: Role) -> str:
        if role is Role.AGENT:
            return f"It is the next step.\nACTION: {self._command}"
        if role is Role.MEMORY:
            return json.dumps(roles.remembered(prompt))
        request = Request({"messages": [{"content": message.content} for message in messages]}, {})
        for beginning, (_, answering) in roles.BY_SYSTEM.items():
            if messages[0].content.startswith(beginning):
                return str(answering(request))
        raise AssertionError(f"no answer for the role {role}")


def _past(run: ZorkOrchestratorV2, episode: int, turns: int) -> str:
    assert run.simple_memory is not None
    before: dict[str, None] = {}
    text = ""
    for turn in range(turns + 1):
        now = dict.fromkeys(_lines(run.simple_memory.as_of(episode, turn)))
        text += f"=== {episode}.{turn}\n"
        text += "".join(f"- {line}\n" for line in before if line not in now)
        text += "".join(f"+ {line}\n" for line in now if line not in before)
        before = now
    return text


def _lines(memories: dict[object, list[Memory]]) -> Iterator[str]:
    for place in sorted(memories, key=place_order):
        for memory in memories[place]:
            status = "" if memory.status == MemoryStatus.ACTIVE else f" {memory.status}"
            head = f"{place_in_words(place)} [{memory.category} {memory.persistence}{status}] {memory.title}"
            seen = f"(episode {memory.episode}, turns {memory.turns}, seen {memory.observation_count}x)"
            yield f"{head} {seen}: {memory.text!r}"
