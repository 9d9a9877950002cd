"""Tests of the settings of the memory."""

import logging
from pathlib import Path

import pytest

from zorkgpt.memory.retrieval import Budget
from zorkgpt.memory.settings import MemorySettings, checked_window, settings_of


def test_defaults_match_the_documentation():
    settings = settings_of(object())
    assert settings == MemorySettings(
        memory_file="Memories.md",
        zork_game_workdir="game_files",
        debug_ephemeral=False,
        history_window=3,
        enable_semantic_deduplication=True,
        embedding_provider="",
        deduplication_similarity_threshold=0.85,
        candidate_threshold=0.55,
        sentence_transformer_model="all-MiniLM-L6-v2",
        llm_embedding_model="text-embedding-3-small",
        cache_embeddings=True,
        embedding_batch_size=32,
    )
    assert (settings.path, settings.runs) == (Path("game_files/Memories.md"), Path("game_files/runs"))
    assert settings.budget == Budget(tokens=300, successes=5, failures=5, markers=True)
    assert settings.model == "gpt-4o-mini"


@pytest.mark.parametrize(
    ("given", "used", "warning"),
    [
        (1, 1, ""),
        (10, 10, ""),
        (0, 3, "memory_history_window is under 1"),
        (-1, 3, "memory_history_window is under 1"),
        (11, 11, "memory_history_window is over 10, so every prompt is long"),
        (None, 3, ""),
        (True, 3, ""),
    ],
)
def test_window_is_at_least_one_turn(given, used, warning, caplog):
    with caplog.at_level(logging.WARNING):
        assert checked_window(given) == used
    assert caplog.messages == [warning] * bool(warning)
