"""The known and unknown facts about a story, and the effects of unknown ones, in words for users."""

import re
from dataclasses import dataclass

from game_interface.core.names import is_shown
from game_interface.core.profile import Profile
from game_interface.core.zmachine import View
from game_interface.models import Observation

_DIRECTION = re.compile(r"\(\w+_obj\)")
CONSEQUENCES = {
    "player": "carried things and the effects of actions are known only from the text",
    "location": "there are no memories of places, no map and no check of commands; "
    "moves are tried again after the first actions",
    "score": "changes of the score are known only from the text",
    "end": "the episode may continue to its last turn after the game is over",
    "light": "darkness is known only from the text",
}
"""Subject of a `StoryFact` → the effects if it is unknown."""


@dataclass(frozen=True, slots=True)
class StoryFact:
    """A fact about a story that the program needs."""

    subject: str
    """player, location, score, end, names or light."""
    known: str | None
    """The source or the current value. None if unknown."""
    consequence: str = ""
    """The effects if it is unknown."""


def story_facts(
    profile: Profile, view: View, now: Observation, *, supported: bool, sees_questions: bool, sees_headings: bool
) -> tuple[StoryFact, ...]:
    """Return the facts about a story at its opening.

    Args:
        supported: Whether Jericho supports the game.
        sees_questions: Whether questions can be distinguished from commands.
        sees_headings: Whether a response to `look` had the name of the room as a heading.
    """
    location, player = now.location, profile.player
    score = "from the story's memory" if profile.score_global is not None else "from Jericho's table"
    facts = {
        "player": f"object {player}" if player else None,
        "location": location.name if location else None,
        "score": None if now.score is None else score,
        "end": _end(profile, supported, sees_questions),
        "names": _names(profile, view),
        "light": _light(profile, sees_headings),
    }
    return tuple(StoryFact(subject, known, CONSEQUENCES.get(subject, "")) for subject, known in facts.items())


def _end(profile: Profile, supported: bool, sees_questions: bool) -> str | None:
    if profile.deadflag_global is not None:
        return "from the story's flag"
    if supported:
        return "from Jericho's table"
    return "from its final question" if sees_questions else None


def _light(profile: Profile, sees_headings: bool) -> str | None:
    if sees_headings:
        return "from the response to “look”"
    return "from the story's memory" if profile.player and profile.location_global is not None else None


def _names(profile: Profile, view: View) -> str:
    shown: list[bool] = []
    for number in range(1, view.machine.object_count + 1):
        # Inform's library has an object for each direction.
        if number != profile.player and view.parent(number) and not _DIRECTION.fullmatch(view.name(number)):
            shown.append(is_shown(view.name(number)))
    if all(shown):
        return "from the story"
    return f"from the story for {sum(shown)} of {len(shown)} things, otherwise from its dictionary or a heading"
