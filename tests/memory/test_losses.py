"""Tests of memories of losses: their causes, and how often the same was safe."""

from dataclasses import replace

import pytest

from tests.fixtures.memory import Answers, memory, remember
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.credit import is_danger, loss_recurred, outcome_matches, results_in_words
from zorkgpt.memory.losses import Loss, LossCause, LossKind, loss_in
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, SubjectKey, Thing, ZMachineContext
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.retrieval import shown
from zorkgpt.memory.storage.entry import as_read
from zorkgpt.memory.synthesis import SynthesisRequest, facts_in_words
from zorkgpt.offline.memory_synthesizer import RuleSynthesizer

TROLL = Claim(Relation.HERE, 11, "troll")
DIED = {cause: Loss(LossKind.DEATH, cause, "It bites.") for cause in (*LossCause, None)}
DIED[LossCause.CREATURE] = replace(DIED[LossCause.CREATURE], creature=11, creature_name="troll")
DIED[LossCause.CLOCK] = replace(DIED[LossCause.CLOCK], clock=41)

ACTION = memory("eat toadstool: kills you", category="DANGER", action="eat toadstool", outcome="died")
PLACE = memory("being here kills you", category="DANGER", outcome="died")
CREATURE = memory("troll: kills you", category="DANGER", outcome="died")
CLOCK = memory("time runs out at turn 41", category="DANGER", outcome="died at move 41")
DARK = Claim(Relation.DARK)
DARKNESS = replace(PLACE, claims=(DARK, TROLL))
TOLL = memory("pay toll: costs points", category="DANGER", action="pay toll", outcome="lost points")
SUBJECTS = {CREATURE.title: Thing(11), CLOCK.title: GAME}


def turn(cause: LossCause | str | None = "alive", **facts) -> ZMachineContext:
    if cause == "alive":
        return ZMachineContext(turn=7, **facts)
    return ZMachineContext(turn=7, died=True, loss=DIED[cause], **facts)


def clock_at(move: int) -> ZMachineContext:
    return ZMachineContext(turn=7, died=True, loss=replace(DIED[LossCause.CLOCK], clock=move))


def creature(number: int, **facts) -> ZMachineContext:
    return ZMachineContext(turn=7, died=True, loss=replace(DIED[LossCause.CREATURE], creature=number), **facts)


@pytest.mark.parametrize(
    ("danger", "action", "truth", "expected"),
    [
        (ACTION, "eat toadstool", turn(), False),
        (ACTION, "Eat the toadstool", turn(state=(TROLL,)), False),
        (ACTION, "eat toadstool", turn(LossCause.ACTION), True),
        (ACTION, "eat toadstool", turn(LossCause.CLOCK), None),
        (ACTION, "eat toadstool", turn(LossCause.PLACE), None),
        (ACTION, "wait", turn(), None),
        (PLACE, "wait", turn(), None),
        (PLACE, "north", turn(location_changed=True), False),
        (PLACE, "wait", turn(LossCause.PLACE), True),
        (PLACE, "wait", turn(LossCause.CLOCK, location_changed=True), None),
        (CREATURE, "wait", turn(), None),
        (CREATURE, "wait", turn(state=(TROLL,)), False),
        (CREATURE, "wait", turn(LossCause.CREATURE, state=(TROLL,)), True),
        (CREATURE, "wait", turn(LossCause.PLACE, state=(TROLL,)), None),
        (CREATURE, "north", turn(LossCause.CREATURE, location_changed=True), True),
        (CREATURE, "wait", turn(state=(replace(TROLL, number=12),)), None),
        (CLOCK, "wait", turn(moves_before=39, moves_after=40), None),
        (CLOCK, "wait", turn(moves_before=40, moves_after=41), False),
        (CLOCK, "wait", turn(moves_before=38, moves_after=46), False),
        (CLOCK, "wait", turn(moves_before=41, moves_after=42), None),
        (CLOCK, "wait", turn(LossCause.CLOCK, moves_before=40, moves_after=41), True),
        (CLOCK, "wait", turn(), None),
        (CLOCK, "wait", turn(LossCause.CLOCK), True),
        (CLOCK, "wait", clock_at(40), None),
        (CLOCK, "wait", clock_at(42), None),
        (CREATURE, "wait", creature(10, state=(TROLL,)), None),
        (CREATURE, "wait", creature(12, state=(TROLL,)), None),
        (DARKNESS, "north", turn(location_changed=True), None),
        (DARKNESS, "north", turn(location_changed=True, state=(DARK,)), False),
        (TOLL, "pay toll", turn(), False),
        (TOLL, "pay toll", ZMachineContext(turn=7, loss=Loss(LossKind.POINTS, LossCause.ACTION, points=5)), True),
        (TOLL, "pay toll", ZMachineContext(turn=7, loss=Loss(LossKind.THINGS, LossCause.ACTION)), False),
        (memory("Ice", category="DANGER", action="north"), "north", turn(location_changed=True), None),
    ],
)
def test_dangers_are_counted_on_their_occasions(danger, action, truth, expected):
    assert loss_recurred(SUBJECTS.get(danger.title, 5), danger, action, truth) is expected


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (LossCause.ACTION, False),
        (LossCause.CREATURE, False),
        (LossCause.PLACE, None),
        (LossCause.CLOCK, None),
        (None, None),
    ],
)
def test_death_counts_against_a_memory_only_if_action_or_creature_caused_it(cause, expected):
    works = memory("attack troll: works", category="SUCCESS", action="attack troll", outcome="changed")
    assert outcome_matches(works, "attack troll", turn(cause)) is expected


