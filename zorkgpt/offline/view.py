"""The view of a turn that the behaviors of the rules player share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import chain

from game_interface.models import Item, Language, Scene
from session.experience import ActionResult
from zorkgpt.action_check import check_action
from zorkgpt.directions import canonical_direction
from zorkgpt.memory.retrieval import Recall
from zorkgpt.offline import dangers
from zorkgpt.offline.advice import opens_a_menu
from zorkgpt.offline.candidates import Candidate, Nouns, Tier, exit_candidates
from zorkgpt.offline.command_record import CommandRecord
from zorkgpt.offline.experience import PastEpisodes
from zorkgpt.offline.notes import EpisodeNotes, PlaceNotes, TriesHere
from zorkgpt.offline.outcomes import ActionOutcome
from zorkgpt.offline.phrases import is_dark
from zorkgpt.offline.scoring_plan import ScoringPlan
from zorkgpt.player import PlayerContext
from zorkgpt.record.experience import ExperienceRow
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.routes import DangerousSpot

SOMEWHERE = 0
"""The number of an unknown location. No object has it."""
_FAILS_EVERYWHERE = ("turn on ", "read ", "examine ")
"""Actions that fail with a carried thing in every place if they fail in one."""
_ONCE_PER_NAME = (Tier.INSPECT, Tier.HANDLE, Tier.LIGHT, Tier.COMBINE, Tier.ADVICE)
"""Kinds of actions that are not tried again in other places with things of the same name."""


@dataclass
class Episode:
    """An episode of the rules player: its notes, and what earlier episodes showed.

    Args:
        seed: Decides the order of equally promising actions.
    """

    graph: MapGraph
    recall: Recall
    nouns: Nouns
    past: PastEpisodes
    plan: ScoringPlan
    seed: int
    language: Language | None = None
    notes: EpisodeNotes = field(default_factory=EpisodeNotes)
    places: dict[int, PlaceNotes] = field(default_factory=dict)
    touched: set[int] = field(default_factory=set)
    """The places whose notes may have changed since the last save."""
    done_everywhere: set[str] = field(default_factory=set)
    """Actions that need not be tried at any place."""

    def place(self, room: int) -> PlaceNotes:
        """Return the notes about a place, created with the experience of earlier episodes."""
        if room not in self.places:
            self.places[room] = self._first_notes(room)
            self.touched.add(room)
        return self.places[room]

    def mark_done(self, room: int, action: str) -> None:
        """Record that an action is taken at a place."""
        notes = self.place(room)
        notes.mark(action)
        self.touched.add(room)
        held = action.startswith("open ") and action.removeprefix("open ") in self.notes.held
        if held or notes.offered.get(action) in _ONCE_PER_NAME:
            notes.everywhere.add(action)
            self.done_everywhere.add(action)

    def is_untried(self, room: int, action: str) -> bool:
        if opens_a_menu(action):
            return False
        if self.record.is_refused(action):
            return False
        is_exit = action in self.graph.connections.of(room) and not self.graph.is_pruned(room, action)
        return not is_exit and action not in self.done_everywhere

    @property
    def last(self) -> ExperienceRow | None:
        """The last turn. None at the start of the episode, or if it answered a question."""
        rows = self.past.experience.rows
        return rows[-1] if rows and not rows[-1].shows(ActionResult.ANSWERED) else None

    @cached_property
    def record(self) -> CommandRecord:
        """The results of commands in all episodes."""
        return CommandRecord(self.past, self.language)

    @property
    def words(self) -> tuple[str, ...]:
        """The words in quotation marks in all remembered texts."""
        return tuple(dict.fromkeys(word for place in self.places.values() for word in place.words))

    def is_barred(self, room: int) -> bool:
        """Return whether an exit from this place was refused with a unique reason."""
        refusals = self.place(room).all_refusals
        reasons = {said for way, said in refusals.items() if canonical_direction(way)}
        elsewhere = (notes for other, notes in self.places.items() if other != room)
        return bool(reasons.difference(*(notes.all_refusals.values() for notes in elsewhere)))

    def shuffled(self, offers: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates, shuffled by the seed."""
        return sorted(offers, key=lambda offer: blake2b(f"{self.seed} {offer.action}".encode()).digest())

    def closed(self) -> frozenset[DangerousSpot]:
        """Return the exits and rooms that must not be entered now."""
        for room in self.graph.rooms:
            self.place(room)
        return dangers.closed(self.graph, self.places, self.notes, self.plan)

    def _first_notes(self, room: int) -> PlaceNotes:
        notes = PlaceNotes(tries=TriesHere(room, self.past))
        if room in self.graph.rooms:
            # For a place that was seen in an earlier episode, the map knows which exits are untried.
            exits = exit_candidates(self.nouns, self.graph.rooms[room].exits)
            left = self.past.left.get(room)
            offers = chain([left] if left else [], exits)
            notes.offer_more(self.shuffled(each for each in offers if self.is_untried(room, each.action)))
        notes.learn(self.recall(room))
        for action, outcome in notes.remembered.items():
            if outcome is ActionOutcome.SCORES and action.startswith("take "):
                self.notes.valued.add(action.removeprefix("take "))
        useless = (action for action, outcome in notes.remembered.items() if outcome is ActionOutcome.FAILS)
        for action in (*notes.failed_before, *useless):
            if action.startswith(_FAILS_EVERYWHERE):
                notes.everywhere.add(action)
                self.done_everywhere.add(action)
        return notes


