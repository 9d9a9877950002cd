"""Send updates of a run to all watchers, at most ten per second. The files are read once for all watchers."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from zorkgpt.viewer.answers import Answers, episode_row, is_quiet, place_names
from zorkgpt.viewer.episode_index import EpisodeIndex
from zorkgpt.viewer.run_files import RunFiles

TICK_S = 0.1
MAX_ROWS = 60
"""Maximum number of complete turns in an update. If there are more, the page requests the turns it shows."""
_MAX_QUEUED = 20
"""Maximum number of updates queued for a slow watcher. Then all but the latest are dropped."""


class Follower:
    """Reads the run while there are watchers."""

    def __init__(self, files: RunFiles, answers: Answers) -> None:
        self._files = files
        self._answers = answers
        self._watchers: set[asyncio.Queue[str]] = set()
        self._reported: dict[int, _Fingerprint] = {}
        self._state: tuple[object, ...] = ()
        self._task: asyncio.Task[None] | None = None

    async def watch(self) -> AsyncIterator[str]:
        """Yield the current state, then updates, each as JSON."""
        queue: asyncio.Queue[str] = asyncio.Queue(_MAX_QUEUED)
        first = not self._watchers
        # Register before reading the current state, so that no update is missed.
        self._watchers.add(queue)
        try:
            _offer(queue, await asyncio.to_thread(self._current_state, first))
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._follow())
            while True:
                yield await queue.get()
        finally:
            self._watchers.discard(queue)

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        while self._watchers:
            began = loop.time()
            update = await asyncio.to_thread(self._update)
            if update is not None:
                for queue in self._watchers:
                    _offer(queue, update)
            # Make slow updates less often, to leave the processor to the game.
            await asyncio.sleep(max(TICK_S, 4 * (loop.time() - began)))

    def _current_state(self, first: bool) -> str:
        with self._files.lock:
            if first:
                self._update()
            return json.dumps(self._frame(grown={}))

    def _update(self) -> str | None:
        """Return an update. None if there is nothing new."""
        try:
            with self._files.lock:
                return self._updated_frame()
        except OSError:
            # A file was removed or is temporarily unreadable. A later update will show it.
            return None

    def _updated_frame(self) -> str | None:
        files = self._files
        files.refresh()
        fingerprints = {number: _fingerprint(index) for number, index in files.episodes.items()}
        state = (fingerprints, files.map.changes, files.threads.changes)
        if state == self._state:
            return None
        grown = {}
        for number, fingerprint in fingerprints.items():
            if fingerprint != self._reported.get(number):
                grown[number] = self._new_turns(number)
        self._reported, self._state = fingerprints, state
        return json.dumps(self._frame(grown))

    def _new_turns(self, number: int) -> dict[str, Any]:
        index = self._files.episodes[number]
        generation, start = self._reported.get(number, (index.generation, 0))[:2]
        start = start if generation == index.generation else 0
        growth = {
            "from": start,
            "generation": index.generation,
            "columns": index.slice(start),
            "row": episode_row(index),
        }
        if len(index) - start > MAX_ROWS:
            return growth
        return growth | {"rows": self._answers.rows(index, start, len(index))}

    def _frame(self, grown: dict[int, Any]) -> dict[str, Any]:
        files = self._files
        return {
            "episodes": {
                number: [index.generation, len(index), episode_row(index)["reason"] is not None]
                for number, index in files.episodes.items()
            },
            "grown": grown,
            "names": place_names(files.room_names()) if grown else {},
            "map": files.map.changes,
            "memory": files.threads.changes,
            "damage": files.damage(),
            "differing": files.threads.differing,
        }


_Fingerprint = tuple[int, int, bool, bool, int, bool]
"""The state of an episode, compared to detect changes. Begins with the generation and the number of turns."""


def _fingerprint(index: EpisodeIndex) -> _Fingerprint:
    return index.generation, len(index), bool(index.started), bool(index.ended), len(index.notes), is_quiet(index)


def _offer(queue: asyncio.Queue[str], update: str) -> None:
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
    queue.put_nowait(update)
