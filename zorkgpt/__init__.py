"""ZorkGPT: a player of interactive fiction that learns across episodes, and its memory.

The public names load on first use, so that `import zorkgpt` costs nothing.
"""

from importlib import import_module

_MODULES = {
    "SimpleMemoryManager": "zorkgpt.memory.manager",
    "Memory": "zorkgpt.memory.models",
    "MemoryStatus": "zorkgpt.memory.models",
    "MemorySynthesisResponse": "zorkgpt.memory.answers",
    "INVALIDATION_MARKER": "zorkgpt.memory.models",
    "ZMachineContext": "zorkgpt.memory.models",
    "LLMClient": "zorkgpt.llm.client",
    "ScriptedLLM": "zorkgpt.llm.scripted",
    "EmbeddingProvider": "zorkgpt.embeddings.provider",
    "ZorkGPTError": "zorkgpt.errors",
}

__all__ = [
    "INVALIDATION_MARKER",
    "EmbeddingProvider",
    "LLMClient",
    "Memory",
    "MemoryStatus",
    "MemorySynthesisResponse",
    "ScriptedLLM",
    "SimpleMemoryManager",
    "ZMachineContext",
    "ZorkGPTError",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'zorkgpt' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
