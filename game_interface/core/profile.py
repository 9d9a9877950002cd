"""What a story needs beyond the Standard: the player's object, where score and death are kept, what attributes mean."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from game_interface.core.zmachine import Header, View
from zorkgpt.errors import StoryError, reason_of


@dataclass(frozen=True, slots=True)
class Rule:
    """An attribute that follows from others: one of these is set (or none is named), and none of those."""

    any_of: frozenset[int] = frozenset()
    none_of: frozenset[int] = frozenset()
    otherwise: "Rule | None" = None
    """Another way for it to follow."""

    def holds(self, attributes: frozenset[int]) -> bool:
        if (not self.any_of or self.any_of & attributes) and not self.none_of & attributes:
            return True
        return self.otherwise is not None and self.otherwise.holds(attributes)


@dataclass(frozen=True, slots=True)
class Profile:
    """The numbers of one story. None means not known."""

    title: str | None = None
    player: int | None = None
    location_global: int | None = None
    score_global: int | None = None
    moves_global: int | None = None
    deadflag_global: int | None = None
    """Inform's: 0 while the game goes on, 2 when it is won, anything else when it is lost."""
    max_score: int | None = None
    rooms_parent: int | None = None
    """What every room is in; 0: rooms are in nothing."""
    attributes: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)

    def attribute_name(self, number: int) -> str:
        return next((name for name, known in self.attributes.items() if known == number), f"attribute {number}")

    def named_attributes(self, view: View, number: int) -> dict[str, bool]:
        """Every attribute whose meaning is known, by name; empty if none is."""
        is_set = view.attributes(number)
        named = {name: known in is_set for name, known in self.attributes.items()}
        return named | {name: rule.holds(is_set) for name, rule in self.rules.items()}

    def numbers_of(self, *names: str) -> frozenset[int]:
        """The attributes of these names, as far as they are known."""
        return frozenset(self.attributes[name] for name in names if name in self.attributes)

    def has(self, view: View, number: int, name: str) -> bool:
        known = self.attributes.get(name)
        return known is not None and view.attribute(number, known)


# Inform's library up to 6/12 declares them in this order (linklpa.h).
INFORM_ATTRIBUTES: Mapping[str, int] = MappingProxyType(
    {"animate": 0, "clothing": 2, "concealed": 3, "container": 4, "door": 5, "edible": 6, "enterable": 7, "light": 9}
    | {"lockable": 10, "locked": 11, "moved": 12, "on": 13, "open": 14, "openable": 15, "scenery": 17, "static": 19}
    | {"supporter": 20, "switchable": 21, "talkable": 22, "transparent": 23, "visited": 24, "worn": 26}
)
_INFORM_FIXED = frozenset({0, 17, 19})
INFORM_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "takeable": Rule(none_of=_INFORM_FIXED),
        "portable": Rule(none_of=_INFORM_FIXED),
        "fixed": Rule(any_of=_INFORM_FIXED),
    }
)
"""Portable is what is taken, and fixed what is not, without any way of its own to answer; else it is neither."""

_ZORK1_ATTRIBUTES = (
    {"visited": 3, "concealed": 7, "supporter": 10, "open": 11, "transparent": 12, "scenery": 14, "readable": 16}
    | {"takeable": 17, "container": 19, "on": 20, "edible": 21, "door": 23, "burning": 25, "flammable": 26}
    | {"vehicle": 27, "tool": 28, "weapon": 29, "animate": 30, "light": 31}
)
_KNOWN = {
    (88, "840726"): Profile(
        title="Zork I",
        player=4,
        location_global=0,
        score_global=1,
        moves_global=2,
        max_score=350,
        rooms_parent=82,
        attributes=_ZORK1_ATTRIBUTES,
        rules={
            "openable": Rule(any_of=frozenset({19, 23}), none_of=frozenset({10, 30})),
            # 13 marks what answers to being taken in its own way; containers only say why not, but for those with 9.
            "portable": Rule(any_of=frozenset({17}), none_of=frozenset({13})),
            "fixed": Rule(
                none_of=frozenset({13, 17}),
                otherwise=Rule(any_of=frozenset({19}), none_of=frozenset({9, 14, 17, 30})),
            ),
        },
    )
}


def standard_profile(header: Header) -> Profile:
    """What the release number or the Standard itself tells: section 8.2 fixes three globals up to version 3."""
    if known := _KNOWN.get((header.release, header.serial)):
        return known
    if header.version > 3:
        return Profile()
    if header.timed:
        return Profile(location_global=0)
    return Profile(location_global=0, score_global=1, moves_global=2)


def read_profile(path: Path, story_sha256: str) -> Profile | None:
    """The profile that lies beside a bundled story; None if it was made for another build of it.

    Raises:
        StoryError: it is not a JSON object with these keys.
    """
    try:
        told = json.loads(path.read_text("utf-8"))
        if told["sha256"] != story_sha256:
            return None
        places = told["globals"]
        attributes = {name: int(number) for name, number in told["attributes"].items()}
        return Profile(
            title=told.get("title"),
            player=told["player_object"] or None,
            location_global=places["location"],
            score_global=places["score"],
            moves_global=places["turns"],
            deadflag_global=places.get("deadflag"),
            max_score=told.get("max_score"),
            rooms_parent=0,
            attributes=attributes,
            rules={} if "takeable" in attributes else INFORM_RULES,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoryError(
            f"The story's profile {path} can't be used: {reason_of(error)}. Rebuild the story or remove it."
        ) from error


def with_inform_names(profile: Profile) -> Profile:
    return replace(profile, attributes=INFORM_ATTRIBUTES, rules=INFORM_RULES)
