"""Tests that a memory is recognized by every wording that was merged into it."""

import numpy as np

from tests.fixtures.dedup import ConstantJudge, fact, lines
from zorkgpt.memory.manager import SimpleMemoryManager

FIRST, SECOND, THIRD, OTHER = "The gate is ajar.", "The gate stands open a bit.", "There is a crack.", "A bell rings."
# The third is near the second (cosine 0.8) and far from the first (0.28).
ANGLES = {FIRST: 0.0, SECOND: 36.9, THIRD: 73.7, OTHER: 180.0}


class Angles:
    """Vectors in a plane, by text."""

    model = "angles"

    def embed(self, text):
        angle = np.radians(ANGLES.get(text, 90.0))
        return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)

    def embed_batch(self, texts):
        return np.array([self.embed(text) for text in texts], dtype=np.float32).reshape(-1, 2)

    def get_dimension(self):
        return 2


def opened(folder, judge):
    return SimpleMemoryManager.open(folder / "Memories.md", embeddings=Angles(), judge=judge)


def added(manager, *texts):
    for number, text in enumerate(texts):
        manager.add_memory(1, "Yard", fact(text, f"Gate {number}", turns=str(25 + number)))


def test_text_near_a_merged_wording_is_judged(tmp_path):
    judge = ConstantJudge("same")
    with opened(tmp_path, judge) as manager:
        added(manager, FIRST, SECOND, THIRD)
        assert lines(manager) == [(FIRST, "ACTIVE", "25→27", 3)]
    assert [new for _, new, _ in judge.asked] == [SECOND, THIRD]


def test_another_process_knows_the_wordings(tmp_path):
    with opened(tmp_path, ConstantJudge("same")) as manager:
        added(manager, FIRST, SECOND)
    with opened(tmp_path, ConstantJudge("same")) as manager:
        manager.add_memory(1, "Yard", fact(THIRD, "Crack", turns="40"))
        assert lines(manager) == [(FIRST, "ACTIVE", "25→40", 3)]


def test_judge_decides_about_the_memory_itself(tmp_path):
    with opened(tmp_path, ConstantJudge("same")) as manager:
        added(manager, FIRST, SECOND)
    judge = ConstantJudge("distinct")
    with opened(tmp_path, judge) as manager:
        manager.add_memory(1, "Yard", fact(THIRD, "Crack", turns="40"))
        assert [text for text, *_ in lines(manager)] == [FIRST, THIRD]
    assert judge.asked == [("Yard", THIRD, [FIRST])]


def test_text_far_from_every_wording_is_new(tmp_path):
    with opened(tmp_path, ConstantJudge("same")) as manager:
        added(manager, FIRST, SECOND, OTHER)
        assert [text for text, *_ in lines(manager)] == [FIRST, OTHER]
