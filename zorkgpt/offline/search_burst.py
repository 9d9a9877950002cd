"""Play bursts of a search: the rules go on from a saved state."""

import json
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from game_interface.game import Game
from game_interface.models import Item, Transition
from session.game_state import GameState
from session.history import GameText, TurnRecord
from session.outcome import affected_objects, effective
from zorkgpt.explore.best_line import state_digest
from zorkgpt.explore.trail import Trail, TrailStep, observed_state, trail_of
from zorkgpt.memory.models import DIED, Category, Memory, MemoryKind
from zorkgpt.offline.dangers import deaths
from zorkgpt.offline.experience import GatheredTrails, Pair, memory_of
from zorkgpt.offline.explorer import OfflineExplorer
from zorkgpt.offline.extractor import RuleExtractor
from zorkgpt.offline.phrases import quoted_words
from zorkgpt.offline.scoring_plan import ScoringStep
from zorkgpt.offline.search_archive import SearchArchive, SearchCell, Way
from zorkgpt.player import PlayerContext
from zorkgpt.text import normalized_action
from zorkgpt.world.directions import exit_name
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.learning import MapLearner
from zorkgpt.world.progress import RecurrenceDetector

_PATIENCE = 40
"""A burst ends after so many commands in a row without a new state."""
_WINDOW = 1000
"""Commands within which an equal state of the world is noticed."""


@dataclass(frozen=True, slots=True)
class BurstStart:
    """Everything that a burst begins with."""

    number: int
    """The number of the burst. It varies the order of equally promising actions."""
    cell: int
    state: bytes
    """The saved state of the interpreter."""
    response: str
    notes: dict[str, Any]
    """The notes of the rules in this state; empty for the opening."""
    plan: tuple[ScoringStep, ...]
    """Everything that has scored, with its preparations."""
    taken: frozenset[Pair]
    """The actions that had an effect on the way to this state."""
    limit: int
    """The maximum number of commands."""
    commands: tuple[str, ...] | None = None
    """The commands to play; None to let the rules play."""


@dataclass(frozen=True, slots=True)
class Burst:
    """The results of a burst."""

    trail: Trail
    transitions: tuple[Transition, ...]
    cells: tuple[SearchCell, ...]
    """The new states, numbered from 1; the burst starts from 0. Their saved states and notes are not compressed."""


