"""How programs run in production, with each store: what was acknowledged is kept, once and whole."""

import pickle
import random

import pytest

from tests.fixtures import writers
from tests.fixtures.writers import Scene, check, in_a_process
from zorkgpt.errors import MemoryConflict

MODES = [writers.fork, writers.prefork, writers.spawn, writers.threads, writers.searching_threads, writers.tasks]


@pytest.fixture
def scene(home, tmp_path):
    return Scene(str(home.address), str(tmp_path / "acknowledged"))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_many_writers_lose_nothing(scene, mode):
    in_a_process(mode, scene)
    in_a_process(check, scene)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [writers.killed, writers.interrupted])
def test_writers_that_are_stopped_at_any_moment_leave_whole_memories(scene, mode):
    seed = random.randrange(100_000)
    print("seed:", seed)
    in_a_process(mode, scene, seed)
    in_a_process(check, scene, 200)


@pytest.mark.slow
@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_fork_while_a_model_is_loaded_leaves_the_child_a_memory_that_works(scene):
    in_a_process(writers.loading, scene)
    in_a_process(check, scene)


def test_an_error_of_another_process_arrives_whole():
    error = pickle.loads(pickle.dumps(MemoryConflict("Changed meanwhile.", "now")))
    assert (str(error), error.now) == ("Changed meanwhile.", "now")
