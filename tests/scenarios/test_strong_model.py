"""Test of a scripted model without mistakes, whose memories are all kept as requested."""

from collections import Counter

import pytest

from tests.fixtures.scenarios import Model, Question, story
from tests.fixtures.walkthrough import get_bundled_walkthrough
from zorkgpt.memory.things import is_ledger_entry

TURNS = 50


class StrongMind:
    """Remembers first sights, effects, and positions of placed things, each with the right persistence."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, str], tuple[int, str]] = {}
        """Place and persistence by title and text."""
        self.replaced: set[str] = set()
        self._last: dict[int, str] = {}

    def __call__(self, question: Question) -> dict | None:
        number = len(self.asked)
        if question.arrival:
            listed = [line for line in question.section("Things at hand").splitlines() if line]
            numbers = [int(line.split()[1]) for line in listed if ": carried" not in line]
            claims = [{"relation": "here", "number": thing} for thing in numbers]
            first = f'This is the first visit to "{question.place}"' in question.text
            kind = "core" if first else "permanent"
            return self._fact(question, f"Sight {number}", f"Sight {number} of {question.place}.", kind, claims=claims)
        placed = question.action.startswith(("drop ", "put "))
        kind = "ephemeral" if placed else "permanent"
        text = f"Note {number}: {question.action!r} was answered {question.response[:80]!r}."
        fact = self._fact(question, f"Note {number}", text, kind, action=question.action)
        before = self._last.get(question.location)
        if number % 7 == 0 and before and kind == "permanent" and f'"{before}"' in question.memories:
            fact["supersedes_memory_titles"] = [before]
            self.replaced.add(before)
        if kind == "permanent":
            self._last[question.location] = fact["memory_title"]
        further = f"Further {number}", f"What follows from note {number}."
        self.asked[further] = question.location, "ephemeral"
        fact["also"] = [
            {
                "category": "NOTE",
                "memory_title": further[0],
                "memory_text": further[1],
                "persistence": "ephemeral",
                "kind": "insight",
            }
        ]
        return fact

    def _fact(self, question: Question, title: str, text: str, persistence: str, **more) -> dict:
        self.asked[title, text] = question.location, persistence
        head = {"should_remember": True, "category": "NOTE", "memory_title": title, "memory_text": text}
        head |= {"kind": "insight"}
        return head | {"persistence": persistence} | more


@pytest.mark.slow
def test_memories_of_a_perfect_model_are_all_kept(tmp_path):
    mind = StrongMind()
    with story(tmp_path, Model(mind)) as game:
        game.reset_episode()
        for command in get_bundled_walkthrough()[:TURNS]:
            game.process_turn(command)
        memory = game.simple_memory
        kept = {
            (one.title, one.text): (place, one.persistence, one.status)
            for cache in (memory.memory_cache, memory.ephemeral_cache)
            for place, memories in cache.items()
            for one in memories
            if not is_ledger_entry(one)
        }
        metrics = memory.get_status()["metrics"]
    expected = {
        key: (place, kind, "SUPERSEDED" if key[0] in mind.replaced else "ACTIVE")
        for key, (place, kind) in mind.asked.items()
    }
    assert kept == expected
    assert len(mind.asked) > TURNS
    assert mind.replaced
    overruled = ("persistence_corrected", "core_validation_downgrade", "forbidden_by_ground_truth")
    assert {name: metrics[name] for name in overruled} == dict.fromkeys(overruled, 0)
    assert Counter(kind for _, kind in mind.asked.values()).keys() == {"core", "permanent", "ephemeral"}