class BurstPlayer:
    """Plays bursts in one game, with the experience of all bursts so far.

    Args:
        graph: The map, which the bursts extend.
        archive: The search so far.
        digests: The digests of the states that were already reached. See `state_digest`.
    """

    def __init__(self, game: Game, graph: MapGraph, archive: SearchArchive, digests: set[str]) -> None:
        self._game, self._graph, self._seed = game, graph, archive.seed
        self._learner = MapLearner(graph)
        self._state = GameState(turn_count=archive.steps)
        self._rules = OfflineExplorer(graph)
        self._digests = set(digests)
        self._gathered = GatheredTrails(game.language)
        for trail in archive.trails:
            self._gathered.add(trail, is_whole=False)
        self._texts: dict[int, dict[str, Memory]] = {}
        """Place → response with words in quotation marks → its memory."""
        self._won: dict[Pair, int] = {}
        """The place and action of each victory → the score before it."""
        self._vocabulary = tuple(sorted(game.language.words)) if game.language else ()

    def play(self, start: BurstStart) -> Burst:
        """Let the rules go on from a state while that leads to new states, or play the given commands."""
        self._game.restore_state(start.state)
        began, response, changed = self._game.observe(), start.response, tuple[Item, ...]()
        self._rules = self._rules_at(start)
        self._arrive(response)
        given = iter(start.commands or ())
        played, cells = list[TurnRecord](), list[SearchCell]()
        way: Way = (0, ())
        shorts, recurrences = [way], RecurrenceDetector(_WINDOW, new_places_count=False)
        idle, best = 0, began.score or 0
        while len(played) < start.limit and (idle < _PATIENCE or start.commands is not None):
            context = self._context(response, changed)
            if start.commands is None:
                action = self._rules.get_action_with_reasoning(context).action
            elif action := next(given, ""):
                self._rules.look_on(context, action)
            else:
                break
            step, idle = self._game.act(action), idle + 1
            played.append(self._learned(step))
            if step.died or step.fault or step.refused or (step.finished and not step.victory):
                break
            now, response, changed = step.after, step.response, affected_objects(step)
            done = TrailStep(action, observed_state(now), now.location_name, effective(step))
            way = way[0], (*way[1], done)
            equal = recurrences.equal_turns(len(played), step)
            shorts.append(shorts[equal[0]] if equal else (shorts[-1][0], (*shorts[-1][1], done)))
            if (now.question is None or step.finished) and (digest := state_digest(now)) not in self._digests:
                self._digests.add(digest)
                cells.append(self._cell(way, shorts[-1], digest, step))
                way, idle = (len(cells), ()), 0
                shorts[-1] = way
            if step.finished:
                break
            if (now.score or 0) > best:
                # Repeating what has scored leads through known states.
                best, idle = now.score or 0, 0
        trail = trail_of(played, 0, self._seed, began.location_id, began.score or 0)
        self._gathered.add(trail, is_whole=False)
        return Burst(trail, tuple(record.transition for record in played), tuple(cells))

    def learn(self, burst: Burst) -> None:
        """Learn from a burst that another process has played."""
        for transition in burst.transitions:
            self._learned(transition)
        self._gathered.add(burst.trail, is_whole=False)
        self._digests.update(cell.digest for cell in burst.cells)

    def _recall(self, place: int) -> list[Memory]:
        """Return memories of the actions that had an effect or were deadly in bursts, and of quotations."""
        # A victory that was reached with as many points is avoided too, since it ends the burst.
        won = {pair for pair, score in self._won.items() if score >= (self._game.observe().score or 0)}
        ends = (action for room, action in {*deaths(self._graph), *won} if room == place)
        deadly = [memory_of(Category.DANGER, action, DIED) for action in sorted(ends)]
        return [*self._gathered.effects_at(place), *deadly, *self._texts.get(place, {}).values()]

    def _cell(self, way: Way, short: Way, digest: str, step: Transition) -> SearchCell:
        """Return the state after a command as a cell."""
        notes = self._rules.changed_notes()
        # This grows with every command, and is known from the trails.
        episode = {name: note for name, note in notes["episode"].items() if name != "record"}
        packed = json.dumps({"episode": episode, "places": notes["places"], "changes": notes["plan"]["changes"]})
        state = b"" if step.finished else self._game.save_state()
        return SearchCell(way, short, observed_state(step.after), digest, state, packed.encode(), step.response)

    def _rules_at(self, start: BurstStart) -> OfflineExplorer:
        """Return the rules with their notes of this state, and the experience of all bursts."""
        # A walk has its full cost, as in a first episode: the search can go on from a state at another place instead.
        experience = replace(self._gathered.experience(), episodes=0, steps=start.plan)
        seed = self._seed + start.number
        rules = OfflineExplorer(self._graph, self._recall, self._game, experience=lambda: experience, seed=seed)
        if start.notes:
            done = [number for number, step in enumerate(start.plan) if (step.place, step.action) in start.taken]
            progress = {"done": done, "changes": start.notes["changes"]}
            steps = TypeAdapter(tuple[ScoringStep, ...]).dump_python(start.plan, mode="json")
            rules.branch(start.notes | {"plan": progress, "steps": steps})
        return rules

    def _context(self, response: str, changed: tuple[Item, ...]) -> PlayerContext:
        now, state = self._game.observe(), self._state
        description, _ = state.room_description(now.location_id)
        return PlayerContext(
            now,
            response,
            room_description=description,
            turn=state.turn_count + 1,
            failed_here=state.failed_here(now),
            changed=changed,
            vocabulary=self._vocabulary,
        )

    def _arrive(self, response: str) -> None:
        """Learn from the place and the last response of a state that was restored."""
        now = self._game.observe()
        self._state.observe(now)
        if now.location is not None:
            read = RuleExtractor().extract(GameText(response, now.location, dark=bool(now.dark)))
            self._learner.add_place(now.location.num, now.location.name, read.exits)
            if read.is_room_description:
                self._state.describe_room(response, now.location.num)

    def _learned(self, step: Transition) -> TurnRecord:
        """Learn from a turn and return it."""
        state, now = self._state, step.after
        state.turn_count += 1
        if step.victory:
            self._won[step.before.location_id or 0, exit_name(normalized_action(step.action))] = step.before.score or 0
        if now.location_id is not None and quoted_words(step.response):
            memory = replace(memory_of(Category.NOTE, "", ""), text=step.response, kind=MemoryKind.TEXT)
            self._texts.setdefault(now.location_id, {})[step.response] = memory
        described, _ = state.room_description(now.location_id)
        text = GameText(step.response, now.location, step.action, dark=bool(now.dark), described=described or "")
        read = RuleExtractor().extract(text)
        self._learner.learn(step, read.exits)
        self._learner.record_success(step)
        record = TurnRecord(state.episode_id, state.turn_count, step, "", "search", "", extraction=read)
        state.record(record)
        return record
