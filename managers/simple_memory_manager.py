"""The memory under the path that existing code imports it from."""

from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import (
    INVALIDATION_MARKER,
    Memory,
    MemoryKind,
    MemoryStatus,
    MemoryStatusType,
    ZMachineContext,
)

__all__ = [
    "INVALIDATION_MARKER",
    "Memory",
    "MemoryKind",
    "MemoryStatus",
    "MemoryStatusType",
    "MemorySynthesisResponse",
    "SimpleMemoryManager",
    "ZMachineContext",
]
