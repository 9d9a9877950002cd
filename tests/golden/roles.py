"""Scripted models of the whole loop. Each role answers by fixed rules from its own prompt."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.fixtures.chat_server import Reply, Request, Status
from zorkgpt.directions import DIRECTIONS

_FENCED = r"\n+(`{3,})\n(.*?)\n\1(?:\n|$)"
_REFUSED = {"climb tree": "A smooth trunk won't be climbed.", "eat bread": "Bread is better kept than eaten."}
_KINDS = {"DANGER": "danger", "DISCOVERY": "insight", "FAILURE": "rule", "NOTE": "insight", "SUCCESS": "procedure"}
_UNJUDGED = "open chest"
"""The server of the critic fails three times on this action, so it is played without a verdict."""


def fenced(prompt: str, heading: str) -> str:
    """Return the text between backticks after a line, or "" if the line is missing."""
    found = re.search(re.escape(heading) + _FENCED, prompt, re.DOTALL)
    return found[2] if found else ""


def number_of(prompt: str, words: str) -> int | None:
    """Return the number of the first line of a numbered list that contains these words."""
    found = re.search(rf"^(\d+)\. .*{re.escape(words)}", prompt, re.MULTILINE)
    return int(found[1]) if found else None


class Agent:
    """Gives prepared answers in order, whatever the prompt."""

    def __init__(self, answers: list[str]) -> None:
        self._said = iter(answers)

    def __call__(self, request: Request) -> Reply:
        return next(self._said)


def critic(request: Request) -> Reply:
    action = fenced(request.prompt, "## The command to judge")
    if action == _UNJUDGED:
        return Status(500, "the server is overloaded")
    if action in _REFUSED:
        return json.dumps({"score": -0.6, "reason": _REFUSED[action]})
    return json.dumps({"score": 0.5, "reason": "It is worth a turn."})


class Memory:
    """Remembers what the facts say, and gives some bad answers first."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, request: Request) -> Reply:
        self._calls += 1
        prompt = request.prompt
        if "You compare short notes" in prompt:
            return json.dumps({"verdicts": list(_verdicts(prompt))})
        answer = json.dumps(remembered(prompt) | {"exits": exits_named(prompt)})
        if self._calls == 3:
            return Status(500, "the server is overloaded")
        if self._calls == 7:
            return "There is nothing in it that I would put into the form."
        if self._calls == 11:
            return answer.replace("}", ",}").replace("true", "True").replace("false", "False")
        return answer


def exits_named(prompt: str) -> list[str]:
    """Return the directions in the text of a place that is seen for the first time."""
    if not re.search("^The place of arrival is |^The game printed", prompt, re.MULTILINE):
        return []
    text = (fenced(prompt, "and the game answered") or fenced(prompt, "The game printed")).lower()
    return [way for way in DIRECTIONS if re.search(rf"\b{way}\b", text)]


def _verdicts(prompt: str) -> Iterator[dict[str, Any]]:
    """Notes of which one starts like the other are the same."""
    new = fenced(prompt, "\n\n" + re.search(r"# The new note\n\n(.*)", prompt)[1])
    for number, _, text in re.findall(r'^(\d+)\. "(.*?)"\n```\n(.*?)\n```', prompt, re.MULTILINE | re.DOTALL):
        same = new.split()[:3] == text.split()[:3]
        yield {"number": int(number), "relation": "same" if same else "distinct", "reason": "how they begin"}


def remembered(prompt: str) -> dict[str, Any]:
    """Return what the model remembers of the action and of the new place."""
    answer = _remembered_of_action(prompt)
    reached = re.search(r'^The place of arrival is "(.*?)" \(', prompt, re.MULTILINE)
    place = reached or ("The game printed" in prompt and re.search(r'^# The place\n\n"(.*?)"', prompt, re.MULTILINE))
    if not place:
        return answer
    sight = _note("NOTE", f"What is at {place[1]}", f"{place[1]}, as it looks at first.", persistence="core")
    sight |= {"place": "arrival"} if reached else {}
    return answer | {"also": [sight]} if answer["should_remember"] else answer | sight


