"""The numbers that differ between stories: the player object, the globals of location, score and death, attributes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from game_interface.core.zmachine import Header, View
from zorkgpt.bounded import saved_json
from zorkgpt.errors import StoryError, reason_of


@dataclass(frozen=True, slots=True)
class DerivedAttribute:
    """A named attribute that is computed from an object's set attributes."""

    any_of: frozenset[int] = frozenset()
    """One of these must be set, if there are any."""
    none_of: frozenset[int] = frozenset()
    """None of these may be set."""
    otherwise: "DerivedAttribute | None" = None
    """An alternative condition."""

    def holds(self, attributes: frozenset[int]) -> bool:
        """Return whether an object with these attributes has the derived attribute."""
        if (not self.any_of or self.any_of & attributes) and not self.none_of & attributes:
            return True
        return self.otherwise is not None and self.otherwise.holds(attributes)


@dataclass(frozen=True, slots=True)
class Profile:
    """The object, global and attribute numbers of a story. None means unknown."""

    title: str | None = None
    player: int | None = None
    location_global: int | None = None
    score_global: int | None = None
    moves_global: int | None = None
    deadflag_global: int | None = None
    """Inform's `deadflag`: 0 during the game, 2 after a victory, and other values after a defeat."""
    max_score: int | None = None
    player_global: int | None = None
    """Inform's `player`. It changes if the player continues as another person."""
    rooms_parent: int | None = None
    """The parent of every room. 0 if rooms have no parent."""
    attributes: Mapping[str, int] = field(default_factory=dict)
    """Name → attribute number."""
    derived: Mapping[str, DerivedAttribute] = field(default_factory=dict)

    def attribute_name(self, number: int) -> str:
        """Return the attribute's name, or "attribute 11" if its meaning is unknown."""
        return next((name for name, value in self.attributes.items() if value == number), f"attribute {number}")

    def named_attributes(self, view: View, number: int) -> dict[str, bool]:
        """Return the attributes of known meaning by name."""
        set_attributes = view.attributes(number)
        named = {name: attribute in set_attributes for name, attribute in self.attributes.items()}
        return named | {name: rule.holds(set_attributes) for name, rule in self.derived.items()}

    def numbers_of(self, *names: str) -> frozenset[int]:
        """Return the known numbers of the named attributes."""
        return frozenset(self.attributes[name] for name in names if name in self.attributes)

    def has(self, view: View, number: int, name: str) -> bool:
        """Return whether an object has the named attribute. False if unknown."""
        attribute = self.attributes.get(name)
        return attribute is not None and view.attribute(number, attribute)


# The order of declaration in Inform's library up to 6/12 (linklpa.h).
INFORM_ATTRIBUTES: Mapping[str, int] = MappingProxyType(
    {"animate": 0, "clothing": 2, "concealed": 3, "container": 4, "door": 5, "edible": 6, "enterable": 7, "light": 9}
    | {"lockable": 10, "locked": 11, "moved": 12, "on": 13, "open": 14, "openable": 15, "scenery": 17, "static": 19}
    | {"supporter": 20, "switchable": 21, "talkable": 22, "transparent": 23, "visited": 24, "worn": 26}
)


def _inform_derived(attributes: Mapping[str, int]) -> Mapping[str, DerivedAttribute]:
    """Return the rules for things that can or can't be taken, unless a routine of the story decides."""
    fixed = frozenset(attributes[name] for name in ("animate", "scenery", "static"))
    return {
        "takeable": DerivedAttribute(none_of=fixed),
        "portable": DerivedAttribute(none_of=fixed),
        "fixed": DerivedAttribute(any_of=fixed),
    }


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
        derived={
            "openable": DerivedAttribute(any_of=frozenset({19, 23}), none_of=frozenset({10, 30})),
            # Attribute 13 means that a routine handles taking. For containers without 9, it only prints a reason.
            "portable": DerivedAttribute(any_of=frozenset({17}), none_of=frozenset({13})),
            "fixed": DerivedAttribute(
                none_of=frozenset({13, 17}),
                otherwise=DerivedAttribute(any_of=frozenset({19}), none_of=frozenset({9, 14, 17, 30})),
            ),
        },
    )
}


def standard_profile(header: Header) -> Profile:
    """Return the profile of a known story, or else the globals that section 8.2 of the Standard defines."""
    if profile := _KNOWN.get((header.release, header.serial)):
        return profile
    if header.version > 3:
        return Profile()
    if header.timed:
        return Profile(location_global=0)
    return Profile(location_global=0, score_global=1, moves_global=2)


def read_profile(path: Path, story_sha256: str) -> Profile | None:
    """Return the profile in a bundled story's JSON file. None if it belongs to another build.

    Raises:
        StoryError: If the file is not a JSON object with the expected keys.
    """
    try:
        stored = saved_json(path)
        if stored["sha256"] != story_sha256:
            return None
        numbers = stored["globals"]
        attributes = {name: int(number) for name, number in stored["attributes"].items()}
        return Profile(
            title=stored.get("title"),
            player=stored["player_object"] or None,
            location_global=numbers["location"],
            score_global=numbers["score"],
            moves_global=numbers["turns"],
            deadflag_global=numbers.get("deadflag"),
            max_score=stored.get("max_score"),
            rooms_parent=0,
            attributes=attributes,
            derived={} if "takeable" in attributes else _inform_derived(INFORM_ATTRIBUTES),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoryError(
            f"The story's profile {path} is invalid: {reason_of(error)}. Rebuild the story or remove the profile."
        ) from error


def with_inform_names(profile: Profile, first: int = 0) -> Profile:
    """Return the profile with the attributes of Inform's library.

    Args:
        first: The number of the library's first attribute.
    """
    attributes = {name: number + first for name, number in INFORM_ATTRIBUTES.items()}
    return replace(profile, attributes=attributes, derived=_inform_derived(attributes))
