"""Text normalization that every part of the project shares."""


def normalized_action(action: str) -> str:
    """Return the action in lower case with single spaces: the form in which actions are compared and stored."""
    return " ".join(action.lower().split())
