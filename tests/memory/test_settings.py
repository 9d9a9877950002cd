"""Tests of the settings of the memory."""

import logging
from pathlib import Path

import pytest

from zorkgpt.memory.retrieval import Budget
from zorkgpt.memory.settings import DeduplicationSettings, MemorySettings, checked_window, settings_of


def test_defaults_match_the_documentation():
    assert settings_of(object()) == MemorySettings(
        path=Path("game_files/Memories.md"),
        runs=Path("game_files/runs"),
        budget=Budget(tokens=300, successes=5, failures=5, markers=True),
        debug_ephemeral=False,
        history_window=3,
        model="gpt-4o-mini",
        deduplication=DeduplicationSettings(
            enable=True,
            provider="",
            similarity_threshold=0.85,
            candidate_threshold=0.55,
            sentence_transformer_model="all-MiniLM-L6-v2",
            llm_embedding_model="text-embedding-3-small",
            cache_embeddings=True,
            batch_size=32,
            wait_for_embeddings=True,
        ),
    )


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
