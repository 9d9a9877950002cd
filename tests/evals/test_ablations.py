"""Tests that each ablation disables one part of the memory."""

import random

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.evaluations import PEAR_LEFT, TO_THE_ORCHARD, a_run
from tests.fixtures.runs import turns_of
from zorkgpt.evals.ablations import Ablation, _shuffle
from zorkgpt.evals.metrics import figures_of
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.versions import is_current

pytestmark = pytest.mark.slow

FRONT_YARD = 36
TURNS = len(PEAR_LEFT)


def shown_in(run, episode: int) -> str:
    files = run.played()[episode - 1]
    return "\n".join(turn.memory_shown for turn in turns_of(files.workdir, files.number))


def memories(path) -> dict[str, int]:
    """Return the location of each current memory, by title and text."""
    with SimpleMemoryManager.open(path) as manager:
        return {
            f"{located.memory.title}: {located.memory.text}": located.location_id
            for located in manager.all_memories()
            if is_current(located.memory)
        }


def test_without_classes_undone_memories_are_shown(tmp_path):
    undone = {}
    for ablation in (Ablation.ON, Ablation.NO_CLASSES):
        run = a_run(tmp_path / ablation, f"learning-2x{TURNS}", ablation, commands=PEAR_LEFT)
        run.play()
        _, second = figures_of(run).episodes
        before = shown_in(run, 2).splitlines()
        undone[ablation] = (second.undone, second.undone_shown, any("Now here: Pear" in line for line in before[:4]))
    assert undone == {Ablation.ON: (1, 0, False), Ablation.NO_CLASSES: (1, 1, True)}


def test_without_memory_nothing_is_shown_or_kept(tmp_path):
    run = a_run(tmp_path, f"learning-2x{TURNS}", Ablation.OFF, commands=PEAR_LEFT)
    run.play()
    assert [shown_in(run, episode).strip() for episode in (1, 2)] == ["", ""]
    assert not (run.workdir(1) / "Memories.md").exists()


def test_frozen_episodes_use_the_memories_of_the_first(tmp_path):
    run = a_run(tmp_path, "learning-3x12", Ablation.FROZEN)
    run.play()
    kept = memories(run.workdir(1) / "Memories.md")
    assert kept
    logs = [files.directory / "episode_log.jsonl" for files in run.played()]
    assert len({path.parents[2] for path in logs}) == 3
    assert shown_in(run, 2) == shown_in(run, 3) != shown_in(run, 1)


def test_shuffled_memories_are_at_other_places(tmp_path):
    run = a_run(tmp_path, "learning-1x40")
    run.play()
    path = run.workdir(1) / "Memories.md"
    learned = memories(path)
    assert len(set(learned.values())) > 2
    for seed in range(3):
        _shuffle(path, random.Random(seed))
        now = memories(path)
        assert now.keys() == learned.keys()
        assert [title for title in now if now[title] == learned[title]] == []
    # Claims are kept, so that the audit can check them.
    with SimpleMemoryManager.open(path) as manager:
        assert any(located.memory.claims for located in manager.all_memories())


def test_memories_learned_between_shuffles_are_shuffled_too(tmp_path):
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(path) as manager:
        for place in (1, 2, 3):
            manager.add_memory(place, f"Place {place}", Memory("NOTE", f"Of {place}", 1, "1", 0, "So.", "permanent"))
    _shuffle(path, random.Random(1))
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(4, "Place 4", Memory("NOTE", "Of 4", 2, "1", 0, "So.", "permanent"))
    _shuffle(path, random.Random(2))
    assert all(title != f"Of {place}: So." for title, place in memories(path).items())


@pytest.mark.parametrize(("ablation", "shown"), [(Ablation.ON, False), (Ablation.NO_AUDIT, True)])
def test_without_audit_a_contradicted_memory_is_shown(tmp_path, ablation, shown):
    commands = (*TO_THE_ORCHARD, "west", "east", "look")
    run = a_run(tmp_path, f"learning-2x{len(commands)}", ablation, commands=commands)
    # At the start of the game, the pear is in the orchard.
    run.workdir(1).mkdir(parents=True)
    claim = Claim(Relation.HERE, pear_of(run), "pear")
    wrong = Memory("DISCOVERY", "A pear lies here", 1, "1", 0, "Here is the pear.", "core", claims=(claim,))
    with SimpleMemoryManager.open(run.workdir(1) / "Memories.md") as manager:
        manager.add_memory(FRONT_YARD, "Front Yard", wrong)
    run.play()
    assert ("A pear lies here" in shown_in(run, 1)) is shown


def pear_of(run) -> int:
    with JerichoInterface(story=run.story) as game:
        return next(each.number for each in game.all_objects() if each.name == "pear")
