"""Extract facts from the text of every turn, and cache them by text."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from game_interface.models import Location, Observation, Transition
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import (
    NOTHING,
    Extraction,
    GameText,
    NamedExits,
    TurnRecord,
    has_nothing_to_extract,
    text_of_opening,
    text_of_turn,
)
from zorkgpt.memory.models import PlaceKey
from zorkgpt.world.directions import canonical_direction

_PrintedText = tuple[int | None, str]
"""A location id, and the text printed there."""


class Extractor(Protocol):
    """Extracts facts from the game's text."""

    def extract(self, said: GameText) -> Extraction:
        """Return the facts in a text. Must not raise."""
        ...


class ExtractionManager(BaseManager):
    """Extracts facts from the text of a turn, and collects the exits that the memory's model found in it.

    Args:
        take_named_exits: Returns the exits that the memory's model found since the last call: the key and name of the
            place, and the words for the exits.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        extractor: Extractor,
        take_named_exits: Callable[[], tuple[tuple[PlaceKey, str, tuple[str, ...]], ...]] = tuple,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._extractor = extractor
        self._take_named_exits = take_named_exits
        self.reset()

    def reset(self) -> None:
        """Start a new episode with an empty cache."""
        self._read: dict[_PrintedText, Extraction] = {}
        self._counts: Counter[str] = Counter()
        self._counted: set[_PrintedText] = set()
        """The texts of earlier turns."""

    def of_opening(self, text: str, now: Observation) -> Extraction:
        """Return the facts in the opening text."""
        return self._extract(text_of_opening(text, now)) if text.strip() else NOTHING

    def resume_opening(self, text: str, now: Observation, extraction: Extraction) -> None:
        """Restore the facts in the opening text of an interrupted episode."""
        if text.strip():
            self._keep(now.location_id, text, extraction)

    def of_turn(self, step: Transition) -> Extraction:
        """Return the facts in the text of the last turn."""
        if has_nothing_to_extract(step):
            return NOTHING
        place = step.after.location
        described = self._state.room_descriptions.get(place.num, ("", 0))[0] if place else ""
        return self._extract(text_of_turn(step, described=described))

    def _extract(self, said: GameText) -> Extraction:
        place = said.location.num if said.location else None
        cached = self._read.get(_key(place, said.response))
        if cached is not None:
            return cached
        extraction = self._extractor.extract(said)
        self._keep(place, said.response, extraction)
        return extraction

    def take_named_exits(self) -> tuple[NamedExits, ...]:
        """Return the exits in compass directions that the memory's model found since the last call."""
        named = []
        for place, name, words in self._take_named_exits():
            directions = (canonical_direction(word.replace("-", "")) for word in words)
            exits = tuple(dict.fromkeys(each for each in directions if each))
            if exits and isinstance(place, int):
                named.append(NamedExits(Location(place, name), exits))
        return tuple(named)

    def _keep(self, location_id: int | None, text: str, extraction: Extraction) -> None:
        self._read[_key(location_id, text)] = extraction

    def process_turn(self, record: TurnRecord) -> None:
        """Cache and count the facts of this turn. A resumed turn already has them."""
        extraction, after = record.extraction, record.transition.after
        if extraction is None or extraction.by == "nobody":
            self._counts["nothing to read"] += 1
        else:
            text = _key(after.location_id, record.transition.response)
            self._counts["read before" if text in self._counted else f"read by {extraction.by}"] += 1
            self._counted.add(text)
            self._keep(after.location_id, record.transition.response, extraction)
            self._counts["room descriptions"] += extraction.is_room_description
            self._counts["turns in combat"] += extraction.combat

    def get_status(self) -> dict[str, Any]:
        """Return the number of texts by how they were read."""
        return {"type": "extraction", "state": "ready", "metrics": dict(self._counts)}


def _key(location_id: int | None, text: str) -> _PrintedText:
    return location_id, " ".join(text.split())
