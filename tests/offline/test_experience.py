"""Tests of what the rules player learns from earlier episodes, its own grammar tries and dangers."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from game_interface.models import GrammarLine, GrammarToken, Item, Language, Location, Observation, Scene, TokenKind
from session.experience import ActionResult
from tests.fixtures.rules import a_turn, an_episode
from tests.fixtures.trails import a_step, a_trail
from tests.fixtures.walks import walk
from zorkgpt.directions import DIRECTIONS
from zorkgpt.explore.trail import Trail
from zorkgpt.memory.models import Memory
from zorkgpt.offline.candidates import Candidate, Nouns, Tier
from zorkgpt.offline.command_record import CommandRecord
from zorkgpt.offline.dangers import closed, dangerous_rooms
from zorkgpt.offline.experience import PastEpisodes, past_episodes
from zorkgpt.offline.explorer import OfflineExplorer
from zorkgpt.offline.exploring import explore
from zorkgpt.offline.grammar_tries import analyzed, commands
from zorkgpt.offline.notes import EpisodeNotes, PlaceNotes, TriesHere
from zorkgpt.offline.observing import observe_place, observe_result
from zorkgpt.offline.offers import usual_verbs
from zorkgpt.offline.outcomes import ActionOutcome
from zorkgpt.offline.scoring_plan import ScoringPlan
from zorkgpt.player import AgentDecision, PlayerContext
from zorkgpt.record.experience import Experience, ExperienceRow
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move, MoveKind

HALL, LAMP = Location(1, "Hall"), Item(7, "brass lamp", 1)
NOW = Observation(HALL, (), (), (LAMP,), score=0, moves=0)
CONTEXT = PlayerContext(observation=NOW, response="Hall\nA door leads north.", turn=1, max_turns=50)

FIRST = a_trail(
    a_step("rub lamp > 1"),
    a_step("take gem > 1", held=("gem",), score=2, effective=True),
    a_step("put gem in case > 1", score=7, effective=True),
    replace(a_step("north > 2", score=7)),
)
SECOND = replace(
    a_trail(a_step("rub  Lamp > 1"), a_step("push wall > 1", effective=True), episode=2), left={2: ["dig", "HANDLE"]}
)


def experience_of(*trails: Trail) -> PastEpisodes:
    return past_episodes(Experience(rows_of(*trails)), trails)


def rows_of(*trails: Trail) -> Experience:
    experience = Experience()
    for trail in trails:
        for row in trail.rows:
            experience.add(row)
    return experience


def without_points(*tries: tuple[int, str], episodes: int = 1) -> Experience:
    """Return the experience before which these actions did not score at these places."""
    trails = (Trail(number, 1, tuple(tried(*each, episode=number) for each in tries)) for number in range(episodes))
    return Experience(rows_of(*trails))


def tried(place: int, action: str, outcome: int = 0, *, episode: int = 1, response: str = "") -> ExperienceRow:
    return ExperienceRow(episode, 1, place, action, outcome=outcome, response=response)


def test_failed_actions_are_counted_once_per_episode():
    experience = experience_of(FIRST, replace(SECOND, rows=(*SECOND.rows, *SECOND.rows)))
    assert experience.barren == {1: {"rub lamp": 2, "north": 1, "push wall": 1}}
    assert [step.action for step in experience.steps if step.gain] == ["take gem", "put gem in case"]
    assert experience.holders == {1: {"in case"}}


def test_untried_actions_come_from_the_latest_episode():
    third = replace(SECOND, episode=3, left={2: [], 4: ["blink", "NO SUCH KIND"]})
    assert experience_of(SECOND, FIRST).left == {2: Candidate(Tier.HANDLE, "dig")}
    assert experience_of(SECOND, third).left == {2: None, 4: None}
    assert experience_of(FIRST).left == {}


def a_map() -> MapGraph:
    graph = MapGraph()
    graph.add_room(2, "Yard")
    return walk(graph, "1 north 2", "2 south 1")


def test_untried_action_elsewhere_is_preferred_to_repeating_failures():
    barren = without_points(*((1, f"{verb} brass lamp") for verb in ("take", "open")), episodes=2)
    known = PastEpisodes(barren, left={1: None, 2: Candidate(Tier.GATHER, "take spade")})
    fresh = OfflineExplorer(a_map())
    experienced = OfflineExplorer(a_map(), past=lambda: known)
    assert fresh.get_action_with_reasoning(CONTEXT).action == "take brass lamp"
    decision = experienced.get_action_with_reasoning(CONTEXT)
    assert (decision.action, "take spade" in decision.reasoning) == ("north", True)


def test_untried_actions_exclude_carried_things():
    explorer = OfflineExplorer(a_map(), past=lambda: PastEpisodes(left={2: Candidate(Tier.GATHER, "take spade")}))
    explorer.get_action_with_reasoning(CONTEXT)
    carried = replace(NOW, inventory=(LAMP,), carried=(LAMP,), visible=())
    explorer.get_action_with_reasoning(replace(CONTEXT, observation=carried, turn=2))
    left = explorer.left_to_try()
    assert left[2] == ("take spade", "GATHER")
    assert "lamp" not in left[1][0]


def test_failed_action_is_given_up_even_if_a_memory_recommends_it():
    notes = EpisodeNotes(target=(1, "up"))
    place = PlaceNotes(remembered={"up": ActionOutcome.LEADS})
    turn = a_turn(replace(CONTEXT, failed_here=("up",)), an_episode(graph=a_map(), notes=notes, places={1: place}))
    decision = explore(turn)
    assert decision is None or decision.action != "up"
    assert "up" in place.done


def test_notes_survive_a_checkpoint():
    def explorer() -> OfflineExplorer:
        return OfflineExplorer(a_map(), past=lambda: experience_of(FIRST, SECOND))

    def played(player: OfflineExplorer, turns: range) -> list[AgentDecision]:
        yard = replace(CONTEXT, observation=replace(NOW, location=Location(2, "Yard")), response="Yard")
        contexts = (CONTEXT if turn < 20 else yard for turn in turns)
        return [
            player.get_action_with_reasoning(replace(context, turn=turn))
            for turn, context in zip(turns, contexts, strict=True)
        ]

    whole, notes = explorer(), []
    for turn in range(1, 15):
        played(whole, range(turn, turn + 1))
        notes.append(json.loads(json.dumps(whole.changed_notes())))
    resumed = explorer()
    resumed.resume(notes)
    assert resumed.left_to_try() == whole.left_to_try()
    assert played(resumed, range(15, 40)) == played(whole, range(15, 40))


# The story's own grammar

NOUN, HELD = GrammarToken(TokenKind.NOUN), GrammarToken(TokenKind.HELD)
WITH = GrammarToken(TokenKind.WORD, frozenset({"with", "using"}))
LANGUAGE = Language(
    word_length=9,
    words=frozenset(),
    verbs={
        "take": (GrammarLine((NOUN,), 1),),
        "get": (GrammarLine((NOUN,), 1),),
        "rub": (GrammarLine((NOUN,), 2),),
        "polish": (GrammarLine((NOUN,), 2),),
        "cut": (GrammarLine((NOUN, WITH, HELD), 3),),
        "pray": (GrammarLine((), 4),),
        "wave": (GrammarLine((HELD,), 5),),
        "say": (GrammarLine((GrammarToken(TokenKind.FREE),), 6),),
        "quit": (GrammarLine((), 7),),
        "die": (GrammarLine((), 7),),
    },
    names={},
    prepositions=frozenset({"using"}),
)


def test_one_verb_per_grammar_line_is_tried():
    tries = [each.command for each in commands(LANGUAGE, ["rope"], ["knife"], {}, ["xyzzy"])]
    assert tries == ["rub rope", "rub knife", "cut rope using knife", "pray", "wave knife", "say xyzzy"]


BURNS, FLAME = 11, 12
BURNING = replace(
    LANGUAGE,
    verbs={"burn": (GrammarLine((replace(NOUN, attribute=BURNS), WITH, replace(HELD, attribute=FLAME)), 8),)},
)
THINGS = {"paper": frozenset({BURNS}), "stone": frozenset[int]()}


def test_grammar_attributes_rank_fitting_things():
    torch = {"torch": frozenset({FLAME, 3})}
    # A thing with unknown attributes may fit.
    tries = [each.command for each in commands(BURNING, [*THINGS, "smoke"], ["torch", "spoon"], THINGS | torch)]
    fitting = ["burn paper using torch", "burn smoke using torch", "burn paper using spoon", "burn smoke using spoon"]
    assert sorted(tries) == sorted(fitting)


def test_verb_with_failures_becomes_less_likely():
    rub, cut = analyzed("rub stone", LANGUAGE), analyzed("cut stone using knife", LANGUAGE)
    assert (cut.pattern, cut.names) == ("cut _ using _", ("stone", "knife"))
    now = without_points(*((1, f"rub {name}") for name in ("rope", "table")))
    record = CommandRecord(PastEpisodes(now), LANGUAGE)
    earlier = record.promise(rub)
    now.add(tried(1, "rub wall"))
    now.add(tried(1, "wave knife", ActionResult.REFUSED))
    assert record.promise(rub) < earlier < 1 == CommandRecord(PastEpisodes(), LANGUAGE).promise(rub)
    assert record.promise(analyzed("cut stone", LANGUAGE)) == 1
    assert record.promise(analyzed("wave knife", LANGUAGE)) == 0


def test_action_that_failed_elsewhere_comes_later():
    known = PastEpisodes(without_points(*((place, "pull lever") for place in (4, 5, 6)), (4, "south")))
    assert known.barren_places == {"pull lever": 3}
    notes = PlaceNotes(tries=TriesHere(1, known))
    notes.offer([Candidate(Tier.FIDDLE, "pull lever"), Candidate(Tier.FIDDLE, "climb rope")])
    assert [action for _, action in notes.left] == ["climb rope", "pull lever"]


def test_grammar_tries_are_spread_over_places():
    notes = PlaceNotes()
    notes.offer(Candidate(Tier.GRAMMAR, verb) for verb in ("pray", "sing", "sneeze"))
    first = notes.left[0][0]
    notes.mark("pray")
    notes.mark("sing")
    assert notes.left == [(first + 2, "sneeze")]


def test_named_things_are_tried_by_their_attributes():
    words = frozenset({"take", "open", "read", "examine", "lid", "crack", "sky"})
    looks = (GrammarLine((NOUN,), 8),)
    verbs = {"take": LANGUAGE.verbs["take"], "open": (GrammarLine((NOUN,), 9),), "read": looks, "examine": looks}
    names = {"lid": frozenset({20}), "crack": frozenset({21}), "sky": frozenset({22})}
    language = Language(9, words, verbs, names)
    marks = {20: {"takeable": True, "openable": False}, 21: {"takeable": False, "openable": True}, 22: {}}
    scene = Scene(frozenset(), frozenset(), frozenset({20, 21}), frozenset({20, 21, 22}), attributes=marks)
    episode = an_episode()
    tries = episode.past.experience
    tries.add(ExperienceRow(1, 1, HALL.num, "examine box", reached=HALL.num))
    episode.nouns = Nouns(words, language)
    context = replace(CONTEXT, observation=replace(NOW, visible=()), response="A lid, a crack. Above it the sky.")
    observe_place(a_turn(context, episode, scene=scene, language=language), [usual_verbs])
    assert episode.place(HALL.num).offered == {
        "take lid": Tier.GATHER,
        "examine crack": Tier.INSPECT,
        "open crack": Tier.HANDLE,
    }
    # A command that the parser refuses takes no time.
    tries.add(ExperienceRow(1, 2, HALL.num, "open crack", outcome=ActionResult.REFUSED, reached=HALL.num))
    refused = replace(context, response="You can't see any such thing.", failed_here=("open crack",))
    observe_result(a_turn(refused, episode, scene=scene, language=language))
    assert list(episode.place(HALL.num).mentioned) == ["lid"]


def test_remembered_action_is_tried_first_at_its_place():
    dug = Memory("SUCCESS", "dig: works", 1, "1", 0, "A hole.", "permanent", action="dig")
    stuck = [Memory("FAILURE", way, 1, "1", 0, "A wall.", "permanent", action=way) for way in DIRECTIONS]
    senses = SimpleNamespace(language=LANGUAGE, scene=lambda: None)
    known = PastEpisodes(without_points((2, "dig")), left={1: None, 2: None})
    explorer = OfflineExplorer(a_map(), lambda place: [dug, *stuck] if place == 2 else stuck, senses, lambda: known)
    hall = replace(CONTEXT, observation=replace(NOW, visible=()))
    yard = replace(NOW, location=Location(2, "Yard"), visible=(Item(9, "bucket", 2),))
    there = replace(CONTEXT, observation=yard, turn=2, response="Yard")
    played = [explorer.get_action_with_reasoning(turn) for turn in (hall, there)]
    assert "'dig' is left to try" in played[0].reasoning
    assert [decision.action for decision in played] == ["north", "dig"]


# Dangers


def test_deadly_exit_is_closed_unless_it_was_also_walked():
    graph = a_map()
    for way in ("north", "west"):
        graph.add_move(Move(1, way, 1, MoveKind.DIED))
    shut = closed(graph, {}, EpisodeNotes(), ScoringPlan())
    assert shut == {(1, "west")}
    # The room beyond is dangerous only after a second death.
    assert dangerous_rooms(graph, ScoringPlan()) == set()
    graph.add_move(Move(1, "north", 1, MoveKind.DIED))
    assert dangerous_rooms(graph, ScoringPlan()) == {2}
    assert 2 not in dangerous_rooms(graph, ScoringPlan(), accepted=2)


@pytest.mark.parametrize(
    ("changes", "avoided"),
    [
        ({}, True),
        ({"tried": 2}, True),
        ({"tried": 3}, False),
        ({"tried": 4, "worked": 1}, False),
        ({"action": "wait"}, False),
        ({"outcome": "lost things"}, False),
        ({"outcome": "died at move 41"}, False),
        ({"outcome": ""}, False),
        ({"category": "NOTE"}, False),
    ],
)
def test_deadly_place_is_avoided_until_escaped_three_times(changes, avoided):
    danger = Memory("DANGER", "wolf: kills you", 1, "1", 0, "It bites.", "permanent", outcome="died")
    notes = PlaceNotes()
    notes.learn([danger])
    notes.learn([replace(danger, **changes)])
    shut = closed(MapGraph(), {2: notes}, EpisodeNotes(), ScoringPlan())
    assert (2 in shut) is avoided


@pytest.mark.parametrize("response", ["The trap door is closed.", "You can't, since the trap door is in the way."])
def test_remembered_opener_matches_what_is_closed(response):
    opening = Memory("SUCCESS", "Door", 1, "1", 0, "x", "permanent", action="open trap door", outcome="changed")
    notes = PlaceNotes()
    notes.learn([opening])
    assert list(notes.openers(response)) == ["open trap door"]
    assert list(notes.openers("The gate is closed.")) == []


def test_reopened_actions_have_a_fixed_order():
    actions = [f"{verb} oak door" for verb in ("push", "pull", "turn", "open", "kick", "climb", "read", "burn", "wave")]
    experience = Experience()
    for action in actions:
        experience.add(tried(1, action, ActionResult.FAILED, response="No."))
    place = PlaceNotes(tries=TriesHere(1, PastEpisodes(experience)), done=set(actions))
    place.reopen(["door"])
    assert list(place.reopened) == actions
