"""A player without a language model: it records what it tried where, and goes where something is left to try.

Its rules are the same for every game. It scores far below a model that reads; its purpose is to run, test and measure
everything else without one.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, Protocol

from game_interface.models import Item, Language, Observation, Scene
from zorkgpt.action_check import check_action
from zorkgpt.memory.retrieval import Recall
from zorkgpt.offline import dangers
from zorkgpt.offline.advice import opens_a_menu
from zorkgpt.offline.candidates import COST, STEEP, Candidate, Nouns, Tier, candidates, exit_candidates
from zorkgpt.offline.experience import Experience
from zorkgpt.offline.grammar_tries import commands, meant_commands
from zorkgpt.offline.immediate_actions import (
    is_stuck_aboard,
    is_threatened,
    item_to_drop,
    names_of_held,
    next_blow,
    update_after_last_turn,
    weapon_in_sight,
)
from zorkgpt.offline.outcomes import ActionOutcome
from zorkgpt.offline.phrases import is_dark, is_laden
from zorkgpt.offline.questions import answers_to
from zorkgpt.offline.scoring_plan import ScoringPlan, ScoringStep
from zorkgpt.offline.state import DEADLY, ExplorerState, LastTurn, PlaceNotes
from zorkgpt.offline.surroundings import holders, suggestions
from zorkgpt.player import AgentDecision, PlayerContext
from zorkgpt.text import normalized_action
from zorkgpt.world.directions import canonical_direction, directions_in, exit_name
from zorkgpt.world.graph import DangerousSpot, MapGraph

Experiences = Callable[[], Experience]
"""Returns what earlier episodes tell."""

_SOMEWHERE = 0
"""Stands for wherever the player is in a story that does not tell; no object has this number."""
_PUT_COST = 1.0
"""The cost of putting a thing that was worth points into something that may be its place."""
_PROVEN_COST = -10.0
"""The cost of putting it where other things have scored: it is worth so many steps."""
_DANGER_COSTS = ((0, 0.0), (2, 15.0), (sys.maxsize, 40.0))
"""The most deaths at a place or on the way to it, and the steps that they add to its distance."""
_DANGER_COST = _DANGER_COSTS[-1][1]
_DEADLY_EXIT_COST = 20.0
"""The cost for each death by an exit, which may lead somewhere all the same."""
_KNOWN_STEP_COST = 0.25
"""The cost of a step after the first episode: what is worth trying near the beginning has been tried by then."""
_FETCH_COST = 0.0
"""The cost of fetching a tool that was laid down so that an exit could be passed."""
_MAX_RELIT = 3
"""How often at one place a light that has gone out is switched on again."""
_MAX_OPENED = 3
"""How often in an episode the same action is repeated to open an exit once more."""
_MAX_UNBLOCKED = 3
"""How often in an episode the exits that were closed are tried once more because nothing else is left."""
_MAX_GRAMMAR = 6
"""The most commands of the story's grammar that a place offers at a time."""
_MAY_OPEN_AN_EXIT = ("open ", "push ", "pull ", "turn ", "unlock ")
"""Actions that may open an exit."""
_FAILS_EVERYWHERE = ("turn on ", "read ", "examine ")
"""Actions that fail with a carried thing in every place if they fail in one."""
_ONCE_PER_NAME = (Tier.INSPECT, Tier.HANDLE, Tier.LIGHT, Tier.COMBINE, Tier.ADVICE)
"""Kinds of actions that are not tried again in other places with things of the same name."""


class Senses(Protocol):
    """The Z-machine's ground truth about words and about the things at hand."""

    @property
    def language(self) -> Language | None: ...

    def scene(self) -> Scene | None: ...