def test_outcome_of_a_loss_is_read_back():
    for kind in LossKind:
        for clock in (None, 0, 41):
            assert loss_in(Loss(kind, clock=clock).outcome) == (kind, clock)
    assert [loss_in(each) for each in ("", "changed", "to 12", "nothing")] == [None] * 4
    assert loss_in(f"died at move {'9' * 5000}") is None


@pytest.mark.parametrize("danger", [ACTION, PLACE, CREATURE, CLOCK, replace(PLACE, tried=2, worked=2)])
def test_file_keeps_the_fields_of_a_danger(tmp_path, danger):
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", danger)
    assert ("safe 0/2" in path.read_text()) == bool(danger.tried)
    (read,) = SimpleMemoryManager.open(path).memory_cache[5]
    assert (read.action, read.outcome, read.when) == (danger.action, danger.outcome, danger.when)
    assert read == as_read(danger)


@pytest.mark.parametrize(
    ("tried", "worked", "seen", "line"),
    [
        (0, 0, 1, "[DANGER] being here kills you: It bites."),
        (2, 0, 1, "[DANGER] being here kills you: It bites. (survived 2, died 1)"),
        (3, 0, 1, "[NOTE] being here kills you: It bites. (survived 3, died 1)"),
        (22, 0, 1, "[NOTE] being here kills you: It bites. (survived 22, died 1)"),
        (23, 1, 2, "[DANGER] being here kills you: It bites. (survived 22, died 2)"),
    ],
)
def test_danger_becomes_a_note_after_three_safe_occasions(tried, worked, seen, line):
    danger = replace(PLACE, text="It bites.", tried=tried, worked=worked, observation_count=seen)
    assert shown([danger], []).text == line
    assert is_danger(danger) is line.startswith("[DANGER]")
    assert is_danger(replace(danger, pinned=True))


def test_danger_is_shown_before_a_note():
    refuted = replace(PLACE, tried=5, text="x")
    assert [memory.title for memory in shown([refuted, ACTION], []).memories] == [ACTION.title, PLACE.title]


@pytest.mark.parametrize(
    ("category", "counts", "seen", "words"),
    [
        ("SUCCESS", (0, 1, 0), 1, ""),
        ("SUCCESS", (6, 8, 0), 1, "worked 6/8"),
        ("SUCCESS", (6, 8, 2), 1, "worked 6, died 2"),
        ("SUCCESS", (6, 9, 2), 1, "worked 6/9, died 2"),
        ("SUCCESS", (0, 1, 1), 1, "worked 1, died 1"),
        ("DISCOVERY", (1, 3, 1), 3, "worked 3/5, died 1"),
        ("FAILURE", (4, 5, 0), 1, "failed 4/5"),
        ("FAILURE", (4, 5, 1), 1, "failed 4, died 1"),
        ("DANGER", (1, 3, 0), 1, ""),
    ],
)
def test_deaths_are_counted_separately_from_failures(category, counts, seen, words):
    worked, tried, died = counts
    known = replace(ACTION, category=category, outcome="changed", observation_count=seen)
    assert results_in_words(replace(known, worked=worked, tried=tried, died=died)) == words


