"""A memory for the adapters."""

import pytest

from zorkgpt.memory.agent_memory import AgentMemory


@pytest.fixture
def memory(tmp_path):
    with AgentMemory.open(tmp_path / "Memories.md") as opened:
        yield opened
