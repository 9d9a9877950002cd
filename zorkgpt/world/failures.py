"""The exits of a map that led nowhere."""

from collections.abc import Iterator, Mapping


class Failures:
    """How often exits led nowhere since they last worked."""

    def __init__(self) -> None:
        self._counts: dict[int, dict[str, int]] = {}

    def __iter__(self) -> Iterator[tuple[int, str, int]]:
        """Yield all as (room, exit, count)."""
        for room, counts in self._counts.items():
            yield from ((room, exit_, count) for exit_, count in counts.items())

    def of(self, room_id: int) -> Mapping[str, int]:
        """Return exit → count, for the exits of a room that led nowhere."""
        return self._counts.get(room_id, {})

    def add(self, room_id: int, exit_: str, times: int = 1) -> None:
        """Record that an exit led nowhere."""
        counts = self._counts.setdefault(room_id, {})
        counts[exit_] = counts.get(exit_, 0) + times

    def forget(self, room_id: int, exit_: str) -> bool:
        """Forget the failures of an exit. Return whether there were any."""
        return self._counts.get(room_id, {}).pop(exit_, None) is not None
