"""Extract facts from the game's text by rules for any story in English, without a language model."""

import re
from itertools import pairwise

from session.history import Extraction, GameText
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


class RuleExtractor:
    """Finds room descriptions, exits and enemies in the game's text, without a model."""

    def extract(self, said: GameText) -> Extraction:
        body = below_the_heading(said.response, said.location.name if said.location else "")
        describes = _describes(said, body)
        enemies = _enemies(said)
        return Extraction(
            is_room_description=describes,
            exits=(exits_in if describes else exits_opened)(said.response if body is None else body),
            combat=bool(enemies),
            enemies=enemies,
            by="rules",
        )


def below_the_heading(text: str, name: str) -> str | None:
    """Return the text after the line with the place's name; None if there is no such line."""
    lines = text.strip().splitlines()
    for number, line in enumerate(lines):
        if name and line.strip().startswith(name) and _BESIDE_THE_NAME.fullmatch(line.strip(), len(name)):
            return "\n".join(lines[number + 1 :]).strip()
    return None


def _describes(said: GameText, body: str | None) -> bool:
    looked = normalized_action(said.action) in _LOOKS
    if said.dark or body == "":
        return False
    if body is None:
        # In stories that print no name, only looking around is sure to show the place's description.
        return looked and bool(said.response.strip()) and not _DARKNESS.search(said.response)
    return looked or not _is_brief(said, body)


def _is_brief(said: GameText, body: str) -> bool:
    """Return whether the description is missing, because most stories only list objects on later visits."""
    before = below_the_heading(said.described, said.location.name if said.location else "")
    return before is not None and _first_sentence(before) != _first_sentence(body)


def _first_sentence(text: str) -> str:
    return " ".join(sentences_of(text)[0].split())


def _enemies(said: GameText) -> tuple[str, ...]:
    """Return the present opponents: named near a blow at the player, or attacked by the player."""
    others = said.things if said.creatures is None else said.creatures
    return tuple(dict.fromkeys(name for name in others if _named(name, _blows(said)) or _is_attacked(name, said)))


def _blows(said: GameText) -> str:
    sentences = sentences_of(said.response)
    # The player is often named one sentence later: "The troll swings its axe. It misses you by a hair."
    near = [" ".join(pair) for pair in pairwise([*sentences, ""]) if _BLOW.search(pair[0])]
    return " ".join(text for text in near if _YOU.search(text))


def _is_attacked(name: str, said: GameText) -> bool:
    # Things such as doors can be hit too, so the creatures must be known.
    verb = said.action.lower().split()[:1]
    return said.creatures is not None and bool(verb) and verb[0] in _ATTACKS and _named(name, said.action)


def _named(name: str, text: str) -> bool:
    return bool(words := _WORD.findall(name.lower())) and words[-1] in _WORD.findall(text.lower())
