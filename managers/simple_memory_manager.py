"""The memory's public names, for code that imports them from here."""

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
