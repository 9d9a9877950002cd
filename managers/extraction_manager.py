"""Extract facts from the text of every turn, and reuse them if the same text comes again."""

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
    """Extracts facts from what the game printed."""

    def extract(self, said: GameText) -> Extraction:
        """Return what the text says; no text makes it raise."""
        ...


class ExtractionManager(BaseManager):
    """Reads the text of a turn if it may contain something new, and collects the exits that a model read in it.

    Args:
        take_named_exits: Returns the exits that the memory's model found since the last call: the key and the name of
            the place, and the model's words for the exits.
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
        """Begin a new episode: forget the texts."""
        self._read: dict[_PrintedText, Extraction] = {}
        self._counts: Counter[str] = Counter()
        self._counted: set[_PrintedText] = set()
        """The texts of earlier turns."""

    def of_opening(self, text: str, now: Observation) -> Extraction:
        """Return what is extracted from the opening text."""
        return self._extract(text_of_opening(text, now)) if text.strip() else NOTHING

    def resume_opening(self, text: str, now: Observation, extraction: Extraction) -> None:
        """Restore what was extracted from the opening before the episode was interrupted."""
        if text.strip():
            self._keep(now.location_id, text, extraction)

    def of_turn(self, step: Transition) -> Extraction:
        """Return what is extracted from the text of the last turn."""
        if has_nothing_to_extract(step):
            return NOTHING
        place = step.after.location
        described = self._state.room_descriptions.get(place.num, ("", 0))[0] if place else ""
        return self._extract(text_of_turn(step, described=described))

    def _extract(self, said: GameText) -> Extraction:
        place = said.location.num if said.location else None
        known = self._read.get(_key(place, said.response))
        if known is not None:
            return known
        extraction = self._extractor.extract(said)
        self._keep(place, said.response, extraction)
        return extraction

    def take_named_exits(self) -> tuple[NamedExits, ...]:
        """Return the exits that the memory's model found since the last call, as far as they are directions."""
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
        """Keep what was extracted in this turn, even if it was played before an interruption."""
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
        """Return how many texts were extracted, and how."""
        return {"type": "extraction", "state": "ready", "metrics": dict(self._counts)}


def _key(location_id: int | None, text: str) -> _PrintedText:
    return location_id, " ".join(text.split())
