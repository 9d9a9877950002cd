"""Tests of random lives of a memory file: calls, kills, edits, older copies and deletions, in any order."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.fixtures.disks import Killed, KillingDisk
from tests.fixtures.memory import memory
from tests.fixtures.stores import journal_file
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, Thing
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.lasting import EVERY, by_place
from zorkgpt.memory.storage.markdown import MarkdownStore

STEPS = 14
LIVES = 6
"""The number of lives in a test."""


class Life:
    """A memory file to which random things happen."""

    def __init__(self, path: Path, random: Random) -> None:
        self.path, self.random = path, random
        self.copies: list[bytes] = []
        self.number = 0
        self.done: list[str] = []

    def next(self, name: str = "Title") -> str:
        self.number += 1
        return f"{name} {self.number}"

    @property
    def text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""

    def step(self) -> None:
        if self.path.exists():
            self.copies.append(self.path.read_bytes())
        happens: Callable[[Life], None] = self.random.choice(HAPPENINGS)
        self.done.append(happens.__name__)
        happens(self)

    def add(self) -> None:
        with SimpleMemoryManager.open(self.path) as manager:
            assert manager.add_memory(self.random.choice([5, 6, 7]), "Hall", memory(self.next()))

    def add_together(self) -> None:
        with SimpleMemoryManager.open(self.path) as manager, manager.store.turn():
            for _ in range(3):
                assert manager.add_memory(self.random.choice([5, 6]), "Hall", memory(self.next()))

    def add_in_turn(self) -> None:
        with SimpleMemoryManager.open(self.path) as one, SimpleMemoryManager.open(self.path) as other:
            for _ in range(2):
                assert one.add_memory(5, "Hall", memory(self.next()))
                assert other.add_memory(6, "Attic", memory(self.next()))
            assert one.memory_cache == other.memory_cache

    def invalidate(self) -> None:
        with SimpleMemoryManager.open(self.path) as manager:
            for each in manager.all_memories()[:1]:
                manager.invalidate_memory(each.location_id, each.memory.title, "It is not so.")

    def see_again(self) -> None:
        with SimpleMemoryManager.open(self.path) as manager:
            for each in manager.all_memories()[-1:]:
                turns = str(self.number + 10)
                manager.add_memory(
                    each.location_id, "Hall", memory(each.memory.title, text=each.memory.text, turns=turns)
                )

    def kill(self) -> None:
        store = None
        try:
            store = MarkdownStore(self.path, disk=KillingDisk(self.random.choice(["before", "after"])))
            SimpleMemoryManager(path=store).add_memory(5, "Hall", memory(self.next()))
        except Killed:
            pass
        if store is not None:
            store.close()

    def reword(self) -> None:
        if "The text of" in self.text:
            self.path.write_text(self.text.replace("The text of", f"{self.next('Edit')}: text of", 1))

    def delete_entry(self) -> None:
        before, mark, after = self.text.partition("**[NOTE")
        if mark:
            self.path.write_text(before + after.partition("\n\n")[2])

    def write_entry(self) -> None:
        if self.text:
            self.path.write_text(self.text + f"\n**[NOTE] {self.next('By hand')}**\nA text.\n")

    def paste_entry(self) -> None:
        if self.text:
            header = f"**[NOTE - PERMANENT] {self.next('Pasted')}** *(Ep1, T3, +0)*"
            self.path.write_text(f"{self.text}\n{header}\nAnother text.\n")

    def bring_back_a_copy(self) -> None:
        if self.copies:
            self.path.write_bytes(self.random.choice(self.copies))

    def add_elsewhere(self) -> None:
        place = self.random.choice([GAME, Thing(9), "a/b", ("x", 5), -1])
        text = self.random.choice(["a\nb", "# x", "- y", "~~s~~", "  lead", "**[NOTE] No entry**", "---"])
        with SimpleMemoryManager.open(self.path) as manager:
            assert manager.add_memory(place, self.random.choice(["", "# odd *name*"]), memory(self.next(), text=text))

    def forget(self) -> None:
        with SimpleMemoryManager.open(self.path) as manager:
            for each in manager.all_memories()[:1]:
                assert manager.forget(each.id)

    def change_line_ends(self) -> None:
        if self.path.exists():
            self.path.write_bytes(self.path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    def write_another_section(self) -> None:
        if self.text:
            entry = f"**[NOTE] {self.next('By hand')}**\nIn a second section."
            self.path.write_text(f"{self.text}\n## Location 5: Hall again\n\n{entry}\n")

    def rename(self) -> None:
        if self.text:
            self.path.write_text(self.text.replace("] Title", "] Renamed", 1).replace(": Hall\n", ": Foyer\n", 1))

    def delete_record(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{journal_file(self.path)}{suffix}").unlink(missing_ok=True)

    def delete_file(self) -> None:
        if self.random.random() < 0.3:
            self.path.unlink(missing_ok=True)

    def check(self) -> None:
        """Check that record, history and file have the same memories, with the same times and sources."""
        with SimpleMemoryManager.open(self.path) as manager:
            found = by_place(manager.store.lasting.find(EVERY))
            recorded = {place: memories for place, memories in manager.store.journal.lasting().items() if memories}
        assert found == recorded, self.done
        for place, memories in found.items():
            for one, other in zip(memories, recorded[place], strict=True):
                assert (one.created_at, one.source, one.edited_by_person) == (
                    other.created_at,
                    other.source,
                    other.edited_by_person,
                ), self.done
        document = parse(self.text.encode())
        assert not document.is_broken
        shown = {place: sorted(map(repr, memories)) for place, memories in document.by_place().items()}
        assert shown == {place: sorted(map(repr, memories)) for place, memories in found.items()}, self.done


HAPPENINGS = (
    *(Life.add, Life.add, Life.add_together, Life.add_in_turn, Life.invalidate, Life.see_again, Life.kill),
    *(Life.reword, Life.delete_entry, Life.write_entry, Life.paste_entry),
    *(Life.add_elsewhere, Life.forget, Life.change_line_ends, Life.write_another_section, Life.rename),
    *(Life.bring_back_a_copy, Life.delete_record, Life.delete_file),
)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_file_record_and_history_agree_whatever_happens(tmp_path, part):
    for seed in range(part * LIVES, (part + 1) * LIVES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        life = Life(folder / "Memories.md", Random(seed))
        for _ in range(STEPS):
            life.step()
            life.check()
