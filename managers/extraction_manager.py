"""Has every turn's text read once, and keeps what was read for when the same text comes again."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from game_interface.models import Observation, Transition
from session.extraction import NOTHING, Extraction, GameText, has_nothing_to_extract, text_of_opening, text_of_turn
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.extractor import Extractor

_Text = tuple[int | None, str]
"""Place, and what was printed there."""


class ExtractionManager:
    """Stands between the game's text and its reader, which is asked only where there is something to find out.

    Args:
        known_exits: location → ways out of it that are known.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        extractor: Extractor,
        known_exits: Callable[[int], Iterable[str]] = lambda location_id: (),
    ) -> None:
        self._log = logger
        self._state = game_state
        self._extractor = extractor
        self._known_exits = known_exits
        self.reset_episode()

    def reset_episode(self) -> None:
        self._read: dict[_Text, Extraction] = {}
        self._counts: Counter[str] = Counter()

    reset = reset_episode

    def of_opening(self, text: str, now: Observation) -> Extraction:
        """What the text says that the game begins with."""
        return self._extract(text_of_opening(text, now)) if text.strip() else NOTHING

    def resume_opening(self, text: str, now: Observation, extraction: Extraction) -> None:
        """What was read in the opening by a process that is gone."""
        if text.strip():
            self._keep(now.location.num if now.location else None, text, extraction)

    def of_turn(self, step: Transition) -> Extraction:
        """What the text of a turn says that was just played."""
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
        extraction = self._extractor.extract(said)
        self._counts[f"read by {extraction.by}"] += 1
        self._keep(said.location.num if said.location else None, said.response, extraction)
        return extraction

    def _keep(self, location_id: int | None, text: str, extraction: Extraction) -> None:
        self._read[_key(location_id, text)] = extraction

    def process_turn(self, record: TurnRecord) -> None:
        """Keep what was read in this turn, also if it was played by a process that is gone."""
        extraction, after = record.extraction, record.transition.after
        if extraction is not None and extraction.by != "nobody":
            self._keep(after.location.num if after.location else None, record.transition.response, extraction)
            self._counts["room descriptions"] += extraction.is_room_description
            self._counts["turns in combat"] += extraction.combat

    def process_periodic_update(self) -> None:
        """All of it is of every turn."""

    def get_status(self) -> dict[str, Any]:
        return {"type": "extraction", "state": "ready", "metrics": dict(self._counts)}


def _key(location_id: int | None, text: str) -> _Text:
    return location_id, " ".join(text.split())
