"""Tests that any sequence of operations matches a simple model."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.fixtures.memory import memory
from tests.fixtures.stores import FileHome, Home, PostgresHome, empty_schema
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.history import replayed

PLACES = st.integers(1, 3)
KINDS = st.sampled_from(["core", "permanent", "ephemeral"])
SECRET = "until the restart"


class MemoryMachine(RuleBasedStateMachine):
    """Compares the memory with lists of lasting and ephemeral memories per location."""

    def __init__(self) -> None:
        super().__init__()
        self.home = self.new_home()
        self.lasting: dict[int, list] = {}
        self.passing: dict[int, list] = {}
        self.number = 0
        self.state = SimpleNamespace(episode_id=1, turn_count=0)

    def new_home(self) -> Home:
        raise NotImplementedError

    @initialize()
    def begin(self):
        self.manager = self.home.open(game_state=self.state)

    def teardown(self):
        self.manager.close()

    def new(self, kind):
        self.number += 1
        text = SECRET if kind == "ephemeral" else "x\n\n## Location 2: y\n    **[NOTE] z** *(Ep1, T1)*\n---\n  end"
        return memory(f"Memory {self.number}", kind, text=f"{text} {self.number}", turns=str(self.number))

    def cache_of(self, kind):
        return self.passing if kind == "ephemeral" else self.lasting

    def current(self, place):
        both = (*self.lasting.get(place, ()), *self.passing.get(place, ()))
        return [kept for kept in both if kept.status != "SUPERSEDED"]

    def mark(self, place, old, **fields):
        cache = self.cache_of(old.persistence)
        cache[place] = [replace(kept, **fields) if kept == old else kept for kept in cache[place]]

    @rule(place=PLACES, kind=KINDS)
    def add(self, place, kind):
        new = self.new(kind)
        assert self.manager.add_memory(place, "Room", new)
        self.cache_of(kind).setdefault(place, []).append(new)

    @rule(place=PLACES, kind=KINDS, data=st.data())
    def supersede(self, place, kind, data):
        new = self.new(kind)
        current = self.current(place)
        old = data.draw(st.sampled_from(current)) if current else memory("Nothing")
        allowed = bool(current) and not (kind == "ephemeral" and old.persistence != "ephemeral")
        assert self.manager.supersede_memory(place, "Room", old.title, new) is allowed
        if allowed:
            when = {"superseded_at_turn": self.number, "superseded_in_episode": self.state.episode_id}
            self.mark(place, old, status="SUPERSEDED", superseded_by=new.title, **when)
            self.cache_of(kind).setdefault(place, []).append(new)

    @rule(place=PLACES, data=st.data())
    def invalidate(self, place, data):
        current = self.current(place)
        if not current:
            assert self.manager.invalidate_memory(place, "Nothing", "wrong") is False
            return
        old = data.draw(st.sampled_from(current))
        assert self.manager.invalidate_memory(place, old.title, "wrong", 99)
        wrong = {"superseded_by": "INVALIDATED", "superseded_at_turn": 99, "invalidation_reason": "wrong"}
        self.mark(place, old, status="SUPERSEDED", superseded_in_episode=self.state.episode_id, **wrong)

    @rule()
    def reset(self):
        self.manager.reset_episode()
        self.state.episode_id += 1
        self.passing.clear()

    @rule()
    def reopen(self):
        self.manager.close()
        self.state.episode_id += 1
        self.manager = self.home.open(game_state=self.state)
        self.passing.clear()

    @rule(place=PLACES)
    def go_back_to_a_snapshot(self, place):
        saved = self.manager.snapshot()
        assert self.manager.add_memory(place, "Room", self.new("ephemeral"))
        self.manager.restore(saved)

    @rule(place=PLACES, kind=st.sampled_from(["core", "permanent"]))
    def another_process_adds(self, place, kind):
        new = self.new(kind)
        with self.home.open() as manager:
            assert manager.add_memory(place, "Room", new)
        self.lasting.setdefault(place, []).append(new)

    @invariant()
    def file_matches_the_model(self):
        found = parse(self.home.text().encode()).by_place()
        assert found == {place: kept for place, kept in self.lasting.items() if kept}

    @invariant()
    def ephemeral_memories_are_not_in_the_file(self):
        assert SECRET not in self.home.text()

    @invariant()
    def agent_sees_current_memories_only(self):
        for place in (1, 2, 3):
            current = self.current(place)
            text = self.manager.get_location_memory(place)
            all_shown = "not shown)" not in text
            shown = {kept.title for kept in current if f"{kept.title}:" in text}
            assert not all_shown or shown == {kept.title for kept in current}
            assert not any(
                f"{kept.title}:" in text
                for kept in (*self.lasting.get(place, ()), *self.passing.get(place, ()))
                if kept.status == "SUPERSEDED"
            )
            assert self.manager.get_persistent_count(place) == len(self.lasting.get(place, ()))
            assert self.manager.get_ephemeral_count(place) == len(self.passing.get(place, ()))

    @invariant()
    def replayed_journal_matches_the_model(self):
        store = self.manager.store
        if store.journal.size() > 0:
            with store.transaction():
                # Adds edits in the file to the journal.
                pass
            assert _sorted(store.journal.lasting()) == _sorted(self.lasting)
            own = replayed(record for record in store.journal.records() if record.episode == self.state.episode_id)
            assert _sorted(own) == _sorted(self.passing)


def _sorted(memories):
    return {
        place: sorted((replace(memory, id="") for memory in kept), key=str) for place, kept in memories.items() if kept
    }


class FileMachine(MemoryMachine):
    """A memory in a file that a person edits."""

    def new_home(self):
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "Memories.md"
        return FileHome(self.path)

    def teardown(self):
        super().teardown()
        shutil.rmtree(self.folder)

    @rule()
    def a_person_writes_a_note(self):
        data = self.path.read_bytes() if self.path.exists() else b""
        if data:
            self.path.write_bytes(data + f"\n## Note {self.number}\nNot for the machine.\n".encode())

    @rule(place=PLACES, data=st.data())
    def a_person_deletes_a_memory(self, place, data):
        if self.lasting.get(place):
            gone = data.draw(st.sampled_from(self.lasting[place]))
            lines = self.path.read_text().split("\n")
            at = next(n for n, text in enumerate(lines) if f"] {gone.title}**" in text)
            end = next(n for n in range(at, len(lines)) if not lines[n])
            self.path.write_text("\n".join(lines[:at] + lines[end + 1 :]))
            self.lasting[place].remove(gone)


TestMemoryMachine = FileMachine.TestCase
TestMemoryMachine.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)


@pytest.mark.slow
def test_postgresql_matches_the_model(postgres_server, postgres):
    class PostgresMachine(MemoryMachine):
        def new_home(self):
            return PostgresHome(empty_schema(postgres_server))

    few = settings(max_examples=5, stateful_step_count=20, deadline=None)
    run_state_machine_as_test(PostgresMachine, settings=few)
