"""Trails and their events, written down short: a step is "action > place", with what else it did."""

from zorkgpt.explore.trail import Step, Trail, standing


def a_step(text: str, *, score: int = 0, held: tuple[str, ...] = (), effective: bool = False) -> Step:
    """ "north > 2": the command and the number of the room after it."""
    action, _, place = text.partition(" > ")
    return Step(action, standing(int(place), held, score), f"Room {place}", 0, effective)


def a_trail(*steps: Step | str, episode: int = 1, start: int = 1, deadly: bool = False) -> Trail:
    walked = tuple(a_step(step) if isinstance(step, str) else step for step in steps)
    return Trail(episode, start, walked, deadly)
