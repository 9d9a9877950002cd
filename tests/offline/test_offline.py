"""Tests of the rules player: single turns with a map and memories, and whole episodes."""

import shutil
from dataclasses import replace

import pytest

from game_interface.models import GrammarLine, GrammarToken, InputMode, Item, Language, Location, Observation, Question
from game_interface.models import TokenKind as Kind
from tests.fixtures.runs import CtrlC, a_run, turns_of
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import Memory
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.retrieval import Recall
from zorkgpt.offline.explorer import OfflineExplorer
from zorkgpt.offline.grammar_tries import commands
from zorkgpt.offline.nouns import Nouns
from zorkgpt.offline.walkthrough import WalkthroughPlayer
from zorkgpt.player import PlayerContext, PlayerStopped
from zorkgpt.record.experience import ActionResult, Experience, ExperienceRow
from zorkgpt.runlog.episodes import count_failures, read_episode
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move, MoveKind

FAILED = ActionResult.FAILED | ActionResult.UNCHANGED
HALL = Location(1, "Hall")
LAMP = Item(7, "brass lamp", 1)
NOW = Observation(HALL, (), (), (LAMP,), score=0, moves=0)
CONTEXT = PlayerContext(observation=NOW, response="Hall\nA door leads north.", turn=1, max_turns=50)


def remembered(action: str, category: str, points: int = 0, **more) -> Memory:
    return Memory(category, "A title", 1, "1", points, "text", "permanent", action=action, **more)


def a_row(
    action: str, outcome: int = ActionResult.FAILED, *, episode: int = 2, place: int = 1, **more
) -> ExperienceRow:
    return ExperienceRow(episode, 1, place, action, outcome=outcome, command=action, **{"reached": place, **more})


def an_experience(*rows: ExperienceRow, earlier: tuple[ExperienceRow, ...] = ()) -> Experience:
    before = Experience()
    for row in earlier:
        before.add(row)
    experience = Experience(before)
    for row in rows:
        experience.add(row)
    return experience


def chosen(
    *rows: ExperienceRow,
    context: PlayerContext = CONTEXT,
    earlier: tuple[ExperienceRow, ...] = (),
    graph: MapGraph | None = None,
    recall: Recall = lambda place: (),
) -> str:
    experience = an_experience(*rows, earlier=earlier)
    player = OfflineExplorer(graph or MapGraph(), lambda: experience, recall)
    return player.get_action_with_reasoning(context).action


def tried_in_order(turns: int, recall: Recall = lambda place: ()) -> list[str]:
    """Return the actions of a player for whom nothing has an effect."""
    rows: list[ExperienceRow] = []
    for _ in range(turns):
        rows.append(a_row(chosen(*rows, recall=recall)))
    return [row.action for row in rows]


def a_map() -> MapGraph:
    graph = MapGraph()
    graph.add_room(1, "Hall")
    graph.add_room(2, "Yard")
    graph.add_move(Move(1, "north", 2))
    graph.add_move(Move(2, "south", 1))
    return graph


def test_noun_consists_of_words_that_the_parser_knows():
    assert Nouns(frozenset({"lamp"})).name(LAMP) == "lamp"
    assert Nouns(frozenset({"brass", "lamp"})).name(LAMP) == "brass lamp"
    assert Nouns(frozenset({"kitche", "window"})).name(Item(8, "kitchen window")) == "kitchen window"
    assert Nouns(frozenset({"door"})).name(LAMP) is None
    assert Nouns().name(LAMP) == "brass lamp"


# One turn


def test_things_come_before_exits_and_named_exits_before_others():
    tried = tried_in_order(20)
    assert tried[0] == "take brass lamp"
    assert tried.index("north") < tried.index("west")
    assert len(set(tried)) == len(tried)


def test_memories_discourage_failures_and_encourage_rewards():
    memories = [
        remembered("take brass lamp", "FAILURE"),
        remembered("north", "DANGER"),
        remembered("ring bell", "SUCCESS", 5),
    ]
    tried = tried_in_order(25, lambda place: memories)
    assert tried[0] == "ring bell"
    assert not {"take brass lamp", "north"} & set(tried)


def test_player_walks_to_a_remembered_reward():
    memories = {1: [remembered("take brass lamp", "FAILURE")], 2: [remembered("dig", "SUCCESS", 5)]}
    assert chosen(graph=a_map(), recall=lambda place: memories[place]) == "north"


