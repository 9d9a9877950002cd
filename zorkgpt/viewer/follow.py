"""Tells every watcher what is new: one reader for all, and never more than ten tellings a second."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool

from zorkgpt.viewer.answers import Answers, episode_row, is_quiet
from zorkgpt.viewer.run_files import RunFiles

TICK_S = 0.1
_ROWS = 60
"""Turns that are told whole at once; of more the page asks for what it shows."""
_BEHIND = 20
"""Tellings that may wait for a slow watcher; then it is told only how things stand."""


class Follower:
    """Reads the run while somebody watches."""

    def __init__(self, files: RunFiles, answers: Answers) -> None:
        self._files = files
        self._answers = answers
        self._watchers: set[asyncio.Queue[str]] = set()
        self._told: dict[int, tuple] = {}
        self._state: tuple = ()
        self._task: asyncio.Task | None = None

    async def watch(self) -> AsyncIterator[str]:
        """How things stand, then what is new, each as JSON."""
        queue: asyncio.Queue[str] = asyncio.Queue(_BEHIND)
        first = not self._watchers
        # From here on it is told what is new, so that nothing is missed meanwhile.
        self._watchers.add(queue)
        try:
            _offer(queue, await run_in_threadpool(self._standing, first))
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
            news = await run_in_threadpool(self._news)
            if news is not None:
                for queue in self._watchers:
                    _offer(queue, news)
            # What takes long is done less often: the game comes first.
            await asyncio.sleep(max(TICK_S, 4 * (loop.time() - began)))

    def _standing(self, first: bool) -> str:
        with self._files.lock:
            if first:
                self._news()
            return json.dumps(self._frame(grown={}))

    def _news(self) -> str | None:
        """None: nothing."""
        try:
            with self._files.lock:
                return self._what_is_new()
        except OSError:
            # A file was taken away, or can't be read for now; the next look tells how things are.
            return None

    def _what_is_new(self) -> str | None:
        files = self._files
        files.refresh()
        marks = {number: _mark(one) for number, one in files.episodes.items()}
        state = (marks, files.map.changes, files.memory_changes())
        if state == self._state:
            return None
        grown = {}
        for number, mark in marks.items():
            if mark != self._told.get(number):
                grown[number] = self._growth(number)
        self._told, self._state = marks, state
        return json.dumps(self._frame(grown))

    def _growth(self, number: int) -> dict[str, Any]:
        index = self._files.episodes[number]
        generation, start = self._told.get(number, (index.generation, 0))[:2]
        start = start if generation == index.generation else 0
        told = {"from": start, "generation": index.generation, "columns": index.slice(start), "row": episode_row(index)}
        if len(index) - start > _ROWS:
            return told
        return told | {"rows": self._answers.rows(index, start, len(index))}

    def _frame(self, grown: dict[int, Any]) -> dict[str, Any]:
        files = self._files
        return {
            "episodes": {number: [*_mark(one)[:2], _over(one)] for number, one in files.episodes.items()},
            "grown": grown,
            "names": {room: name for number in grown for room, name in files.episodes[number].names.items()},
            "map": files.map.changes,
            "memory": files.memory_changes(),
        }


def _mark(index: Any) -> tuple:
    return index.generation, len(index), bool(index.started), bool(index.ended), len(index.notes), is_quiet(index)


def _over(index: Any) -> bool:
    return episode_row(index)["reason"] is not None


def _offer(queue: asyncio.Queue[str], news: str) -> None:
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
    queue.put_nowait(news)
