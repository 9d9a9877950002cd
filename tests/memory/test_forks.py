"""A memory that was opened before a fork goes on in the parent and in its children, and nothing is lost."""

import asyncio
import os
import threading
import traceback
from collections import Counter

import pytest

from tests.fixtures.forks import FORKS
from tests.fixtures.memory import WORKS, Answers, Play, remember
from zorkgpt.embeddings.hashing import HashingEmbeddings
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.asynchronous import AsyncMemory

CHILDREN, EACH = 4, 20


def in_a_process(work, *arguments) -> None:
    """Do this in a process of its own, which may fork: a fork of the tests' own one would have its threads' locks."""
    process = FORKS.Process(target=_done, args=(work, dict(os.environ), arguments))
    process.start()
    process.join()
    assert process.exitcode == 0


def _done(work, environment, arguments) -> None:
    os.environ.update(environment)
    work(*arguments)


def child(work, *arguments) -> int:
    """Fork a child that does this, and return its process id."""
    if pid := os.fork():
        return pid
    code = 1
    try:
        work(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def wait_for(*children: int) -> None:
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * len(children)


def write(memory: AgentMemory, name: str) -> None:
    for number in range(EACH):
        memory.remember(number % 3, f"{name} was here, time {number}.", title=f"{name} {number}")


def titles(address) -> Counter[str]:
    with AgentMemory.open(address) as memory:
        return Counter(each.memory.title for each in memory.all_memories())


def write_with_children(address) -> None:
    memory = AgentMemory.open(address)
    memory.remember(1, "The parent was first.", title="Before")
    children = [child(write, memory, f"Child {number}") for number in range(CHILDREN)]
    write(memory, "Parent")
    wait_for(*children)
    memory.remember(1, "The parent is last.", title="After")
    wait_for(child(write, memory, "Late child"))
    memory.close()


@pytest.mark.slow
def test_parent_and_children_write_at_once_and_nothing_is_lost(home):
    in_a_process(write_with_children, home.address)
    names = ["Parent", "Late child", *(f"Child {number}" for number in range(CHILDREN))]
    assert titles(home.address) == Counter(
        ["Before", "After", *(f"{name} {number}" for name in names for number in range(EACH))]
    )


def fork_while_threads_write(address) -> None:
    memory = AgentMemory.open(address, embeddings=HashingEmbeddings())
    threads = [threading.Thread(target=write, args=(memory, f"Thread {number}")) for number in range(3)]
    for thread in threads:
        thread.start()
    for number in range(CHILDREN):
        wait_for(child(write, memory, f"Child {number}"))
    for thread in threads:
        thread.join()


@pytest.mark.slow
def test_a_fork_while_threads_write_leaves_the_child_a_memory_that_works(home):
    in_a_process(fork_while_threads_write, home.address)
    names = [*(f"Thread {number}" for number in range(3)), *(f"Child {number}" for number in range(CHILDREN))]
    assert titles(home.address) == Counter(f"{name} {number}" for name in names for number in range(EACH))


def learn_in_a_child(address) -> None:
    memory = AgentMemory.open(address, synthesizer=Answers(remember("Lever", text="The lever opens the gate.")))
    memory.remember(5, "A lever is here.")
    wait_for(child(memory.learn, 5, "pull lever", "The gate opens.", {"reward": 5, "turn": 1}))
    assert "The lever opens the gate." in memory.recall(5)


def test_what_a_child_learns_is_stored(home):
    in_a_process(learn_in_a_child, home.address)
    assert titles(home.address) == Counter(["A lever is here", "Lever"])


def close_in_a_child(address) -> None:
    memory = AgentMemory.open(address)
    memory.remember(5, "A lever is here.", title="Lever")
    wait_for(child(memory.close), child(memory.search, "lever"), child(memory.recall, 5))
    memory.remember(5, "A rope is here.", title="Rope")
    assert [each.located.memory.title for each in memory.search("rope")] == ["Rope"]


def test_a_child_that_closes_the_memory_leaves_its_parent_the_connection(home):
    in_a_process(close_in_a_child, home.address)
    assert titles(home.address) == Counter(["Lever", "Rope"])


async def remember_all(memory: AsyncMemory, name: str) -> None:
    await asyncio.gather(*(memory.remember(5, f"{name}, {number}.", title=f"{name} {number}") for number in range(5)))


def share_asynchronously(address) -> None:
    memory = AsyncMemory(AgentMemory.open(address))
    asyncio.run(remember_all(memory, "Parent"))
    wait_for(child(lambda: asyncio.run(remember_all(memory, "Child"))))


def test_a_child_awaits_the_memory_of_its_parent(home):
    in_a_process(share_asynchronously, home.address)
    assert titles(home.address) == Counter(f"{name} {number}" for name in ("Parent", "Child") for number in range(5))


def count_once(address) -> None:
    play = Play(address)
    memory = play.manager
    memory.remember(5, "The lever opens the gate.", title="Lever", action="pull lever", category="SUCCESS")
    play.turn(1, action="wait")
    play.turn(2, **WORKS)
    wait_for(child(memory.remember, 6, "A rope is here."), child(memory.close))
    memory.remember(7, "A rug is here.")


def test_what_waits_to_be_counted_is_counted_by_the_parent_alone(home):
    in_a_process(count_once, home.address)
    with home.open() as memory:
        assert (memory.get("Lever").memory.tried, memory.get("Lever").memory.worked) == (1, 1)
