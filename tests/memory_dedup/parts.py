"""A judge and memories for these tests."""

from zorkgpt.memory.dedup.judge import Verdict
from zorkgpt.memory.models import Memory


def fact(text, title="", turns="25", **fields):
    given = {"category": "NOTE", "episode": 1, "score_change": 0, "persistence": "permanent"}
    return Memory(**{**given, **fields}, title=title, turns=turns, text=text)


class Says:
    """A judge that says the same of every pair."""

    def __init__(self, relation, reason="because"):
        self.relation, self.reason = relation, reason
        self.asked = []

    def judge(self, place, new, known):
        self.asked.append((place, new.text, [memory.text for memory in known]))
        if isinstance(self.relation, Exception):
            raise self.relation
        verdict = Verdict(number=1, relation=self.relation, reason=self.reason)
        return dict.fromkeys(range(len(known)), verdict)


def lines(manager, place=1):
    """What is on file, in short."""
    return [
        (memory.text, memory.status, memory.turns, memory.observation_count)
        for memory in manager.memory_cache.get(place, [])
    ]