class OfflineExplorer:
    """A `Player` that follows game-independent rules.

    Args:
        graph: the map, kept up to date by the turn loop.
        recall: returns the memories of a place; None: only this episode's experience is used.
        senses: rules out actions by the story's own grammar and objects; None: nothing is ruled out.
        experience: called once an episode; what scored takes priority over exploration, and what was tried comes last.
        seed: decides the order of equally promising actions, so that runs with other seeds are different games.
    """

    def __init__(
        self,
        graph: MapGraph,
        recall: Recall | None = None,
        senses: Senses | None = None,
        experience: Experiences = Experience,
        seed: int = 1,
    ) -> None:
        self._graph = graph
        self._seed = seed
        self._experiences = experience
        self._recall = recall or (lambda location_id: ())
        self._senses = senses
        self._nouns = Nouns()
        self._has_vocabulary = False
        self._reset()

    def _reset(self) -> None:
        self._state = ExplorerState()
        self._plan = ScoringPlan()
        self._has_plan = False
        self._told: Experience | None = None
        self._holders_before: dict[int, set[str]] = {}
        self._notes: dict[int, PlaceNotes] = {}
        self._blocked: set[tuple[int, str]] = set()
        self._done_everywhere: set[str] = set()
        self._touched: set[int] = set()
        self._newly_done: list[str] = []
        self._scene_of: tuple[int, Scene | None] = (0, None)
        self._deadly_walks: Counter[str] = Counter()
        self._deadly_exits: dict[int, dict[str, int]] = {}

    def _begin_episode(self) -> None:
        self._reset()
        for room in self._graph.rooms:
            self._notes_of(room)

    # Checkpoints

    def changed_notes(self) -> dict[str, Any]:
        changed = {
            "mind": self._state.to_dict(),
            "blocked": sorted(self._blocked),
            "done_everywhere": self._newly_done,
            "plan": self._plan.changes() if self._has_plan else None,
            "places": {str(room): self._notes[room].to_dict() for room in sorted(self._touched)},
        }
        self._touched, self._newly_done = set(), []
        return changed

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        self._reset()
        for changed in notes:
            self._state = ExplorerState.from_dict(changed["mind"])
            self._blocked = {(room, way) for room, way in changed["blocked"]}
            self._done_everywhere.update(changed["done_everywhere"])
            if changed["plan"] is not None:
                self._has_plan = True
                self._plan.apply_changes(changed["plan"])
            self._notes.update((int(room), PlaceNotes.from_dict(each)) for room, each in changed["places"].items())
        for noted in self._notes.values():
            noted.barren_places = self._experience.barren_places

    # Playing

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        here = self._observe(context)
        decision = self._answer(context.observation.question) or self._decide(here, context)
        self._state.proposed = normalized_action(decision.action)
        return decision

    def _decide(self, here: int, context: PlayerContext) -> AgentDecision:
        feared = self._closed() | dangers.dangerous_rooms(self._graph, self._plan)
        decision = (
            self._draw_other_luck(context)
            or self._immediate_action(here, context)
            or self._choose(here, context, worth=0)
            or self._follow_plan(here, context, feared, at_any_price=False)
            or self._choose(here, context, worth=_DANGER_COST)
            or self._follow_plan(here, context, self._closed())
            or self._choose(here, context)
            or self._retry(here, context)
            or self._wander(here, context)
        )
        self._remember(here, decision.action, context)
        return decision

    def _draw_other_luck(self, context: PlayerContext) -> AgentDecision | None:
        """Let a turn pass where an earlier episode, the same up to here, went to its death: so would this one."""
        state, deaths = self._state, self._experience.deaths
        # Not every story knows the word, and not every critic lets it pass.
        if context.refused is not None or not any(
            len(deaths[each]) == state.commands for each in state.repeats if each in deaths
        ):
            return None
        return AgentDecision("wait", "With the same commands, an earlier episode went from here to its death.")

    def look_on(self, context: PlayerContext, action: str) -> None:
        """Note the action of another player, which plays this turn."""
        here = self._observe(context)
        self._state.proposed = normalized_action(action)
        if context.observation.question is not None:
            self._state.last = None
            return
        self._mark_done(here, normalized_action(action))
        self._remember(here, action, context)

    def _answer(self, question: str | None) -> AgentDecision | None:
        """Return the next answer to the story's question; None if there is none, or none is left to give."""
        if question is None:
            self._state.answered.clear()
            return None
        self._state.last = self._state.walking = None
        given, answers = self._state.answered.get(question, 0), answers_to(question)
        if given >= len(answers):
            return None
        self._state.answered[question] = given + 1
        return AgentDecision(answers[given], "The game asks something instead of awaiting a command.")

    def _remember(self, here: int, action: str, context: PlayerContext) -> None:
        now = context.observation
        if now.question is not None:
            return
        self._state.last = LastTurn(here, normalized_action(action), now.score, now.vehicle is not None)

    @property
    def _experience(self) -> Experience:
        """What the episodes before this one tell."""
        if self._told is None:
            self._told = self._experiences()
            self._holders_before = self._told.holders
        return self._told

    # Observing

    def _observe(self, context: PlayerContext) -> int:
        """Update state and notes from a turn's context; return the number of the place."""
        if context.turn <= self._state.turn and context.refused is None:
            self._begin_episode()
        if not self._has_plan:
            self._plan, self._has_plan = ScoringPlan(self._experience.steps), True
        same_turn = context.turn == self._state.turn
        if not same_turn:
            self._compare_with_deaths()
        self._state.turn = context.turn
        where = context.observation.location
        here = where.num if where else _SOMEWHERE
        if context.observation.question is not None:
            return here
        if not self._has_vocabulary:
            self._has_vocabulary = True
            self._nouns = Nouns(frozenset(context.vocabulary), self._senses.language if self._senses else None)
        if not same_turn:
            self._update_after_last_turn(here, context)
        self._update_notes(here, context)
        return here

    def _compare_with_deaths(self) -> None:
        """Note in which earlier episodes that ended in a death the commands were the same so far."""
        state, deaths = self._state, self._experience.deaths
        if state.proposed is None:
            state.repeats = sorted(deaths)
            return
        at, same = state.commands, (state.proposed,)
        state.repeats = [each for each in state.repeats if deaths.get(each, ())[at : at + 1] == same]
        state.commands += 1

    def _update_after_last_turn(self, here: int, context: PlayerContext) -> None:
        held = names_of_held(context.observation, self._nouns)
        update_after_last_turn(self._state, here, context, held)
        last = self._state.last
        if last is None:
            return
        self._notes_of(last.place).walked[exit_name(last.action)] += 1
        self._touched.add(last.place)
        failed = here == last.place and last.action in map(normalized_action, context.failed_here)
        if here == last.place:
            notes = self._notes_of(here)
            if failed:
                notes.refusals[last.action] = context.response
            (notes.in_vain.add if failed else notes.in_vain.discard)(last.action)
        self._plan.note(last.place, exit_name(last.action), failed=failed, changed=bool(context.changed))

    def _update_notes(self, here: int, context: PlayerContext) -> None:
        """Update the notes of this place."""
        if self._state.walking and self._state.walking[0] == here:
            self._blocked.add(self._state.walking)
            self._find_opener(here, self._state.walking[1], context.response)
        self._state.walking = None
        if self._state.last is None or self._state.last.place != here:
            self._state.left_behind = []
        notes = self._notes_of(here)
        self._touched.add(here)
        notes.learn(self._recall(here))
        if context.changed:
            named = (self._nouns.name(item) or "" for item in context.changed)
            action = self._state.last.action if self._state.last else ""
            # An action that is known to have opened no exit need not be tested again.
            clears = action.startswith(_MAY_OPEN_AN_EXIT)
            ways = [way for way in STEEP if clears and not self._graph.has_failed_after(here, way, action)]
            notes.reopen(chain.from_iterable(noun.split() for noun in named), ways=ways)
            # What holds an exit may be far away from it.
            self._blocked = set() if clears else {way for way in self._blocked if way[0] != here}
        self._note_surroundings(here, notes, context)

    def _find_opener(self, here: int, way: str, response: str) -> None:
        """Note what has opened an exit before that is closed now, by the map or by what the response names."""
        opens = (*self._graph.opened_by.get(here, {}).get(way, ()), *self._notes_of(here).openers(response))
        repeated, held = self._state.openings, self._state.held
        # What to lay down where too much is carried is decided by what is carried now.
        droppable = () if is_laden(response) else held
        can_do = (one for one in opens if not one.startswith("drop ") or one.removeprefix("drop ") in droppable)
        # What had no effect this time has done its part: something else is closed.
        useful = (action for action in can_do if action not in self._notes_of(here).in_vain)
        left = (action for action in useful if repeated.get(action, 0) < _MAX_OPENED)
        opener = min(left, key=lambda action: repeated.get(action, 0), default=None)
        if opener is not None:
            self._state.opener, repeated[opener] = opener, repeated.get(opener, 0) + 1

    def _note_surroundings(self, here: int, notes: PlaceNotes, context: PlayerContext) -> None:
        """Note what is at this place, and which actions can be tried."""
        now, scene, last = context.observation, self._scene(), self._state.last
        text = "\n".join(filter(None, (context.room_description, context.response)))
        if last is None or canonical_direction(last.action) or last.place != here:
            seen = (*(now.visible or ()), *(now.carried or ()))
            notes.mentioned |= dict.fromkeys(self._nouns.mentioned(text, scene, seen))
        self._state.held = names_of_held(now, self._nouns)
        self._state.note_tools(here, [self._nouns.name(item) for item in now.visible or ()])
        if now.dark or is_dark(context.response):
            notes.dark = True
            if self._state.lamp is not None and notes.reopened[again := f"turn on {self._state.lamp}"] < _MAX_RELIT:
                notes.unmark(again, reopened=True)
            self._state.lamp = None
            self._state.in_the_dark = here
        elif self._state.in_the_dark != here:
            self._state.in_the_dark = None
        self._state.holders[here] = list(holders(now, scene, self._nouns))
        room, name = self._graph.rooms.get(here), now.location_name
        told = directions_in(text.replace(name, ""))
        is_bare = context.room_description is not None and not told
        named = {*(room.exits if room else ()), *told}
        named |= {"up", "down"}.intersection(text.lower().split())
        traits = scene.attributes if scene else None
        offers = candidates(
            now,
            self._nouns,
            named=None if is_bare else named,
            mentioned=notes.mentioned,
            locked=notes.locked,
            traits=traits,
        )
        language = self._senses.language if self._senses else None
        notes.advice |= dict.fromkeys(suggestions(context, language, scene))
        advice = (Candidate(Tier.ADVICE, action) for action in notes.advice)
        meant = (Candidate(Tier.MEANT, action) for action in self._meant(now, language))
        at_hand = chain(notes.mentioned, filter(None, map(self._nouns.name, now.visible or ())))
        barring = (Candidate(Tier.OPEN, f"open {noun}") for noun in at_hand if notes.bars_an_exit(noun))
        untried = (one for one in chain(advice, barring, offers, meant) if self._is_untried(here, one.action))
        notes.offer(self._shuffled(one for one in untried if self._is_valid(one.action, context)))
        if next(notes.untried, None) is None and not now.dark:
            notes.offer_more(self._by_grammar(here, notes, now, language))
        self._give_up_target(here, notes)
        carried = tuple(f" {noun}" for item in now.carried or () if (noun := self._nouns.name(item)))
        notes.portable = frozenset(action for action in notes.offered if action.endswith(carried))

    def _give_up_target(self, here: int, notes: PlaceNotes) -> None:
        """Forget what the player came here for, unless a memory tells of it; if it can't be tried, as done."""
        if self._state.target is not None and self._state.target[0] == here:
            action = self._state.target[1]
            if action in notes.remembered and action not in notes.done:
                return
            tools = (f"take {thing}" for thing, place in self._state.laid_down.items() if place == here)
            offered = {
                *(offered for _, offered in notes.left),
                *tools,
                *dangers.deadly_exits(self._graph).get(here, ()),
            }
            if not action.startswith("put ") and action not in offered:
                notes.mark(action)
            self._state.target = None

    def _by_grammar(
        self, here: int, notes: PlaceNotes, now: Observation, language: Language | None
    ) -> Iterable[Candidate]:
        """Yield a few untried commands of the story's own grammar for what is at hand."""
        seen, held = self._traits(now.visible), self._traits(now.inventory)
        at_hand = [name for name in dict.fromkeys((*seen, *notes.mentioned)) if name not in self._state.held]
        made = commands(language, at_hand, list(held), self._experience.promise, seen | held) if language else ()
        fresh = (one for one in made if self._is_untried(here, one) and notes.is_fresh(one))
        accepted = (one for one in fresh if check_action(one, language, self._scene()).valid)
        return (Candidate(Tier.GRAMMAR, one) for one in islice(accepted, _MAX_GRAMMAR))

    def _meant(self, now: Observation, language: Language | None) -> Iterable[str]:
        """Return commands of the story's own grammar that use what is held on what it is meant for."""
        if language is None or not now.inventory:
            return ()
        return meant_commands(language, self._traits(now.visible), self._traits(now.inventory))

    def _traits(self, items: Iterable[Item] | None) -> dict[str, frozenset[int]]:
        """Return name → its attributes, of things to try something with: what has proved good is spared."""
        scene = self._scene()
        if scene is None:
            return {}
        named = {name: item.num for item in items or () if (name := self._nouns.name(item))}
        spared = self._state.useful | self._state.valued
        told = {name: scene.attributes.get(number, {}) for name, number in named.items() if name not in spared}
        usual = (name for name, has in told.items() if not (has.get("animate") or has.get("light")))
        return {name: scene.set_attributes.get(named[name], frozenset()) for name in usual}

    def _shuffled(self, offers: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates in the order of this seed."""
        return sorted(offers, key=lambda one: blake2b(f"{self._seed} {one.action}".encode()).digest())

    def _is_untried(self, room: int, action: str) -> bool:
        if opens_a_menu(action):
            return False
        return action not in self._graph.exits(room) and action not in self._done_everywhere

    def _scene(self) -> Scene | None:
        """Return the scene of this turn."""
        if self._senses is not None and self._scene_of[0] != self._state.turn:
            self._scene_of = self._state.turn, self._senses.scene()
        return self._scene_of[1]

    def left_to_try(self) -> dict[int, tuple[str, ...]]:
        """Return place → the cheapest action that nobody has tried there and its kind; () if none is left."""
        left: dict[int, tuple[str, ...]] = {}
        for room in self._graph.rooms:
            notes = self._notes_of(room)
            if not notes.visited and room not in self._experience.left:
                continue
            untried = min(notes.untried, key=lambda one: COST[one[0]], default=None)
            left[room] = (untried[1], untried[0].name) if untried else ()
        return left

    # Choosing

    def _immediate_action(self, here: int, context: PlayerContext) -> AgentDecision | None:
        """Return an action that takes priority over exploration."""
        state, scene = self._state, self._scene()
        fought = self._notes_of(here).barren
        fatal = [action for action, came in self._notes_of(here).remembered.items() if came is ActionOutcome.KILLS]
        lost = dangers.lost_fights(self._graph, here, fought, self._experience.episodes, fatal)
        if strike := next_blow(state, context, self._nouns, scene, lost):
            return AgentDecision(strike, "Somebody here means harm, and there is something to fight with.")
        weapon = weapon_in_sight(context, self._nouns, scene)
        if weapon and weapon not in state.left_behind and self._is_new(here, f"take {weapon}"):
            self._mark_done(here, f"take {weapon}")
            return AgentDecision(f"take {weapon}", "Somebody may mean harm some day.")
        if is_threatened(state, context, self._nouns, scene, lost) and (ways := self._open_ways(here)):
            way = self._way_on(here) or (state.way_back if state.way_back in ways else ways[state.turn % len(ways)])
            state.walking = here, way
            state.fled_from.setdefault(here, []).append(state.turn)
            return AgentDecision(way, "Somebody here means harm, and is better not fought.")
        if (light := self._light_in_sight(context)) is not None:
            return AgentDecision(f"take {light}", "It has given light, and lies here.")
        if state.opener is not None:
            action, state.opener = state.opener, None
            self._blocked = {one for one in self._blocked if one[0] != here}
            self._mark_done(here, action)
            if action.startswith("drop "):
                self._lay_down(here, action.removeprefix("drop "), is_tool=True)
            if self._is_valid(action, context):
                return AgentDecision(action, "An exit is closed that this has opened before.")
        if state.take_back is not None:
            return AgentDecision(f"take {state.take_back}", "It was not worth anything there.")
        if state.last is not None and is_stuck_aboard(state, here, context):
            self._blocked = {one for one in self._blocked if one[0] != here}
            self._notes_of(here).unmark(state.last.action)
            return AgentDecision("out", "This vehicle does not go there: out of it.")
        if state.wanted is not None and (useless := item_to_drop(state, context, self._nouns, scene)):
            state.openings[f"drop {useless}"] = state.openings.get(f"drop {useless}", 0) + 1
            self._lay_down(here, useless, is_tool=useless in self._tools(context) | state.valued)
            self._blocked.discard((here, exit_name(state.wanted)))
            self._notes_of(here).unmark(state.wanted, reopened=True)
            state.target = here, state.wanted
            return AgentDecision(f"drop {useless}", "Too much is carried, and this was good for nothing yet.")
        shuns = state.in_the_dark == here and not state.lit and not state.dares_dark
        return self._leave_the_dark(here, context) if shuns else None

    def _way_on(self, here: int) -> str | None:
        """Return an exit that nobody has tried, for who flees; None if there is none, or one was tried last."""
        if self._state.last is not None and self._state.last.place == here:
            return None
        notes = self._notes_of(here)
        way = next((action for _, action in notes.left if notes.offered.get(action) is Tier.NAMED_EXIT), None)
        if way is not None:
            self._mark_done(here, way)
        return way

    def _light_in_sight(self, context: PlayerContext) -> str | None:
        """Return a thing that has given light and lies here, as after a death."""
        state, names = self._state, map(self._nouns.name, context.observation.visible or ())
        lost = (name for name in names if name and name in state.useful and name not in state.held)
        light = next((name for name in lost if state.openings.get(f"take {name}", 0) < _MAX_OPENED), None)
        if light is not None:
            state.openings[f"take {light}"] = state.openings.get(f"take {light}", 0) + 1
        return light

    def _tools(self, context: PlayerContext) -> set[str]:
        scene = self._scene()
        told = scene.attributes if scene else {}
        held = ((item, told.get(item.num, {})) for item in context.observation.inventory or ())
        return {name for item, has in held if has.get("weapon") and (name := self._nouns.name(item))}

    def _lay_down(self, here: int, thing: str, *, is_tool: bool) -> None:
        """Note that a thing is dropped: a tool until the player comes here again, anything else for good."""
        if is_tool:
            self._state.left_behind.append(thing)
            self._state.laid_down[thing] = here
        else:
            self._state.given_up.add(thing)

    def _is_new(self, here: int, action: str) -> bool:
        notes = self._notes_of(here)
        return not (action in notes.done or action in notes.refusals or action in notes.failed_before)

    def _leave_the_dark(self, here: int, context: PlayerContext) -> AgentDecision | None:
        notes = self._notes_of(here)
        for noun in self._state.held:
            action = f"turn on {noun}"
            worth_it = action in notes.offered or noun in self._state.useful
            if worth_it and action not in notes.done and self._is_valid(action, context):
                self._mark_done(here, action)
                return AgentDecision(action, "It is dark here.")
        for way in self._open_ways(here):
            return AgentDecision(way, "It is dark here, and nothing gives light: to where it is not.")
        back = self._state.way_back
        if back and back not in notes.done and back not in notes.refusals:
            notes.mark(back)
            return AgentDecision(back, "It is dark here, and nothing gives light: back.")
        return None

    def _follow_plan(
        self, here: int, context: PlayerContext, shut: frozenset[DangerousSpot], *, at_any_price: bool = True
    ) -> AgentDecision | None:
        """Return the next step of the plan that can be done now, or the next move towards it."""
        routes = self._graph.routes(here, dangers=shut)
        held = frozenset(item.name for item in context.observation.inventory or ())
        while found := self._plan.next(
            here, held, routes, lambda step: self._is_safe(step, shut), at_any_price=at_any_price
        ):
            step, route = found
            scored = f"{step.action!r} scored {step.gain}" if step.gain else f"{step.action!r} led to points"
            if route:
                self._state.walking = (here, route[0])
                name = self._graph.rooms[step.place].name
                return AgentDecision(route[0], f"On the way to {name}, where {scored} in an earlier episode.")
            self._mark_done(here, step.action)
            if self._is_valid(step.action, context):
                return AgentDecision(step.action, f"In an earlier episode {scored} here.")
            self._plan.note(here, step.action, failed=True)
        return None

    def _is_safe(self, step: ScoringStep, shut: frozenset[DangerousSpot]) -> bool:
        return (step.place, step.action) not in shut and self._graph.leads_to(step.place, step.action) not in shut

    def _choose(self, here: int, context: PlayerContext, worth: float | None = None) -> AgentDecision | None:
        """Return the cheapest action left to try, including the walk; None if there is none below `worth`."""
        while best := self._best(here):
            cost, action, room, route = best
            if worth is not None and cost >= worth:
                return None
            notes = self._notes_of(room)
            if route:
                self._state.walking, self._state.target = (here, route[0]), (room, action)
                name = self._graph.rooms[room].name if room in self._graph.rooms else str(room)
                return AgentDecision(route[0], f"On the way to {name}, where {action!r} is left to try.")
            self._mark_done(here, action)
            # Where a memory has led the player, the story itself may say that it no longer holds.
            if self._is_valid(action, context) or (self._state.target == (here, action) and action in notes.remembered):
                return AgentDecision(action, self._reason(notes, action))
        return None

    def _best(self, here: int) -> tuple[float, str, int, list[str]] | None:
        """Return the cheapest action left to try as (cost, action, place, route), in the nearest place of several."""
        self._deadly_walks = dangers.deadly_walks(self._graph)
        self._deadly_exits = dangers.deadly_exits(self._graph)
        best = self._cheaper(here, [], None)
        step = self._step_cost
        least = _PROVEN_COST if self._holders_before and self._state.valued.intersection(self._state.held) else 0
        # Nothing elsewhere is cheaper than a single step, as a rule.
        if best is None or best[0] > step + least:
            shut, reached = self._closed(), {here}
            for deaths, cost in _DANGER_COSTS:
                feared = dangers.dangerous_rooms(self._graph, self._plan, deaths)
                for room, route in self._graph.routes(here, dangers=shut | feared).items():
                    if room not in reached and (best is None or step * len(route) + cost + least < best[0]):
                        best = self._cheaper(room, route, best, cost)
                    reached.add(room)
        return best

    def _cheaper(
        self, room: int, route: list[str], best: tuple[float, str, int, list[str]] | None, more: float = 0
    ) -> tuple[float, str, int, list[str]] | None:
        walk = self._step_cost * len(route) + more
        for cost, action in self._options(room, elsewhere=bool(route)):
            cost += self._risk(room, action) + walk
            if best is None or cost < best[0]:
                best = cost, action, room, route
        return best

    @property
    def _step_cost(self) -> float:
        return _KNOWN_STEP_COST if self._experience.episodes else 1.0

    def _risk(self, room: int, action: str) -> float:
        """Return what the danger of an untried exit costs: places of one name are taken to be of a kind."""
        is_deadly = action in self._deadly_exits.get(room, {})
        if is_deadly or room not in self._graph.rooms or not canonical_direction(action):
            return 0
        deadly = self._deadly_walks[self._graph.rooms[room].name]
        return next(cost for most, cost in _DANGER_COSTS if deadly <= most)

    def _mark_done(self, here: int, action: str) -> None:
        notes = self._notes_of(here)
        notes.mark(action)
        self._touched.add(here)
        held = action.startswith("open ") and action.removeprefix("open ") in self._state.held
        if held or notes.offered.get(action) in _ONCE_PER_NAME:
            self._done_everywhere.add(action)
            self._newly_done.append(action)

    def _is_valid(self, action: str, context: PlayerContext) -> bool:
        if opens_a_menu(action):
            return False
        if self._senses is None:
            return True
        return check_action(action, self._senses.language, self._scene(), answering="?" in context.response).valid

    def _options(self, room: int, *, elsewhere: bool) -> Iterable[tuple[float, str]]:
        notes, state = self._notes_of(room), self._state
        in_vain = self._experience.refused.get(room, frozenset())
        idle = notes.portable | in_vain if elsewhere else {f"take {thing}" for thing in state.left_behind}
        idle = {*idle, *(f"take {thing}" for thing in state.given_up), *self._deadly_ways(room)}
        walked = {way for way in self._graph.exits(room) if notes.walked[way]}
        if not elsewhere and state.target and state.target[0] == room and state.target[1] in notes.remembered:
            # What a memory made the player come here for comes first: if it no longer holds, that will be known.
            yield 0.0, state.target[1]
        yield from islice((one for one in notes.left if one[1] not in idle | walked), 1)
        if not notes.visited and room not in self._experience.left:
            yield COST[Tier.HANDLE], "look around"
        yield from self._errands(room, elsewhere=elsewhere)

    def _errands(self, room: int, *, elsewhere: bool) -> Iterable[tuple[float, str]]:
        """Yield what can be done at a place for what was laid down, is carried, or is known from before."""
        notes, state = self._notes_of(room), self._state
        for thing, place in state.laid_down.items():
            fetch = f"take {thing}"
            # What had to be laid down again on the way back stays there.
            if place == room and fetch not in notes.done and (elsewhere or thing not in state.left_behind):
                yield _FETCH_COST, fetch
        # Where a death has been the end so far, none is risked twice.
        for way, times in self._deadly_ways(room).items() if self._experience.survives_death else ():
            if way not in notes.done and (state.lit or notes.remembered[way] is not ActionOutcome.KILLS_UNLIT):
                yield _DEADLY_EXIT_COST * times, way
        proven = self._holders_before.get(room, ())
        holders = state.holders.get(room) or sorted(proven)
        for noun in state.held if holders else ():
            for holder in holders:
                if noun in state.valued - state.useful and notes.is_fresh(action := f"put {noun} {holder}"):
                    # As long as no place is known to be the right one, any may be.
                    untold = COST[Tier.HANDLE] if self._holders_before else _PUT_COST
                    yield _PROVEN_COST if holder in proven else untold, action
        for thing in notes.locked if elsewhere else ():
            for noun in state.held:
                if notes.is_fresh(action := f"unlock {thing} with {noun}"):
                    yield COST[Tier.COMBINE] + notes.cost_of_repeating(action), action

    def _deadly_ways(self, room: int) -> dict[str, int]:
        """Return the exits by which nobody came out alive → deaths; not those where memory blames somebody else."""
        told = self._notes_of(room).remembered
        return {way: times for way, times in self._deadly_exits.get(room, {}).items() if told.get(way) in DEADLY}

    def _notes_of(self, room: int) -> PlaceNotes:
        if room not in self._notes:
            notes = self._notes[room] = PlaceNotes()
            self._touched.add(room)
            if room in self._graph.rooms:
                # For a place that was seen in an earlier episode, the map knows which exits are untried.
                ways = exit_candidates(self._nouns, self._graph.rooms[room].exits)
                left = self._experience.left.get(room)
                offers = chain(ways, [left] if left else [])
                notes.offer_beforehand(self._shuffled(each for each in offers if self._is_untried(room, each.action)))
            notes.barren = self._experience.barren_at(room)
            notes.barren_places = self._experience.barren_places
            notes.learn(self._recall(room))
            # Failures because of weight or darkness say nothing about another time.
            failed = self._graph.in_vain.get(room, {})
            otherwise = {action for action, said in failed.items() if is_laden(said) or is_dark(said)}
            notes.failed_before = {action: said for action, said in failed.items() if action not in otherwise}
            notes.barren = {action: times for action, times in notes.barren.items() if action not in otherwise}
            notes.known_before = frozenset(notes.remembered)
            for action, outcome in notes.remembered.items():
                if outcome is ActionOutcome.SCORES and action.startswith("take "):
                    self._state.valued.add(action.removeprefix("take "))
            useless = (action for action, outcome in notes.remembered.items() if outcome is ActionOutcome.FAILS)
            for action in (*notes.failed_before, *useless):
                if action.startswith(_FAILS_EVERYWHERE):
                    self._done_everywhere.add(action)
                    self._newly_done.append(action)
        return self._notes[room]

    def _closed(self) -> frozenset[DangerousSpot]:
        """Return the exits and rooms that must not be entered now."""
        for room in self._graph.rooms:
            self._notes_of(room)
        return dangers.closed(self._graph, self._notes, self._state, self._plan, self._blocked, self._notes_of)

    def _open_ways(self, here: int) -> list[str]:
        shut = self._closed()
        return [way for way, to in self._graph.exits(here).items() if (here, way) not in shut and to not in shut]

    def _retry(self, here: int, context: PlayerContext) -> AgentDecision | None:
        """Return an action that failed here when the world was in another state: nothing else is left to try."""
        failed = frozenset(map(normalized_action, context.failed_here))
        if self._notes_of(here).retry(failed):
            return self._choose(here, context)
        darkness = not self._state.lit and any(notes.dark for notes in self._notes.values())
        if darkness and not self._state.dares_dark:
            self._state.dares_dark = True
        elif self._blocked and self._state.unblocked < _MAX_UNBLOCKED:
            self._state.unblocked += 1
            self._blocked = set()
        else:
            return None
        return self._follow_plan(here, context, self._closed()) or self._choose(here, context)

    def _wander(self, here: int, context: PlayerContext) -> AgentDecision:
        """Return a move by the exit that was taken least in this episode, or a wait."""
        ways = self._open_ways(here)
        if not ways and here == _SOMEWHERE:
            failed = set(map(normalized_action, context.failed_here))
            ways = [way.action for way in exit_candidates(self._nouns, ()) if way.action not in failed]
        if ways:
            walked = self._notes_of(here).walked
            way = min(ways, key=lambda one: (walked[exit_name(one)], self._walks_before(here, one)))
            self._state.walking = (here, way)
            return AgentDecision(normalized_action(way), "Nothing is left to try; walking on by the least-taken way.")
        aboard = context.observation.vehicle is not None
        return AgentDecision("out" if aboard else "wait", "Nothing is left to try.")

    def _walks_before(self, here: int, way: str) -> int:
        """Return how often an exit was walked in all episodes."""
        connection = self._graph.connection(here, way)
        return connection.walks if connection else 0

    @staticmethod
    def _reason(notes: PlaceNotes, action: str) -> str:
        remembered = notes.remembered.get(action)
        if remembered is None:
            tier = notes.offered.get(action)
            kind = tier.name.lower().replace("_", " ") if tier is not None else "put away"
            return f"Not tried here yet ({kind})."
        if remembered in DEADLY:
            return "It was deadly before, and may lead on all the same."
        if action in notes.reopened:
            return "It failed before, but something about it has changed."
        return f"Memory says that it {remembered}."
