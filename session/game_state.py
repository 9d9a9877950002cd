"""The state of the running episode."""

from dataclasses import dataclass, field
from typing import TypedDict

from game_interface.models import Observation
from session.experience import row_of
from session.history import TurnHistory, TurnRecord
from session.outcome import destroyed, visible_outcome
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.record.experience import ActionResult, Experience, ExperienceRow, Place
from zorkgpt.text import normalized_action


class ReasoningEntry(TypedDict):
    """A player's reasoning for an action."""

    turn: int
    reasoning: str
    action: str
    timestamp: str
    """ISO 8601, in UTC."""


@dataclass
class GameState:
    """The state of the running episode.

    Managers read it. `orchestration` and the start of an episode write it, except the summary of the history, which the
    context manager writes.
    """

    episode_id: int = 1
    turn_count: int = 0
    current_room_id: int | None = None
    current_room_name_for_map: str = ""
    current_inventory: list[str] = field(default_factory=list)
    current_score: int | None = None
    max_score: int | None = None
    deaths: int = 0
    finished: bool = False
    victory: bool = False
    visited_locations: set[int] = field(default_factory=set)
    history: TurnHistory = field(default_factory=TurnHistory, repr=False)
    arrival: TurnRecord | None = None
    """The opening as turn 0. None before the episode starts."""
    latest: TurnRecord | None = None
    """The last turn that was not undone. The opening before the first turn."""
    action_history: list[RecentTurn] = field(default_factory=list)
    """The turns as prompts show them, oldest first."""
    action_reasoning_history: list[ReasoningEntry] = field(default_factory=list)
    """The player's reasoning in this episode, oldest first."""
    history_summary: str = ""
    """A model's summary of the turns up to `history_summarized_to`. "" before the first summary."""
    history_summarized_to: int = 0
    experience: Experience = field(default_factory=Experience, repr=False)
    """What the actions of this episode led to, and those of earlier ones."""
    destructive_verbs: list[str] = field(default_factory=list)
    """The verbs of the actions that removed an object from the world in this episode."""
    last_room_description: str = ""
    """The latest description of a room in this episode. "" if there is none."""
    last_room_description_turn: int = 0
    last_room_description_location_id: int | None = None
    earlier_room_descriptions: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Location → its latest description before the last one, and the turn of the description."""

    def reset_episode(self, episode_id: int, earlier: Experience | None = None) -> None:
        """Reset the state for another episode.

        Args:
            earlier: The experience of earlier episodes.
        """
        fresh = GameState(episode_id=episode_id, max_score=self.max_score, experience=Experience(earlier))
        for name in fresh.__dataclass_fields__:
            setattr(self, name, getattr(fresh, name))

    def turn_stamp(self) -> TurnStamp:
        """Return the current turn, to which changes belong."""
        return TurnStamp(self.episode_id, self.turn_count)

    def is_last_turn(self, max_turns: int) -> bool:
        """Return whether the episode ends with this turn."""
        return self.finished or self.turn_count >= max_turns

    def turns_until(self, last: int, count: int) -> tuple[TurnRecord, ...]:
        """Return at most `count` turns up to the turn `last`, oldest first. For turn 0, return the opening."""
        if not last:
            return () if self.arrival is None else (self.arrival,)
        played = self.history.recent(count + self.turn_count - last)
        return tuple(record for record in played if record.turn <= last)

    def observe(self, now: Observation) -> None:
        """Update the location, the inventory and the score from the Z-machine."""
        if now.location is not None:
            self.current_room_id = now.location.num
            self.current_room_name_for_map = now.location.name
            self.visited_locations.add(now.location.num)
        if now.inventory is not None:
            self.current_inventory = [item.name for item in now.inventory]
        self.current_score = now.score

    def describe_room(self, description: str, location_id: int) -> None:
        """Record a description of a room that the game has just printed."""
        if self.last_room_description_location_id is not None:
            earlier = self.last_room_description, self.last_room_description_turn
            self.earlier_room_descriptions[self.last_room_description_location_id] = earlier
        self.last_room_description = description
        self.last_room_description_turn = self.turn_count
        self.last_room_description_location_id = location_id

    def room_description(
        self, location_id: int | None, *, within_turns: int | None = None
    ) -> tuple[str, int] | tuple[None, None]:
        """Return the last description of this room and its age in turns. (None, None) without one.

        Args:
            within_turns: Maximum age. Defaults to any age.
        """
        if location_id is None:
            return None, None
        if location_id == self.last_room_description_location_id:
            text, turn = self.last_room_description, self.last_room_description_turn
        else:
            text, turn = self.earlier_room_descriptions.get(location_id, ("", 0))
        age = self.turn_count - turn
        return (text, age) if text and (within_turns is None or age <= within_turns) else (None, None)

    @property
    def is_dead(self) -> bool:
        """Whether the player died on the last turn."""
        return self.latest is not None and self.latest.transition.died

    def add_experience(self, turn: TurnRecord) -> ExperienceRow:
        """Add what the action of a turn led to, and return it. Call it before the memory learns from the turn."""
        row = row_of(turn)
        self.experience.add(row)
        return row

    def record(self, turn: TurnRecord) -> None:
        """Update the rest of the state with a turn."""
        self.history.add(turn)
        self.latest = turn
        step = turn.transition
        self.action_history.append(_recent_turn(turn))
        if destroyed(step) and (verb := normalized_action(step.action).partition(" ")[0]) not in self.destructive_verbs:
            self.destructive_verbs.append(verb)
        self.deaths += step.died
        self.finished = self.finished or step.finished
        self.victory = self.victory or step.victory
        self._read(turn)

    def begin(self, opening: TurnRecord) -> None:
        """Start with the opening, as turn 0."""
        self.arrival = self.latest = opening
        self._read(opening)

    def _read(self, turn: TurnRecord) -> None:
        step = turn.transition
        self.observe(step.after)
        if turn.extraction and turn.extraction.is_room_description and step.after.location is not None:
            self.describe_room(step.response, step.after.location.num)

    def failed_here(self, now: Observation) -> tuple[str, ...]:
        """Return the actions that failed here in the same circumstances as now."""
        if now.location is None:
            return ()
        latest = self.experience.latest_in(now.location.num, now.circumstances)
        return tuple(row.command for row in latest if row.shows(ActionResult.FAILED))

    @property
    def scored(self) -> set[tuple[Place, str]]:
        """The places and actions that scored in this episode."""
        return {(row.place, row.action) for row in self.experience.rows if row.points > 0}


def _recent_turn(record: TurnRecord) -> RecentTurn:
    step = record.transition
    has_moved = step.after.location is not None and step.after.location != step.before.location
    return RecentTurn(
        record.turn,
        step.before.location_name,
        step.action,
        step.response,
        record.reasoning,
        visible_outcome(step),
        step.after.location_name if has_moved else "",
    )
