"""Extract facts from the text of every turn, and reuse them if the same text comes again."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import TypeAdapter

from game_interface.models import Observation, Transition
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import (
    NOTHING,
    Extraction,
    GameText,
    LateReading,
    TurnRecord,
    has_nothing_to_extract,
    text_of_opening,
    text_of_turn,
)
from zorkgpt.extractor import Extractor

_PrintedText = tuple[int | None, str]
"""A location id, and the text printed there."""


EXTRACTION = "extraction"
"""The kind of work in the background that asks what a text says."""


class ExtractionManager(BaseManager):
    """Asks the extractor about the text of a turn if the text may contain something new.

    Args:
        at_once: Reads a text as long as the extractor waits for its model in the background.
        background: Where the extractor is asked; None to wait for it.
        known_exits: Returns the exits of a location that are known already.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        extractor: Extractor,
        at_once: Extractor,
        background: BackgroundQuestions | None = None,
        known_exits: Callable[[int], Iterable[str]] = lambda location_id: (),
    ) -> None:
        super().__init__(logger, config, game_state)
        self._extractor, self._at_once = extractor, at_once
        self._background = background
        if background is not None:
            background.add(EXTRACTION, self._read_text, TypeAdapter(GameText).validate_python)
        self._known_exits = known_exits
        self.reset()

    def reset(self) -> None:
        """Begin a new episode: forget the texts."""
        self._read: dict[_PrintedText, Extraction] = {}
        self._readings: list[LateReading] = []
        """What the extractor has read since `take_late`."""
        self._counts: Counter[str] = Counter()

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
            self._counts["nothing to read"] += 1
            return NOTHING
        place = step.after.location
        exits = tuple(self._known_exits(place.num)) if place else ()
        described = self._state.room_descriptions.get(place.num, ("", 0))[0] if place else ""
        return self._extract(text_of_turn(step, known_exits=exits, described=described))

    def _extract(self, said: GameText) -> Extraction:
        known = self._read.get(_key(said.location.num if said.location else None, said.response))
        if known is not None:
            self._counts["read before"] += 1
            return known
        before = len(self._readings)
        if self._background is None:
            self._read_text(said)
        else:
            self._background.start(EXTRACTION, said)
        if len(self._readings) > before:
            return self._readings.pop().extraction
        # The model's answer comes during a later turn.
        return self._at_once.extract(said)

    def _read_text(self, said: GameText) -> None:
        extraction = self._extractor.extract(said)
        self._counts[f"read by {extraction.by}"] += 1
        self._keep(said.location.num if said.location else None, said.response, extraction)
        self._readings.append(LateReading(said, extraction))

    def take_late(self) -> tuple[LateReading, ...]:
        """Return what was read in the background since the last call."""
        read, self._readings = tuple(self._readings), []
        return read

    def _keep(self, location_id: int | None, text: str, extraction: Extraction) -> None:
        self._read[_key(location_id, text)] = extraction

    def process_turn(self, record: TurnRecord) -> None:
        """Keep what was extracted in this turn, even if it was played before an interruption."""
        extraction, after = record.extraction, record.transition.after
        for late in record.read_late:
            self._keep(late.text.location.num if late.text.location else None, late.text.response, late.extraction)
        if extraction is not None and extraction.by != "nobody":
            self._keep(after.location_id, record.transition.response, extraction)
            self._counts["room descriptions"] += extraction.is_room_description
            self._counts["turns in combat"] += extraction.combat

    def get_status(self) -> dict[str, Any]:
        """Return how many texts were extracted, and how."""
        return {"type": "extraction", "state": "ready", "metrics": dict(self._counts)}


def _key(location_id: int | None, text: str) -> _PrintedText:
    return location_id, " ".join(text.split())
