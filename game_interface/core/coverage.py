"""What is known about a story, and the effects of what is not, in words for users."""

import re
from dataclasses import dataclass

from game_interface.core.names import is_shown
from game_interface.core.profile import Profile
from game_interface.core.zmachine import View
from game_interface.models import Observation

_DIRECTION = re.compile(r"\(\w+_obj\)")
CONSEQUENCES = {
    "player": "what is carried, and what an action changed, is only known from the text",
    "location": "there are no memories of places, no map and no check of commands; "
    "moves are tried again after the first actions",
    "score": "no action is known to have scored, unless the text says so",
    "end": "the episode may go on after the game is over, to its last turn",
    "light": "darkness is only known from the text",
}
"""What follows where a subject of `StoryFact` is not known."""


@dataclass(frozen=True, slots=True)
class StoryFact:
    """A fact about a story that the program needs."""

    subject: str
    """player, location, score, end, names or light."""
    known: str | None
    """How it is known, or its current value; None if unknown."""
    consequence: str = ""
    """What follows if it is not known."""


def story_facts(
    profile: Profile, view: View, now: Observation, *, by_table: bool, sees_questions: bool, sees_headings: bool
) -> tuple[StoryFact, ...]:
    """Return what is known of a story at its opening.

    Args:
        by_table: Jericho has a table for this story.
        sees_questions: It is known where the story reads commands, and so when it asks something instead.
        sees_headings: `look` was seen to print the name of a room, which it does not in the dark.
    """
    location, player = now.location, profile.player
    score = "from the story's memory" if profile.score_global is not None else "from Jericho's table"
    known = {
        "player": f"object {player}" if player else None,
        "location": location.name if location else None,
        "score": None if now.score is None else score,
        "end": _end(profile, by_table, sees_questions),
        "names": _names(profile, view),
        "light": _light(profile, sees_headings),
    }
    return tuple(StoryFact(each, told, CONSEQUENCES.get(each, "")) for each, told in known.items())


def _end(profile: Profile, by_table: bool, sees_questions: bool) -> str | None:
    if profile.deadflag_global is not None:
        return "from the story's flag"
    if by_table:
        return "from Jericho's table"
    return "from its final question" if sees_questions else None


def _light(profile: Profile, sees_headings: bool) -> str | None:
    if sees_headings:
        return "from the response to “look”"
    return "from the story's memory" if profile.player and profile.location_global is not None else None


def _names(profile: Profile, view: View) -> str:
    numbers = (each for each in range(1, view.machine.object_count + 1) if each != profile.player and view.parent(each))
    # Inform's library has an object for each direction.
    shown = [is_shown(view.name(each)) for each in numbers if not _DIRECTION.fullmatch(view.name(each))]
    if all(shown):
        return "from the story"
    return f"from the story for {sum(shown)} of {len(shown)} things, otherwise from its dictionary or a heading"
