"""Turns and lines for tests."""

from dataclasses import replace

from zorkgpt.knowledge.line import KnowledgeLine, Place
from zorkgpt.knowledge.sections import Section
from zorkgpt.runlog.events import TurnPlayed


def a_line(text: str, section: Section = Section.LESSONS, **fields) -> KnowledgeLine:
    return KnowledgeLine(section, text, **{"episode": 1, "first_turn": 1, "last_turn": 1} | fields)


def places(*numbers: int) -> tuple[Place, ...]:
    return tuple(Place(number, f"Room {number}") for number in numbers)


def a_turn(turn: int, action: str = "look", response: str = "Nothing.", **fields) -> TurnPlayed:
    given = {
        "episode": 1,
        "player": "test",
        "location_id": 5,
        "location": "Kitchen",
        "location_after_id": 5,
        "location_after": "Kitchen",
        "reasoning": "",
        "score_before": 0,
        "score": 0,
        "moves": turn,
        "inventory": [],
        "died": False,
        "finished": False,
        "victory": False,
        "failed": False,
        "carried_before": [],
        "visible_before": [],
    }
    return TurnPlayed(turn=turn, action=action, response=response, **given | fields)


def an_episode(*turns: TurnPlayed) -> tuple[TurnPlayed, ...]:
    """The turns, numbered from 1 on."""
    return tuple(replace(turn, turn=at) for at, turn in enumerate(turns, 1))