def test_player_walks_to_a_thing_that_it_has_seen():
    spade = ((8, "rusty spade"),)
    rows = [a_row("north", ActionResult.WORKED, reached=2, seen=spade)]
    rows += [a_row("south", ActionResult.WORKED, place=2, reached=1)]
    bare = replace(CONTEXT, observation=replace(NOW, visible=()))
    assert chosen(*rows, graph=a_map(), context=bare) == "north"
    carried = replace(CONTEXT, observation=replace(NOW, visible=(), carried=(Item(8, "rusty spade"),)))
    assert chosen(*rows, graph=a_map(), context=carried) != "north"


@pytest.mark.parametrize(("light", "expected"), [(0, "On the way to Yard."), (ActionResult.DARK, "Nothing is left")])
def test_exits_of_a_dark_place_are_left_out_from_afar(light, expected):
    rows = [a_row("north", ActionResult.WORKED | light, reached=2), a_row("south", place=2, reached=1), a_row("west")]
    player = OfflineExplorer(a_map(), lambda: an_experience(*rows))
    context = replace(CONTEXT, observation=replace(NOW, visible=()), vocabulary=("north", "west"))
    assert player.get_action_with_reasoning(context).reasoning.startswith(expected)


@pytest.mark.parametrize("recall", [lambda place: (), lambda place: [remembered("north", "DANGER")]])
def test_deadly_exit_is_never_used(recall):
    graph = a_map()
    if not recall(1):
        graph.add_move(Move(1, "north", 1, MoveKind.DIED))
    rows: list[ExperienceRow] = []
    for _ in range(40):
        rows.append(a_row(chosen(*rows, graph=graph, recall=recall)))
    assert "north" not in {row.action for row in rows}


@pytest.mark.parametrize(("lit", "expected"), [(False, "wait"), (True, "north")])
def test_exit_that_killed_in_the_dark_is_used_with_a_light(lit, expected):
    graph = a_map()
    graph.add_move(Move(1, "north", 1, MoveKind.DIED))
    danger = remembered("north", "DANGER", outcome="died", when=(Claim(Relation.DARK),))
    lamp = ThingState(7, "brass lamp", carried=True, states=("lit",) if lit else ())
    context = replace(CONTEXT, things=(lamp,), vocabulary=("north",), observation=replace(NOW, visible=()))
    recall = {1: [danger], 2: []}
    assert chosen(graph=graph, context=context, recall=recall.__getitem__) == expected


def test_failed_action_is_tried_again_after_something_was_moved():
    context = replace(CONTEXT, vocabulary=("lamp", "take"))
    failed = a_row("take lamp")
    assert chosen(failed, context=context) == "wait"
    assert chosen(failed, a_row("rub lamp", ActionResult.AFFECTED), context=context) == "take lamp"
    still = replace(context, failed_here=("take lamp",))
    assert chosen(failed, a_row("rub lamp", ActionResult.AFFECTED), context=still) == "wait"


def test_action_without_points_in_earlier_episodes_comes_later():
    things = replace(NOW, visible=(LAMP, Item(8, "gem")))
    context = replace(CONTEXT, observation=things, vocabulary=("brass", "gem", "lamp", "north", "take"))
    before = tuple(a_row("take brass lamp", ActionResult.WORKED, episode=1) for _ in range(2))
    assert chosen(context=context, earlier=before) == "take gem"
    before = (*before, a_row("take gem", episode=1, response="It is too heavy."))
    assert chosen(context=context, earlier=before) == "north"


def test_rejected_proposals_are_not_repeated():
    player = OfflineExplorer(MapGraph(), Experience)
    actions = [player.get_action_with_reasoning(CONTEXT).action]
    for _ in range(5):
        actions.append(player.get_action_with_reasoning(replace(CONTEXT, refused="No.")).action)
    assert len(set(actions)) == 6
    assert player.get_action_with_reasoning(replace(CONTEXT, turn=2)).action == actions[0]


def test_answers_to_a_question_take_turns():
    question = Question(InputMode.LINE, "Are you sure?")
    context = replace(CONTEXT, observation=replace(NOW, question=question))
    rows: list[ExperienceRow] = []
    for _ in range(4):
        rows.append(a_row(chosen(*rows, context=context), ActionResult.ANSWERED))
    assert [row.action for row in rows] == ["yes", "no", "1", "2"]


# Commands from the grammar

NOUN, HELD = GrammarToken(Kind.NOUN), GrammarToken(Kind.HELD)
WITH = GrammarToken(Kind.WORD, frozenset({"with", "using"}))
VERBS = {
    "take": (GrammarLine((NOUN,), 1),),
    "get": (GrammarLine((NOUN,), 1),),
    "rub": (GrammarLine((NOUN,), 2),),
    "polish": (GrammarLine((NOUN,), 2),),
    "cut": (GrammarLine((NOUN, WITH, HELD), 3),),
    "pray": (GrammarLine((), 4),),
    "wave": (GrammarLine((HELD,), 5),),
    "say": (GrammarLine((GrammarToken(Kind.FREE),), 6),),
    "quit": (GrammarLine((), 7),),
    "die": (GrammarLine((), 7),),
}
LANGUAGE = Language(9, frozenset(), VERBS, {}, prepositions=frozenset({"using"}))


