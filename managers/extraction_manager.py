"""Extract facts from the text of every turn."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from game_interface.models import Location, Transition
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import Extraction, NamedExits, TurnRecord
from zorkgpt.directions import canonical_direction
from zorkgpt.memory.models import PlaceKey
from zorkgpt.offline.extractor import extracted


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
        take_named_exits: Callable[[], tuple[tuple[PlaceKey, str, tuple[str, ...]], ...]] = tuple,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._take_named_exits = take_named_exits
        self.reset()

    def reset(self) -> None:
        """Start a new episode."""
        self._counts: Counter[str] = Counter()

    def of_turn(self, step: Transition) -> Extraction:
        """Return the facts in the text of the last turn, or of the opening as a turn without an action."""
        place = step.after.location
        described, _ = self.game_state.room_description(place.num if place else None)
        return extracted(step, described or "")

    def take_named_exits(self) -> tuple[NamedExits, ...]:
        """Return the exits in compass directions that the memory's model found since the last call."""
        named = []
        for place, name, words in self._take_named_exits():
            directions = (canonical_direction(word.replace("-", "")) for word in words)
            exits = tuple(dict.fromkeys(each for each in directions if each))
            if exits and isinstance(place, int):
                named.append(NamedExits(Location(place, name), exits))
        return tuple(named)

    def process_turn(self, record: TurnRecord) -> None:
        """Count the facts of this turn. A resumed turn already has them."""
        extraction = record.extraction
        if extraction is None or extraction.by == "nobody":
            self._counts["nothing to read"] += 1
        else:
            self._counts[f"read by {extraction.by}"] += 1
            self._counts["room descriptions"] += extraction.is_room_description
            self._counts["turns in combat"] += extraction.combat

    def get_status(self) -> dict[str, Any]:
        """Return the number of texts by how they were read."""
        return {"type": "extraction", "metrics": dict(self._counts)}
