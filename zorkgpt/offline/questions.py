"""What to answer when the story asks something instead of awaiting a command: a few answers, each once."""

import re

_WHICH = re.compile(r"\bwhich\b[^,?]*,\s*(?:either\s+)?(?:the|an?|your)?\s*([^,?]+?)\s*(?:,|\bor\b|\?)", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d\b")
_ANY = ("yes", "no", "1", "2", "enter", "space", "q", "escape")


def answers_to(question: str) -> tuple[str, ...]:
    """Return what is worth answering: the first thing that the question names, its numbers, yes, no, a key."""
    named = [found[1].lower() for found in _WHICH.finditer(question)][:1]
    return tuple(dict.fromkeys((*named, *_NUMBER.findall(question), *_ANY)))
