"""The memory's public names, for code that imports them from here."""

from managers.base import BaseManager
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

BaseManager.register(SimpleMemoryManager)

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
