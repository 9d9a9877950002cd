"""The episode's turns as the state keeps them, as values."""

from session.game_state import GameState
from zorkgpt.memory.synthesis import RecentTurn


class EpisodeTurns:
    """Each turn is made into a value once."""

    def __init__(self, state: GameState) -> None:
        self._state = state
        self._made: dict[int, tuple[dict, RecentTurn]] = {}
        """Turn → the entry that told of it, which does not change once it holds the response."""

    def clear(self) -> None:
        self._made.clear()

    def last(self, count: int) -> tuple[RecentTurn, ...]:
        """The last turns, oldest first."""
        entries = self._state.action_reasoning_history[-count:] if count > 0 else []
        responses = _responses(self._state, entries)
        return tuple(self._turn(entry, response) for entry, response in zip(entries, responses, strict=True))

    def _turn(self, entry: dict, response: str) -> RecentTurn:
        made = self._made.get(entry["turn"])
        if made is not None and made[0] is entry:
            return made[1]
        reasons = entry.get("reasoning") or ""
        turn = RecentTurn(entry["turn"], entry.get("location", ""), entry["action"], response, reasons)
        if "response" in entry:
            self._made[turn.turn] = entry, turn
        return turn


def _responses(state: GameState, entries: list[dict]) -> list[str]:
    """Of each entry its own, else that of the same action in the list of actions, matched from the last one back."""
    found = [entry.get("response") for entry in entries]
    if None not in found:
        return found
    played = list(state.action_history[-len(entries) :])
    for at in reversed(range(len(entries))):
        match = played.pop()[1] if played and played[-1][0] == entries[at]["action"] else ""
        found[at] = match if found[at] is None else found[at]
    return found
