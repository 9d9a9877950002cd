"""An executor that plays the runs of an evaluation on a Ray cluster.

The machines share the folder of the evaluation or, if they have no common file system, a remote store. A worker takes
the folder of its run from the store and puts it back at the end. Turns are counted when their run has ended.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from zorkgpt.errors import ConfigurationError, FileError, reason_of
from zorkgpt.evals.executor import WorkerLost, failure_of, too_slow
from zorkgpt.evals.runs import EvaluationRun, TurnCounter
from zorkgpt.evals.storage import ResultStore
from zorkgpt.extras import require

LOCAL = "local"
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
        self._running: set[Any] = set()
        """The tasks of the running runs."""
        self._is_closed = False

    def play(self, run: EvaluationRun, count: TurnCounter, limit_s: float | None) -> str:
        errors = self._ray.exceptions
        if self._is_closed:
            raise WorkerLost("it was stopped")
        inputs = {path: path.read_bytes() for path in run.inputs}
        task = self._task.remote(run, inputs, self._store)
        self._running.add(task)
        try:
            if not self._ray.wait([task], timeout=limit_s)[0]:
                self._ray.cancel(task, force=True)
                return too_slow(limit_s)
            failure: str = self._ray.get(task)
            self._fetch(run)
            return failure
        except (errors.RayTaskError, errors.RaySystemError, FileError) as error:
            return reason_of(error)
        except errors.RayError as error:
            raise WorkerLost(f"its worker was lost: {reason_of(error)}") from None
        finally:
            self._running.discard(task)

    def close(self) -> None:
        self._is_closed = True
        for task in list(self._running):
            self._ray.cancel(task, force=True)
        # Other threads must not use Ray after its end.
        ends = time.monotonic() + _CLOSE_TIMEOUT_S
        while self._running and time.monotonic() < ends:
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


def play_on_worker(run: EvaluationRun, inputs: Mapping[Path, bytes], store_url: str | None) -> str:
    """Play a run on a worker. Return why it failed, or "" if it did not.

    Args:
        inputs: The content of each input.
        store_url: The remote store with the folder of the run. None if this machine has the folder.
    """
    with tempfile.TemporaryDirectory(prefix="zorkgpt-", ignore_cleanup_errors=True) as scratch:
        places = dict[Path, Path]()
        for path, data in inputs.items():
            # Keep files of the same folder together, because the profile of a story is found beside it.
            places[path] = Path(scratch) / sha256(bytes(path.parent)).hexdigest()[:8] / path.name
            places[path].parent.mkdir(exist_ok=True)
            places[path].write_bytes(data)
        if store_url is None:
            return failure_of(run.moved(run.root, places))
        store, moved = ResultStore(store_url), run.moved(Path(scratch) / "root", places)
        store.fetch(moved.root, moved.folder)
        failure = failure_of(moved)
        store.keep(moved.root, moved.folder)
        return failure
