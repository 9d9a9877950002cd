"""The lifecycle that every manager has."""

from typing import Any, Protocol

from session.history import TurnRecord


class Manager(Protocol):
    """A thin face over an engine: the engine knows nothing of episodes, the manager knows little else."""

    def reset_episode(self) -> None:
        """A new episode begins: forget what was only true of the old one."""

    def process_turn(self, record: TurnRecord) -> None:
        """Learn from a turn."""

    def process_periodic_update(self) -> object:
        """Asked after every turn: do what is due only now and then, if it is due now."""

    def get_status(self) -> dict[str, Any]:
        """`{"type": ..., "state": ..., "metrics": {...}}`, for people and reports."""