def test_one_verb_per_grammar_line_is_tried():
    tries = list(commands(LANGUAGE, ["rope"], ["knife"], {}))
    assert tries == ["rub rope", "rub knife", "cut rope using knife", "pray", "wave knife"]


@pytest.mark.parametrize(("action", "expected"), [(20, True), (21, False)])
def test_reading_may_be_a_synonym_of_examining(action, expected):
    lines = (GrammarLine((NOUN,), 20),), (GrammarLine((NOUN,), action), GrammarLine((NOUN, WITH, NOUN), 22))
    language = replace(LANGUAGE, verbs={"examine": lines[0], "read": lines[1]})
    assert Nouns(language=language).reading_is_examining == expected


def test_things_without_the_attribute_of_a_verb_are_left_out():
    burns = replace(NOUN, attribute=11), WITH, HELD
    burning = replace(LANGUAGE, verbs={"burn": (GrammarLine(burns, 8),)})
    traits = {"paper": frozenset({11}), "stone": frozenset[int]()}
    # A thing with unknown attributes may fit.
    tries = list(commands(burning, ["paper", "stone", "smoke"], ["torch"], traits))
    assert tries == ["burn paper using torch", "burn smoke using torch"]


# Whole episodes


@pytest.fixture(scope="module")
def three_episodes(tmp_path_factory):
    return play(tmp_path_factory.mktemp("three"), 3)


def play(workdir, episodes: int, **options):
    with a_run(workdir, turns=60, **options) as run:
        for _ in range(episodes):
            run.play_episode()
    return workdir


@pytest.mark.slow
def test_later_episodes_repeat_the_best_one_and_go_on(three_episodes):
    scores = [[turn.after.score for turn in turns_of(three_episodes, episode)] for episode in (1, 2, 3)]
    proven = max(scores[0])
    assert proven > 0
    for points in scores[1:]:
        assert points.index(proven) < scores[0].index(proven)
    third = turns_of(three_episodes, 3)
    assert [turn.player for turn in third[:3]] == ["best line"] * 3
    assert third[-1].player == "rules"
    assert max(scores[2]) >= max(scores[1]) >= proven


@pytest.mark.slow
def test_failed_actions_are_not_repeated_in_later_episodes(three_episodes):
    counts = list(count_failures(read_episode(three_episodes, episode) for episode in (1, 2, 3)))
    assert sum(count.failed for count in counts) > 10
    assert all(count.repeated_share < 0.1 for count in counts)


def test_episodes_without_memory_are_identical(tmp_path):
    play(tmp_path, 2, remember=False)
    first, second = ([turn.action for turn in turns_of(tmp_path, episode)] for episode in (1, 2))
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("at", [5, 40])
def test_interrupted_episode_continues_as_if_it_had_not_been(three_episodes, tmp_path, at):
    with a_run(tmp_path, turns=60) as run:
        run.play_episode()
    with a_run(tmp_path, turns=60, watchers=(CtrlC(at),)) as run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    with a_run(tmp_path, turns=60) as run:
        run.play_episode(resume=2)
    whole = [turn.action for turn in turns_of(three_episodes, 2)]
    assert [turn.action for turn in turns_of(tmp_path, 2)] == whole


@pytest.mark.slow
def test_bundled_story_is_won_within_ten_episodes(tmp_path):
    with a_run(tmp_path, turns=250) as run:
        ends = [run.play_episode() for _ in range(10)]
    scores = [end.score for end in ends]
    assert scores[:9] == sorted(scores[:9])
    assert (max(scores), "victory" in [end.reason for end in ends]) == (100, True)


@pytest.mark.slow
def test_hidden_action_is_not_taken(three_episodes, tmp_path):
    workdir = shutil.copytree(three_episodes, tmp_path / "run")
    scored = next(turn for turn in turns_of(workdir, 3) if turn.transition.points > 0)
    place, action = scored.before.location_id, scored.action
    with a_run(workdir, turns=60) as run:
        hidden = remembered(action, "SUCCESS", 2, vetoed=True, outcome="changed")
        run.simple_memory.add_memory(place, "", hidden)
        run.play_episode()
    assert (place, action) not in [(turn.before.location_id, turn.action) for turn in turns_of(workdir, 4)]


# The walkthrough player


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