def _remembered_of_action(prompt: str) -> dict[str, Any]:
    action = fenced(prompt, "At this place the player did")
    if "You died on this turn." in prompt:
        return _note("DANGER", f"Deadly: {action}", f"To {action} is death.") | _no_longer(
            prompt, "Berries may be food"
        )
    if action == "examine berries":
        return _note("NOTE", "Berries may be food", "The berries look good to eat.", status="TENTATIVE")
    if action == "examine window":
        return _note("DISCOVERY", "A wire holds the window", "A wire holds the window from outside.")
    if action == "open window" and "The score rose" in prompt:
        better = _note("SUCCESS", "Window opens once examined", "Examine the window, then open it, and it opens.")
        return better | {"supersedes_memory_titles": _known(prompt, "A wire holds the window")}
    if lost := re.search(r"The (.*?) moved from you to ", prompt):
        return _note("NOTE", f"I left the {lost[1]}", f"The {lost[1]} lies here.", persistence="ephemeral")
    if found := re.search(r"The (.*?) moved from .* to you\.", prompt):
        return _note("SUCCESS", f"{found[1]} is here", _of_a_thing(found[1], action, prompt))
    if scored := re.search(r"The score rose by (\d+)", prompt):
        return _note("SUCCESS", f"{action} scores", f"To {action} scores {scored[1]}.")
    if "Nothing in the world changed" in prompt:
        return _note("FAILURE", f"{action} fails", f"To {action} does nothing here.")
    return {"should_remember": False}


def _of_a_thing(thing: str, action: str, prompt: str) -> str:
    """Return a note, in other words if it is known here, so that the judge is asked."""
    again = f"{thing} is here" in fenced(prompt, "# Existing memories of this place")
    return f"The {thing} hangs in plain sight: {action}." if again else f"The {thing} hangs here for whoever wants it."


def _note(category: str, title: str, text: str, *, persistence: str = "permanent", **more: str) -> dict[str, Any]:
    note = {"category": category, "memory_title": title, "memory_text": text, "persistence": persistence}
    kind = "location" if persistence == "ephemeral" else _KINDS[category]
    return {"should_remember": True, "kind": kind} | note | more


def _known(prompt: str, title: str) -> list[str]:
    return [title] if title in fenced(prompt, "# Existing memories of this place") else []


def _no_longer(prompt: str, title: str) -> dict[str, Any]:
    found = _known(prompt, title)
    return {"invalidate_memory_titles": found, "invalidation_reason": "They killed the player."} if found else {}


def objectives(request: Request) -> Reply:
    """Propose what may come true, and what was never seen, and claim one success too early."""
    prompt = request.prompt
    if "Get into the house" not in prompt:
        return json.dumps({"new": _WANTED})
    done = [("Get into the house", 10, "A kitchen with a stone floor, a cold range"), ("Speak to", 6, "Hello, clerk.")]
    found = [(number_of(prompt, words), turn, quote) for words, turn, quote in done]
    reached = [{"number": number, "turn": turn, "quote": quote} for number, turn, quote in found if number]
    return json.dumps({"new": [], "reached": reached, "keep": [1, 2, 4, 99]})


_WANTED = [
    {"text": "Get into the house", "kind": "visited", "place": 999, "done_when": "A room inside the house."},
    {"text": "Open the window", "kind": "opened", "thing": "small window", "scope": "world"},
    {"text": "Find the lamp", "kind": "holds", "thing": "no such lamp", "done_when": "The lamp is taken."},
    {"text": "Speak to somebody", "kind": "text", "done_when": "Somebody answers.", "scope": "world"},
    {"text": "Score thirteen points", "kind": "score", "points": 13, "scope": "world"},
]


def knowledge(request: Request) -> Reply:
    prompt = request.prompt
    answer: dict[str, Any] = {"new": [], "confirmed": [], "contradicted": []}
    if "An episode is over" in prompt:
        answer["new"] = [
            {"section": "insights", "text": "Eating what grows in the Back Garden kills.", "turns": [25]},
            {"section": "insights", "text": "Read the letter first: it scores and names the aim.", "turns": [1]},
        ]
        answer["confirmed"] = [99]
    elif kept := number_of(prompt, "Look closely"):
        answer["confirmed"] = [kept]
    else:
        answer["new"] = [
            {"section": "lessons", "text": "Look closely at what will not open.", "turns": [8, 9]},
            {"section": "strategies", "text": "Eat whatever grows: it does no harm.", "turns": [7]},
        ]
    if 'you died"\n' in prompt and (wrong := number_of(prompt, "Eat whatever grows")):
        answer["contradicted"] = [{"number": wrong, "turns": [25], "reason": "It killed the player."}]
    return json.dumps(answer)


def summary(request: Request) -> Reply:
    turns = re.findall(r"[Tt]urn\D{0,3}(\d+)", request.prompt)
    return json.dumps({"summary": f"Turns up to {max(map(int, turns), default=0)}: the house was looked for."})


BY_SYSTEM: dict[str, tuple[str, Callable[[Request], Reply]]] = {
    "You keep the list of objectives": ("objectives", objectives),
    "You keep the knowledge base": ("knowledge", knowledge),
    "You keep the diary": ("summary", summary),
}
"""The roles that one model serves, by the start of their prompts."""