def test_results_of_other_losses_in_words():
    thief = replace(CREATURE, outcome="lost things", tried=5, worked=1)
    assert results_in_words(thief) == "safe 4, lost 2"
    assert results_in_words(replace(thief, category="NOTE")) == "worked 1/5"


def test_success_shows_deaths_of_the_same_action():
    works = memory("attack troll: works", text="x", category="SUCCESS", action="attack troll", tried=6, worked=6)
    kills = memory("attack troll: kills you", text="x", category="DANGER", action="attack troll", outcome="died")
    kills = replace(kills, observation_count=2, tried=7, worked=1)
    lines = shown([works, kills, replace(works, title="Other", action="attack thief")], []).text.splitlines()
    assert lines == [
        "[DANGER] attack troll: kills you: x (survived 6, died 2)",
        "[SUCCESS] Other: x (worked 6/6)",
        "[SUCCESS] attack troll: works: x (worked 6, died 2)",
    ]


class Played:
    """A manager whose synthesizer gives one answer, in the first turn."""

    def __init__(self, path, **answer):
        self.manager = SimpleMemoryManager(path=path, synthesizer=Answers(remember(category="DANGER", **answer)))
        self.number = 0

    def turn(self, action: str, place: int = 5, **facts) -> None:
        self.number += 1
        truth = ZMachineContext(turn=self.number, location_before=place, **facts)
        self.manager.record_action_outcome(place, "Hall", action, "It bites.", truth)

    def memory(self, subject: SubjectKey = 5):
        self.manager.reset_episode()
        ((kept_at, (kept,)),) = self.manager.store.document.by_place().items()
        assert kept_at == subject
        return kept


def test_safe_repetitions_count_in_any_state(tmp_path):
    played = Played(tmp_path / "Memories.md", title="eat toadstool: kills you", action="eat toadstool")
    played.turn("eat toadstool", died=True, loss=DIED[LossCause.ACTION])
    for state in ((), (TROLL,), (Claim(Relation.DARK),)):
        played.turn("eat toadstool", state=state, nothing_changed=True)
        played.turn("wait")
    kept = played.memory()
    assert (kept.outcome, kept.worked, kept.tried, kept.status) == ("died", 0, 3, "ACTIVE")
    assert not is_danger(kept)


@pytest.mark.parametrize("cause", [LossCause.PLACE, LossCause.CREATURE, LossCause.CLOCK])
def test_loss_with_another_cause_is_not_a_memory_of_the_command(tmp_path, cause):
    played = Played(tmp_path / "Memories.md", title="wait: kills you", action="wait")
    played.turn("wait", died=True, loss=DIED[cause], state=(TROLL,))
    kept = played.memory({LossCause.CREATURE: Thing(11), LossCause.CLOCK: GAME}.get(cause, 5))
    assert (kept.action, kept.outcome, kept.when) == ("", DIED[cause].outcome, ())


HERE = {"things": (ThingState(11, "troll", fixed=True, alive=True),), "all_in_sight": True}


def test_danger_of_a_creature_is_counted_at_every_place(tmp_path):
    played = Played(tmp_path / "Memories.md", title="troll: kills you", action="")
    played.turn("wait", died=True, loss=DIED[LossCause.CREATURE], state=(TROLL,))
    for place, state in ((5, ()), (6, (TROLL,)), (7, (TROLL,)), (7, ()), (6, ())):
        played.turn("wait", place, state=state)
    kept = played.memory(Thing(11))
    assert (kept.worked, kept.tried, kept.observation_count) == (0, 2, 1)


