"""The episode's turns as the state keeps them, as values."""

from session.game_state import GameState
from zorkgpt.memory.synthesis import RecentTurn


def turns_of(state: GameState, count: int) -> tuple[RecentTurn, ...]:
    """The last turns, oldest first."""
    if count <= 0:
        return ()
    entries = state.action_reasoning_history[-count:]
    responses = _responses(state, entries)
    return tuple(
        RecentTurn(entry["turn"], entry.get("location", ""), entry["action"], response, entry.get("reasoning") or "")
        for entry, response in zip(entries, responses, strict=True)
    )


def _responses(state: GameState, entries: list[dict]) -> list[str]:
    """Of each entry its own, else that of the same action in the list of actions, matched from the last one back."""
    played = list(state.action_history[-len(entries) :]) if entries else []
    found = []
    for entry in reversed(entries):
        match = played.pop()[1] if played and played[-1][0] == entry["action"] else ""
        found.append(entry.get("response", match))
    return found[::-1]
