"""Extract facts from the game's text by rules for any story in English, without a language model."""

import re
from itertools import pairwise

from game_interface.models import Transition
from session.history import NOTHING, Extraction
from session.outcome import is_passive, world_changed
from zorkgpt.directions import exits_in, exits_opened
from zorkgpt.text import normalized_action, sentences_of

# Stories print the place's name on a separate line above its description, sometimes with the player's vehicle:
# "Frigid River, in the magic boat", "The Mere (in the punt)".
_BESIDE_THE_NAME = re.compile(r"\s*(?:[,(].*)?")
_LOOKS = frozenset({"l", "look", "look around"})
_DARKNESS = re.compile(r"\b(?:pitch[- ](?:black|dark)|too dark|darkness)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_BLOW = re.compile(
    r"\b(?:attack(?:s|ed|ing)?|blows?|swings?|lunges?|slash(?:es)?|stabs?|stabbing|strikes?|thrusts?|hits?|parr(?:y|ies)|"
    r"dodges?|wounds?|wounded|staggers?|staggered|fights?|fighting|charges?|claws?|bites?|knock(?:s|ed|ing)?)\b",
    re.IGNORECASE,
)
_ATTACKS = frozenset(
    {"attack", "fight", "hit", "kick", "kill", "murder", "punch", "slash", "slay", "smite", "stab", "strike"}
)
_YOU = re.compile(r"\byou(?:r|rs)?\b", re.IGNORECASE)


def extracted(step: Transition, described: str = "") -> Extraction:
    """Return the room description, exits and enemies in the text of a turn.

    Args:
        step: The turn, or the opening as a turn without an action.
        described: The last description of this location in the episode.
    """
    if _has_nothing_to_extract(step):
        return NOTHING
    body = below_the_heading(step.response, step.after.location_name)
    describes = _describes(step, body, described)
    enemies = _enemies(step)
    return Extraction(
        is_room_description=describes,
        exits=(exits_in if describes else exits_opened)(step.response if body is None else body),
        combat=bool(enemies),
        enemies=enemies,
        by="rules",
    )


def _has_nothing_to_extract(step: Transition) -> bool:
    """Return whether the text of a turn can't contain facts about the room or a fight.

    This is true for commands that did not reach the game, for the end of the game, and for responses that took no game
    time, because the parser did not understand the command.
    """
    if step.refused or step.fault or step.finished or not step.response.strip():
        return True
    no_time_passed = step.before.moves is not None and step.before.moves == step.after.moves
    return no_time_passed and not is_passive(step.action) and not world_changed(step)


def below_the_heading(text: str, name: str) -> str | None:
    """Return the text after the line with the place's name; None if there is no such line."""
    lines = text.strip().splitlines()
    for number, line in enumerate(lines):
        if name and line.strip().startswith(name) and _BESIDE_THE_NAME.fullmatch(line.strip(), len(name)):
            return "\n".join(lines[number + 1 :]).strip()
    return None


def _describes(step: Transition, body: str | None, described: str) -> bool:
    looked = normalized_action(step.action) in _LOOKS
    if step.after.dark or body == "":
        return False
    if body is None:
        # In stories that print no name, only looking around is sure to show the place's description.
        return looked and not _DARKNESS.search(step.response)
    return looked or not _is_brief(body, below_the_heading(described, step.after.location_name))


def _is_brief(body: str, before: str | None) -> bool:
    """Return whether the description is missing, because most stories only list objects on later visits.

    Args:
        before: The text of the last description. None if there is none.
    """
    return before is not None and _first_sentence(before) != _first_sentence(body)


def _first_sentence(text: str) -> str:
    return " ".join(sentences_of(text)[0].split())


def _enemies(step: Transition) -> tuple[str, ...]:
    """Return the present opponents: named near a blow at the player, or attacked by the player."""
    creatures = step.after.creatures
    others = [item.name for item in (step.after.visible or () if creatures is None else creatures)]
    blows = _blows(step.response)
    # Things such as doors can be hit too, so the creatures must be known.
    verb = step.action.lower().partition(" ")[0]
    attacked = step.action if creatures is not None and verb in _ATTACKS else ""
    return tuple(dict.fromkeys(name for name in others if _named(name, blows) or _named(name, attacked)))


def _blows(response: str) -> str:
    sentences = sentences_of(response)
    # The player is often named one sentence later: "The troll swings its axe. It misses you by a hair."
    near = [" ".join(pair) for pair in pairwise([*sentences, ""]) if _BLOW.search(pair[0])]
    return " ".join(text for text in near if _YOU.search(text))


def _named(name: str, text: str) -> bool:
    return bool(words := _WORD.findall(name.lower())) and words[-1] in _WORD.findall(text.lower())