def test_danger_of_a_creature_is_shown_where_it_is_and_starts(tmp_path):
    played = Played(tmp_path / "Memories.md", title="troll: kills you", action="")
    played.turn("wait", died=True, loss=DIED[LossCause.CREATURE], state=(TROLL,), **HERE)
    played.manager.reset_episode()
    assert "kills you" in played.manager.get_location_memory(5)
    assert "kills you" not in played.manager.get_location_memory(6)
    assert [memory.title for memory in played.manager.memories_at(5)] == ["Starts here", "troll: kills you"]
    played.turn("wait", 6, **HERE)
    assert "[DANGER] troll: kills you: " in played.manager.get_location_memory(6)


def test_death_by_a_creature_counts_against_the_action_on_it(tmp_path):
    played = Played(tmp_path / "Memories.md", title="troll: kills you", action="")
    works = memory("attack troll: works", category="SUCCESS", action="attack troll", outcome="changed")
    played.manager.add_memory(5, "Hall", replace(works, text="It staggers.", tried=3, worked=3))
    played.manager.get_location_memory(5)
    played.number = 8
    played.turn("attack troll", died=True, loss=DIED[LossCause.CREATURE], state=(TROLL,), **HERE)
    played.manager.reset_episode()
    played.manager.record_arrival(5, "Hall", "A troll is here.", ZMachineContext(location_after=5, **HERE))
    lines = played.manager.get_location_memory(5).splitlines()
    assert "[SUCCESS] attack troll: works: It staggers. (worked 3, died 1)" in lines
    assert "worked 3/4, died 1" in played.manager.store.file.path.read_text()
    assert [line.partition(":")[0] for line in lines if line.startswith("[DANGER]")] == ["[DANGER] troll"]


def test_danger_of_a_clock_is_shown_everywhere(tmp_path):
    played = Played(tmp_path / "Memories.md", title="time runs out at turn 41", action="")
    played.turn("wait", died=True, loss=DIED[LossCause.CLOCK])
    for place in (5, 6):
        assert "time runs out at turn 41" in played.manager.get_location_memory(place)


def test_reworded_danger_is_the_same(tmp_path):
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md", synthesizer=RuleSynthesizer())
    for number, (place, sentence) in enumerate([(5, "It bites."), (6, "It stings, and you fall.")], 1):
        truth = replace(turn(LossCause.CREATURE, state=(TROLL,)), turn=number, location_before=place)
        loss = replace(truth.loss, sentence=sentence)
        manager.record_action_outcome(place, "Hall", "wait", sentence, replace(truth, loss=loss))
        manager.reset_episode()
    ((subject, (kept,)),) = manager.store.document.by_place().items()
    assert (subject, kept.text, kept.observation_count) == (Thing(11), "It bites.", 2)


def facts(loss: Loss | None) -> str:
    died = loss is None or loss.kind is LossKind.DEATH
    return facts_in_words(SynthesisRequest(5, "Hall", "wait", "It bites.", ZMachineContext(died=died, loss=loss)))[-1]


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (DIED[LossCause.ACTION], "Waiting instead would not have killed you: the command did."),
        (DIED[LossCause.PLACE], "Waiting would have killed you too: being at this place did it, not the command."),
        (DIED[LossCause.CREATURE], "It was the troll (number 11) that killed you, not the command or the place."),
        (
            DIED[LossCause.CLOCK],
            "Waiting elsewhere would have killed you at the same time, when the story had counted 41 moves: "
            "a clock or a need did it.",
        ),
        (DIED[None], "They do not show what killed you: the command, the place, a creature or a clock."),
        (
            Loss(LossKind.THINGS, LossCause.PLACE, things=("brass lamp",)),
            "Waiting would have cost you the brass lamp too: being at this place did it, not the command.",
        ),
        (
            Loss(LossKind.POINTS, LossCause.ACTION, points=1, harmless_elsewhere=False),
            "Waiting instead would not have cost you 1 point: the command did. "
            "It does so at the place before this one too.",
        ),
    ],
)
def test_question_names_the_cause_from_counterfactuals(loss, expected):
    assert facts(loss) == f"From counterfactuals, played from saved states after the turn: {expected}"


def test_question_names_no_cause_without_counterfactuals():
    assert facts(None) == "You died on this turn."
