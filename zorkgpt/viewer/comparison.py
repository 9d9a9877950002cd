"""Two episodes side by side: where they part."""

from typing import Any

from zorkgpt.viewer.episode_index import EpisodeIndex


def compared(one: EpisodeIndex, other: EpisodeIndex) -> dict[str, Any]:
    """The first turn on which they do not do, or do not get, the same.

    Returns:
        `same`: turns from the first on that are alike; `parted`: the turn after them, None if neither has one;
        `by`: "action", "outcome" or "end" (one of them was over).
    """
    same, by = 0, None
    for same, (mine, theirs) in enumerate(zip(_turns(one), _turns(other), strict=False), 1):
        if mine != theirs:
            same, by = same - 1, "action" if mine[0] != theirs[0] else "outcome"
            break
    if by is None and len(one) != len(other):
        by = "end"
    return {"one": one.episode, "other": other.episode, "same": same, "parted": same + 1 if by else None, "by": by}


def _turns(index: EpisodeIndex) -> list[tuple]:
    """(action, place before, place after, score) of each."""
    columns = index.columns
    actions = (" ".join(action.lower().split()) for action in index.actions)
    return list(zip(actions, columns["places"], columns["places_after"], columns["scores"], strict=True))
