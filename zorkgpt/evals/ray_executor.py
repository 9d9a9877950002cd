"""An executor that plays the runs of an evaluation on a Ray cluster.

The machines share the folder of the evaluation or, if they have no common file system, a remote store. A worker takes
the folder of its run from the store and puts it back at the end.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from zorkgpt.errors import ConfigurationError, FileError, reason_of
from zorkgpt.evals.executor import Deadline, WorkerLost, failure_of
from zorkgpt.evals.runs import EvaluationRun, TurnCounter
from zorkgpt.evals.storage import ResultStore
from zorkgpt.extras import require

LOCAL = "local"
_BETWEEN_TURNS_S = 1.0
"""Interval between a worker's reports of its turns."""
_CLOSE_TIMEOUT_S, _BETWEEN_LOOKS_S = 10.0, 0.05


class RayExecutor:
    """An executor that plays each run in a worker of a Ray cluster.

    Args:
        address: Address of a cluster, or "local" to start one on this machine.
        jobs: The number of parallel runs. Defaults to the number of CPUs in the cluster.
        store: The URL of the remote store. None if all machines share the folder of the evaluation.

    Raises:
        ConfigurationError: If Ray is not installed, or the cluster can't be reached.
    """

    def __init__(self, address: str, jobs: int | None = None, store: str | None = None) -> None:
        require("ray")
        self._ray = _connected(address, jobs)
        processors = self._ray.cluster_resources().get("CPU", 1)
        self.slots = jobs or int(processors)
        # Runs that wait for a model use little CPU time, so there may be more runs than CPUs.
        share = min(1.0, processors / self.slots)
        self._task = self._ray.remote(num_cpus=share, max_retries=0)(play_on_worker)
        self._store = store
        self._streams: set[Any] = set()
        """The streams of results of the running runs."""
        self._is_closed = False

    def play(self, run: EvaluationRun, count: TurnCounter, limit_s: float | None) -> str:
        deadline, errors = Deadline(limit_s), self._ray.exceptions
        if self._is_closed:
            raise WorkerLost("it was stopped")
        inputs = {path: path.read_bytes() for path in run.inputs}
        stream = self._task.options(num_returns="streaming").remote(run, inputs, self._store)
        self._streams.add(stream)
        try:
            while self._ray.wait([stream], timeout=deadline.left_s)[0]:
                message = self._ray.get(next(stream))
                if isinstance(message, str):
                    self._fetch(run)
                    return message
                count(message)
            self._ray.cancel(stream, force=True)
            return deadline.message
        except StopIteration:
            raise WorkerLost("its worker ended without a result") from None
        except (errors.RayTaskError, errors.RaySystemError, FileError) as error:
            return reason_of(error)
        except errors.RayError as error:
            raise WorkerLost(f"its worker was lost: {reason_of(error)}") from None
        finally:
            self._streams.discard(stream)

    def close(self) -> None:
        self._is_closed = True
        for stream in list(self._streams):
            self._ray.cancel(stream, force=True)
        # Other threads must not use Ray after its end.
        ends = time.monotonic() + _CLOSE_TIMEOUT_S
        while self._streams and time.monotonic() < ends:
            time.sleep(_BETWEEN_LOOKS_S)
        self._ray.shutdown()

    def _fetch(self, run: EvaluationRun) -> None:
        """Replace the folder of a run by the one that its worker stored."""
        if self._store is not None:
            shutil.rmtree(run.folder, ignore_errors=True)
            ResultStore(self._store).fetch(run.root, run.folder)


def _connected(address: str, jobs: int | None) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Makes workers use this installation instead of installing the project again.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
    try:
        if address == LOCAL:
            paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
            environment = {"env_vars": {"PYTHONPATH": paths}}
            ray.init("local", num_cpus=jobs, include_dashboard=False, runtime_env=environment, **options)
        else:
            ray.init(address, **options)
    except Exception as error:
        raise ConfigurationError(
            f"The Ray cluster at {address!r} can't be reached: {reason_of(error)}. Use --ray ADDRESS, such as auto or "
            "ray://host:10001, or --ray local to start a cluster on this machine."
        ) from None
    return ray


def play_on_worker(run: EvaluationRun, inputs: Mapping[Path, bytes], store_url: str | None) -> Iterator[int | str]:
    """Play a run on a worker.

    Args:
        inputs: The content of each input.
        store_url: The remote store with the folder of the run. None if this machine has the folder.

    Yields:
        The number of turns so far, repeatedly. At the end, why the run failed, or "".
    """
    with tempfile.TemporaryDirectory(prefix="zorkgpt-", ignore_cleanup_errors=True) as scratch:
        places = dict[Path, Path]()
        for path, data in inputs.items():
            # Keep files of the same folder together, because the profile of a story is found beside it.
            places[path] = Path(scratch) / sha256(bytes(path.parent)).hexdigest()[:8] / path.name
            places[path].parent.mkdir(exist_ok=True)
            places[path].write_bytes(data)
        if store_url is None:
            yield from _turns_and_end(run.moved(run.root, places))
            return
        store, moved = ResultStore(store_url), run.moved(Path(scratch) / "root", places)
        store.fetch(moved.root, moved.folder)
        for message in _turns_and_end(moved):
            if isinstance(message, str):
                store.keep(moved.root, moved.folder)
            yield message


def _turns_and_end(run: EvaluationRun) -> Iterator[int | str]:
    from queue import SimpleQueue
    from threading import Thread

    turn_counts: SimpleQueue[int | None] = SimpleQueue()
    ended: list[str] = []

    def play() -> None:
        try:
            ended.append(failure_of(run, turn_counts.put))
        finally:
            turn_counts.put(None)

    # The game runs in another thread, because a generator can't yield from within a callback.
    player = Thread(target=play, daemon=True)
    player.start()
    last = 0.0
    while (turns := turn_counts.get()) is not None:
        if time.monotonic() - last > _BETWEEN_TURNS_S:
            last = time.monotonic()
            yield turns
    player.join()
    yield ended[0] if ended else "it ended without a result"