@dataclass(frozen=True)
class TurnView:
    """One turn: what the player is told, the Z-machine's ground truth about it, and the episode so far."""

    context: PlayerContext
    episode: Episode
    here: int
    """The number of the location."""
    language: Language | None
    """The story's grammar; None if unknown or unused."""
    scene: Scene | None
    """The things in scope with their attributes; None if unknown or unused."""
    checks: bool
    """Whether actions are checked by the grammar and the scene before they are taken."""

    @property
    def graph(self) -> MapGraph:
        return self.episode.graph

    @property
    def notes(self) -> EpisodeNotes:
        return self.episode.notes

    @property
    def place(self) -> PlaceNotes:
        return self.episode.place(self.here)

    @property
    def text(self) -> str:
        """The description of the place, if it is known, and the last response."""
        return "\n".join(filter(None, (self.context.room_description, self.context.response)))

    @property
    def is_dark(self) -> bool:
        """Whether it is too dark to see."""
        return self.context.observation.dark or is_dark(self.context.response)

    def names(self, items: Iterable[Item] | None) -> list[str]:
        """Return the names of things, as the parser accepts them."""
        return [name for item in items or () if (name := self.episode.nouns.name(item))]

    def attributes(self, item: Item) -> Mapping[str, bool]:
        """Return the attributes of a thing whose meaning in this story is known."""
        return self.scene.attributes.get(item.num, {}) if self.scene else {}

    def is_valid(self, action: str) -> bool:
        """Return whether the story would understand an action here."""
        if opens_a_menu(action):
            return False
        answering = "?" in self.context.response
        return not self.checks or check_action(action, self.language, self.scene, answering=answering).valid

    @property
    def postponed(self) -> frozenset[tuple[int, str]]:
        """The place and action that would win, as long as points are missing and turns are left to look for them."""
        score, most = self.context.observation.score, self.context.max_score
        left = self.context.max_turns - self.context.turn
        deadline, moves = self.episode.past.deadline, self.context.observation.moves
        if deadline is not None and moves is not None and moves < deadline:
            # The last command before the deadline ends one move earlier.
            left = min(left, deadline - moves - 2)
        # No route is longer than the number of rooms.
        turns = left - len(self.graph.rooms)
        if score is None or most is None or turns <= 0:
            return frozenset()
        steps = self.episode.plan.steps
        return frozenset((step.place, step.action) for step in steps if step.wins and score + step.gain < most)

    def mark_done(self, action: str) -> None:
        """Record that an action is taken here."""
        self.episode.mark_done(self.here, action)

    def open_exits(self) -> list[str]:
        """Return the exits that may be taken from here."""
        shut = self.episode.closed()
        exits = self.graph.exits(self.here).items()
        return [way for way, to in exits if (self.here, way) not in shut and to not in shut]

    def unblock(self) -> None:
        """Allow another try of the failed exits from here."""
        self.notes.blocked = {exit for exit in self.notes.blocked if exit[0] != self.here}
