"""The lifecycle that every manager has."""

from typing import Any, Protocol, runtime_checkable

from session.history import TurnRecord


class Manager(Protocol):
    """A thin face over an engine: the engine knows nothing of episodes, the manager knows little else."""

    def reset_episode(self) -> None:
        """A new episode begins: forget what was only true of the old one."""

    def process_turn(self, record: TurnRecord) -> None:
        """Learn from a turn. When an episode is resumed, its turns are learned again."""

    def process_periodic_update(self) -> object:
        """Asked after every turn: do what is due only now and then, if it is due now."""

    def get_status(self) -> dict[str, Any]:
        """`{"type": ..., "state": ..., "metrics": {...}}`, for people and reports."""


@runtime_checkable
class KeepsState(Protocol):
    """A manager that is more than its turns add up to, since it asks a model or looks across episodes.

    It is kept in the checkpoint and put back from there, and does not learn the turns again when an episode is resumed.
    """

    def to_dict(self) -> dict[str, Any]:
        """All of it, as plain values for JSON; asked after every turn."""

    def restore(self, state: dict[str, Any]) -> None:
        """Be as the one was that gave these values."""


@runtime_checkable
class Resumes(Protocol):
    """A manager for which going on with an episode is something else than beginning one."""

    def resume_episode(self) -> None:
        """In the place of `reset_episode`; the turns follow."""
