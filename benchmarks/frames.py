"""Count the stack frames between the recording of a turn and the write to the memory file, and the calls of a write.

`uv run python -m benchmarks.frames` prints the stack at the write for a new memory, a memory seen again, and a memory
that replaces another. A scripted synthesizer provides the memories. Then it prints the calls of this package's Python
functions by file, for a memory that is added to a place with three others.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

import zorkgpt
from zorkgpt.files import Disk
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory, ZMachineContext
from zorkgpt.memory.storage.markdown import MarkdownStore

PACKAGE = str(Path(zorkgpt.__file__).parent) + os.sep
PLACE = 12, "Cellar"
MEMORIES = (
    ("Bar holds the door", "An iron bar holds the door shut."),
    ("Lamp is bright", "The brass lamp gives light for a long time."),
    ("Stairs lead down", "The stone stairs lead down to the river."),
    ("Window is nailed", "The window is nailed shut and cannot be opened."),
)


class WatchedDisk(Disk):
    """A disk that records the stack of the last write to the memory file."""

    def __init__(self) -> None:
        self.frames: list[str] = []

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        if bytes(data[:20]).startswith(b"# Location Memories"):
            self.frames = stack()
        return os.write(descriptor, data)


class Answers:
    """A synthesizer with prepared answers."""

    asks_a_model = True

    def __init__(self, *answers: MemorySynthesisResponse) -> None:
        self._answers = iter(answers)

    def synthesize(self, request: object) -> MemorySynthesisResponse | None:
        return next(self._answers)


class Settings:
    """Settings without embeddings, so that memories are compared by words."""

    embedding_provider = "none"


def stack() -> list[str]:
    """Return the functions of the package on the stack, outermost first."""
    functions, frame = [], sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            functions.append(f"{code.co_filename.removeprefix(PACKAGE)}: {code.co_qualname}")
        frame = frame.f_back
    return functions[::-1]


def answer(title: str, text: str, **fields: object) -> MemorySynthesisResponse:
    return MemorySynthesisResponse(
        should_remember=True,
        category="DISCOVERY",
        memory_title=title,
        memory_text=text,
        persistence="permanent",
        **fields,
    )


def measured(folder: Path) -> dict[str, list[str]]:
    """Return the stack at the write of each case."""
    disk = WatchedDisk()
    answers = {
        "new": answer("Bar holds the door", "An iron bar holds the door shut."),
        "seen again": answer("Bar holds the door", "An iron bar holds the door shut."),
        "replaced": answer(
            "Bar lifts out",
            "The iron bar that holds the door lifts out.",
            supersedes_memory_titles={"Bar holds the door"},
        ),
    }
    manager = SimpleMemoryManager(
        config=Settings(),
        synthesizer=Answers(*answers.values()),
        path=MarkdownStore(folder / "Memories.md", disk=disk),
    )
    found = {}
    for turn, case in enumerate(answers, start=1):
        disk.frames = []
        context = ZMachineContext(turn=turn, inventory_changed=True)
        manager.record_action_outcome(*PLACE, f"try way {turn}", "Something happens.", context)
        found[case] = disk.frames
    return found


def calls(folder: Path) -> Counter[str]:
    """Return the number of calls by file while the last memory is added."""
    counts: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            counts[frame.f_code.co_filename.removeprefix(PACKAGE)] += 1

    manager = SimpleMemoryManager(config=Settings(), path=folder / "Memories.md")
    *before, last = [Memory("NOTE", title, 1, "1", None, text, "permanent") for title, text in MEMORIES]
    for memory in before:
        manager.add_memory(*PLACE, memory)
    sys.setprofile(count)
    try:
        manager.add_memory(*PLACE, last)
    finally:
        sys.setprofile(None)
    return counts


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for case, frames in measured(Path(folder)).items():
            print(f"{case}: {len(frames)} frames")
            for frame in frames:
                print(f"  {frame}")
    with tempfile.TemporaryDirectory() as folder:
        counts = calls(Path(folder))
    print(f"added beside three others: {counts.total()} calls in {len(counts)} files")
    for file, number in counts.most_common():
        print(f"{number:5} {file}")


if __name__ == "__main__":
    main()
