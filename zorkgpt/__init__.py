"""ZorkGPT: a player of interactive fiction that learns across episodes, and its memory.

The public names load on first use, so that `import zorkgpt` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zorkgpt.configuration import GameConfiguration
    from zorkgpt.embeddings.provider import EmbeddingProvider
    from zorkgpt.errors import ZorkGPTError
    from zorkgpt.llm.client import LLMClient
    from zorkgpt.llm.scripted import ScriptedLLM
    from zorkgpt.memory.agent_memory import AgentMemory
    from zorkgpt.memory.answers import MemorySynthesisResponse
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryKind, MemoryStatus, ZMachineContext

_MODULES = {
    "AgentMemory": "zorkgpt.memory.agent_memory",
    "SimpleMemoryManager": "zorkgpt.memory.manager",
    "Memory": "zorkgpt.memory.models",
    "MemoryKind": "zorkgpt.memory.models",
    "MemoryStatus": "zorkgpt.memory.models",
    "MemorySynthesisResponse": "zorkgpt.memory.answers",
    "INVALIDATION_MARKER": "zorkgpt.memory.models",
    "ZMachineContext": "zorkgpt.memory.models",
    "LLMClient": "zorkgpt.llm.client",
    "ScriptedLLM": "zorkgpt.llm.scripted",
    "GameConfiguration": "zorkgpt.configuration",
    "EmbeddingProvider": "zorkgpt.embeddings.provider",
    "ZorkGPTError": "zorkgpt.errors",
}

__all__ = [
    "INVALIDATION_MARKER",
    "AgentMemory",
    "EmbeddingProvider",
    "GameConfiguration",
    "LLMClient",
    "Memory",
    "MemoryKind",
    "MemoryStatus",
    "MemorySynthesisResponse",
    "ScriptedLLM",
    "SimpleMemoryManager",
    "ZMachineContext",
    "ZorkGPTError",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module 'zorkgpt' has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
