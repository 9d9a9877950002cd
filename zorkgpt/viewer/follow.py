"""Tell all watchers when a run has changed, at most ten times per second. The files are read once for all watchers."""

import asyncio
from collections.abc import AsyncIterator

from zorkgpt.viewer.answers import is_quiet
from zorkgpt.viewer.run_files import RunFiles

TICK_S = 0.1


class Follower:
    """Reads the run while there are watchers."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files
        self._watchers: set[asyncio.Event] = set()
        """An event per watcher, set by changes that it was not told about yet."""
        self._state: tuple[object, ...] = ()
        self._task: asyncio.Task[None] | None = None

    async def watch(self) -> AsyncIterator[None]:
        """Yield at once, and after each change. Changes during a pause of the watcher count as one."""
        changed = asyncio.Event()
        changed.set()
        self._watchers.add(changed)
        try:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._follow())
            while True:
                await changed.wait()
                changed.clear()
                yield
        finally:
            self._watchers.discard(changed)

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        while self._watchers:
            began = loop.time()
            if await asyncio.to_thread(self._has_changed):
                for changed in self._watchers:
                    changed.set()
            # Make slow updates less often, to leave the processor to the game.
            await asyncio.sleep(max(TICK_S, 4 * (loop.time() - began)))

    def _has_changed(self) -> bool:
        files = self._files
        try:
            with files.lock:
                files.refresh()
                episodes = [
                    (
                        number,
                        index.generation,
                        len(index),
                        index.started,
                        index.ended,
                        len(index.notes),
                        is_quiet(index),
                    )
                    for number, index in files.episodes.items()
                ]
                state = (episodes, files.map.changes, files.threads.changes)
        except OSError:
            # A file was removed or is temporarily unreadable. A later change will show it.
            return False
        has_changed, self._state = state != self._state, state
        return has_changed
