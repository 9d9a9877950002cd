"""A walkthrough played through the whole loop by a model that has much to say in every role."""

from pathlib import Path

from game_interface.story import find_story
from orchestration.assembly import Wishes, assemble
from orchestration.players import Choice
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from zorkgpt.llm.messages import Message, Role
from zorkgpt.llm.scripted import Script, ScriptedLLM

_THOUGHT = "I have looked at this from all sides, and the plan still holds as far as I can see. "


class ChattyLLM(ScriptedLLM):
    """Plays the commands with long reasons, remembers something on every turn, and sums up at length."""

    def __init__(self, commands: list[str]) -> None:
        super().__init__(self._reply)
        self._commands = iter(commands)
        self._facts = self._objectives = self._lessons = 0

    def _reply(self, messages: list[Message], role: Role) -> Script:
        match role:
            case "agent":
                return f"{_THOUGHT * 20}I am going to the Kitchen.\nACTION: {next(self._commands)}"
            case "critic":
                return {"score": 1, "reason": "As planned."}
            case "memory":
                return self._fact()
            case "summary":
                return {"summary": "I walked about and took what I found. " * 60}
            case "extractor":
                return {"is_room_description": len(messages[-1].content) > 1000}
            case "objectives":
                return self._objective(messages[-1].content)
            case "knowledge":
                return self._lesson(messages[-1].content)

    def _objective(self, prompt: str) -> dict:
        self._objectives += 1
        if '"keep"' in prompt:
            return {"keep": list(range(1, 9))}
        text = f"Find out what number {self._objectives} is for, and where it belongs in the end"
        return {"new": [{"text": f"{text} ({part})", "done_when": "the game says so"} for part in range(5)]}

    def _lesson(self, prompt: str) -> dict:
        self._lessons += 1
        words = " ".join(f"lesson{self._lessons}x{place}" for place in range(14))
        if '"section"' not in prompt:
            return {}
        return {"new": [{"section": "strategies", "text": f"It helps to {words}.", "turns": [1, 2]}]}

    def _fact(self) -> dict:
        """A memory that no other one resembles, as long as memories usually are."""
        self._facts += 1
        words = " ".join(f"word{self._facts}x{place}" for place in range(14))
        return {
            "should_remember": True,
            "category": "DANGER" if self._facts % 4 == 0 else "DISCOVERY",
            "persistence": "permanent",
            "memory_title": f"Fact {self._facts} of this place",
            "memory_text": f"Here {words}.",
        }


def a_chatty_run(
    workdir: Path, story: Path, commands: list[str], seed: int, **settings
) -> tuple[ZorkOrchestratorV2, ChattyLLM]:
    """The run, not yet begun, and the model with all that it will have been asked."""
    config = GameConfiguration(
        zork_game_workdir=str(workdir), max_turns_per_episode=len(commands), embedding_provider="none", **settings
    )
    llm = ChattyLLM(commands)
    wishes = Wishes(Choice("model", "a chatty model", None), find_story(str(story)), seed)
    return assemble(config, wishes, llm=llm), llm
