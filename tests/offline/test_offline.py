"""Tests of the explorer and the walkthrough player."""

from dataclasses import replace

import pytest

from game_interface.models import Item, Location, Observation
from session.experience import ActionResult
from zorkgpt.memory.models import Memory, ZMachineContext
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.offline.candidates import Nouns
from zorkgpt.offline.experience import PastEpisodes
from zorkgpt.offline.explorer import OfflineExplorer
from zorkgpt.offline.notes import PlaceNotes, TriesHere
from zorkgpt.offline.walkthrough import WalkthroughPlayer
from zorkgpt.player import PlayerContext, PlayerStopped
from zorkgpt.record.experience import Experience, ExperienceRow
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move

HALL = Location(1, "Hall")
LAMP = Item(7, "brass lamp", 1)
NOW = Observation(HALL, (), (), (LAMP,), score=0, moves=0)
CONTEXT = PlayerContext(observation=NOW, response="Hall\nA door leads north.", turn=1, max_turns=50)
TRUTH = ZMachineContext(location_before=1, location_after=1, turn=3)


def remembered(action: str, category: str, points: int = 0) -> Memory:
    return Memory(category, "A title", 1, "1", points, "text", "permanent", action=action)


def request(action: str, response: str, truth: ZMachineContext = TRUTH, **more) -> SynthesisRequest:
    return SynthesisRequest(1, "Hall", action, response, truth, **more)


def test_noun_consists_of_words_that_the_parser_knows():
    assert Nouns(frozenset({"lamp"})).name(LAMP) == "lamp"
    assert Nouns(frozenset({"brass", "lamp"})).name(LAMP) == "brass lamp"
    assert Nouns(frozenset({"kitche", "window"})).name(Item(8, "kitchen window")) == "kitchen window"
    assert Nouns(frozenset({"door"})).name(LAMP) is None
    assert Nouns().name(LAMP) == "brass lamp"


def test_named_exits_come_before_others():
    explorer = OfflineExplorer(MapGraph())
    described = replace(CONTEXT, room_description=CONTEXT.response)
    tried = [explorer.get_action_with_reasoning(replace(described, turn=turn)).action for turn in range(1, 30)]
    assert tried.index("take brass lamp") < tried.index("north") < tried.index("west")


def test_actions_are_not_repeated_at_a_place():
    explorer = OfflineExplorer(MapGraph())
    tried = [explorer.get_action_with_reasoning(replace(CONTEXT, turn=turn)).action for turn in range(1, 30)]
    assert tried[0] == "take brass lamp"
    first = tried[: len(set(tried))]
    assert len(first) == len(set(first)), "only when nothing else is left, it starts over"


def test_memories_discourage_failures_and_encourage_rewards():
    memories = [
        remembered("take brass lamp", "FAILURE"),
        remembered("north", "DANGER"),
        remembered("ring bell", "SUCCESS", 5),
    ]
    explorer = OfflineExplorer(MapGraph(), lambda place: memories)
    tried = [explorer.get_action_with_reasoning(replace(CONTEXT, turn=turn)).action for turn in range(1, 40)]
    assert tried[0] == "ring bell"
    assert not {"take brass lamp", "north"} & set(tried)


def test_a_thing_is_locked_until_it_opens():
    locked = ExperienceRow(1, 1, 1, "open oak door", outcome=ActionResult.UNCHANGED, response="It seems to be locked.")
    experience = Experience(Experience())
    experience.earlier.add(locked)
    place = PlaceNotes(tries=TriesHere(1, PastEpisodes(experience)))
    assert place.locked == ["oak door"]
    experience.add(replace(locked, episode=2, outcome=ActionResult.WORKED))
    assert place.locked == []


def test_explorer_walks_to_untried_actions():
    graph = MapGraph()
    graph.add_room(2, "Yard")
    graph.add_move(Move(1, "north", 2))
    known = {
        1: [remembered("take brass lamp", "FAILURE")],
        2: [remembered("dig", "SUCCESS", 5)],
    }
    explorer = OfflineExplorer(graph, lambda place: known.get(place, ()))
    decision = explorer.get_action_with_reasoning(CONTEXT)
    assert decision.action == "north"
    assert "Yard" in decision.reasoning


def test_opener_without_effect_is_not_used_again():
    graph = MapGraph()
    graph.add_move(Move(1, "down", 2))
    memories = {1: [remembered("open trap door", "SUCCESS")], 2: [remembered("dig", "SUCCESS", 5)]}
    experience = Experience()
    explorer = OfflineExplorer(graph, lambda place: memories[place], past=lambda: PastEpisodes(experience))
    bare = replace(CONTEXT, observation=replace(NOW, visible=()))
    responses = [
        ("Hall", ()),
        ("Opened.", ()),
        ("The trap door is closed.", ("down",)),
        ("It is stuck.", ("down", "open trap door")),
        ("The trap door is closed.", ("down", "open trap door")),
    ]
    played: list[str] = []
    for turn, (response, failed) in enumerate(responses, start=1):
        if played:
            outcome = ActionResult.FAILED if played[-1] in failed else ActionResult.WORKED
            experience.add(ExperienceRow(1, turn - 1, 1, played[-1], outcome=outcome, response=response, reached=1))
        context = replace(bare, response=response, failed_here=failed, turn=turn)
        played.append(explorer.get_action_with_reasoning(context).action)
    assert played[:4] == ["open trap door", "down", "open trap door", "down"]
    assert played[4] != "open trap door"


def test_new_episode_starts_from_memory_alone():
    explorer = OfflineExplorer(MapGraph())
    first = explorer.get_action_with_reasoning(CONTEXT).action
    explorer.get_action_with_reasoning(replace(CONTEXT, turn=2))
    assert explorer.get_action_with_reasoning(CONTEXT).action == first


def test_walkthrough_is_played_in_order_and_then_stops(tmp_path):
    file = tmp_path / "walkthrough.txt"
    file.write_text("# a comment\n\nnorth\n  open window \n", encoding="utf-8")
    player = WalkthroughPlayer.from_file(file)
    assert [player.get_action_with_reasoning(replace(CONTEXT, turn=turn)).action for turn in (1, 2)] == [
        "north",
        "open window",
    ]
    with pytest.raises(PlayerStopped, match="after 2 commands"):
        player.get_action_with_reasoning(replace(CONTEXT, turn=3))
