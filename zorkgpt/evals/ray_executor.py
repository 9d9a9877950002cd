"""An executor that plays the runs of an evaluation on a Ray cluster.

The machines don't have to share a file system. The inputs and the folder of a run are sent to its worker, and the
folder is sent back at the end.
"""

import io
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from zorkgpt.errors import ConfigurationError, reason_of
from zorkgpt.evals.executor import RunEvent, failure_of
from zorkgpt.evals.runs import EvaluationRun
from zorkgpt.extras import require

LOCAL = "local"
_BETWEEN_TURNS_S = 1.0
"""Interval between a worker's reports of its turns."""
_NOT_COPIED = (".lock", ".tmp")
"""Suffixes of files that are not copied."""


class RayExecutor:
    """An executor that plays each run in a worker of a Ray cluster.

    Args:
        address: Address of a cluster, or "local" to start one on this machine.
        jobs: The number of parallel runs. Defaults to the number of CPUs in the cluster.

    Raises:
        ConfigurationError: If Ray is not installed, or the cluster can't be reached.
    """

    def __init__(self, address: str, jobs: int | None = None) -> None:
        require("ray")
        self._ray = _connected(address, jobs)
        processors = self._ray.cluster_resources().get("CPU", 1)
        self.slots = jobs or int(processors)
        # Runs that wait for a model use little CPU time, so there may be more runs than CPUs.
        share = min(1.0, processors / self.slots)
        self._play = self._ray.remote(num_cpus=share, max_retries=0)(play_on_worker)
        self._streams: dict[Any, EvaluationRun] = {}
        """The stream of results of each running run."""
        self._inputs: dict[Path, Any] = {}
        """Input of a run → its reference in the cluster."""

    def submit(self, run: EvaluationRun) -> None:
        for path in run.inputs:
            if path not in self._inputs:
                self._inputs[path] = self._ray.put((path, packed(path)))
        inputs = [self._inputs[path] for path in run.inputs]
        folder = packed(run.folder) if run.folder.is_dir() else b""
        self._streams[self._play.options(num_returns="streaming").remote(run, folder, *inputs)] = run

    def events(self, timeout_s: float | None) -> list[RunEvent]:
        ready, _ = self._ray.wait(list(self._streams), num_returns=1, timeout=timeout_s)
        return [event for stream in ready if (event := self._next_event(stream)) is not None]

    def _next_event(self, stream: Any) -> RunEvent | None:
        run = self._streams[stream]
        try:
            message = self._ray.get(next(stream))
        except StopIteration:
            del self._streams[stream]
            return RunEvent(run, failure="its worker ended without a result", is_lost=True)
        except (self._ray.exceptions.RayTaskError, self._ray.exceptions.RaySystemError) as error:
            del self._streams[stream]
            return RunEvent(run, failure=reason_of(error))
        except self._ray.exceptions.RayError as error:
            del self._streams[stream]
            return RunEvent(run, failure=f"its worker was lost: {reason_of(error)}", is_lost=True)
        if isinstance(message, int):
            return RunEvent(run, message)
        del self._streams[stream]
        failure, data = message
        _replace_folder(run.folder, data)
        return RunEvent(run, failure=failure)

    def stop(self, run: EvaluationRun) -> None:
        for stream in [stream for stream, streamed in self._streams.items() if streamed is run]:
            self._ray.cancel(stream, force=True)
            del self._streams[stream]

    def close(self) -> None:
        for run in list(self._streams.values()):
            self.stop(run)
        self._ray.shutdown()


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


def play_on_worker(run: EvaluationRun, folder: bytes, *inputs: tuple[Path, bytes]) -> Iterator[int | tuple[str, bytes]]:
    """Play a run on a worker.

    Args:
        folder: The packed folder of the run from an earlier attempt, or b"".
        inputs: The path and packed content of each input.

    Yields:
        The number of turns so far, repeatedly. At the end, why the run failed (or ""), and its packed folder.
    """
    scratch = Path(tempfile.mkdtemp(prefix="zorkgpt-"))
    try:
        root, places = scratch / "root", dict[Path, Path]()
        for path, data in inputs:
            # Keep files of the same folder together, because the profile of a story is found beside it.
            places[path] = scratch / sha256(bytes(path.parent)).hexdigest()[:8] / path.name
            unpack(data, places[path])
        moved = run.moved(root, places)
        if folder:
            unpack(folder, moved.folder)
        yield from _turns_and_end(moved)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _turns_and_end(run: EvaluationRun) -> Iterator[int | tuple[str, bytes]]:
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
    yield (ended[0] if ended else "it ended without a result"), packed(run.folder) if run.folder.is_dir() else b""


def packed(path: Path) -> bytes:
    """Return a file or folder as an archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        archive.add(path, arcname=".", filter=lambda member: None if member.name.endswith(_NOT_COPIED) else member)
    return buffer.getvalue()


def unpack(data: bytes, path: Path) -> None:
    """Extract an archive made by `packed`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        [first, *_] = members = archive.getmembers()
        if first.isfile():
            content = archive.extractfile(first)
            assert content is not None
            path.write_bytes(content.read())
        else:
            archive.extractall(path, members, filter="data")


def _replace_folder(folder: Path, data: bytes) -> None:
    """Replace the folder of a run by the archive from its worker."""
    if not data:
        return
    draft = folder.with_name(f".{folder.name}.arriving")
    shutil.rmtree(draft, ignore_errors=True)
    unpack(data, draft)
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)
