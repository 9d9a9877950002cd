"""Answers to try when the story asks a question instead of reading a command."""

import re

from game_interface.models import InputMode, Question

_WHICH = re.compile(r"\bwhich\b[^,?]*,\s*(?:either\s+)?(?:the|an?|your)?\s*([^,?]+?)\s*(?:,|\bor\b|\?)", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d\b")
_ANY = ("yes", "no", "1", "2", "enter", "space", "q", "escape")


def answers_to(question: Question) -> tuple[str, ...]:
    """Return the answers to try, the most promising first.

    At a pause or in a menu, the way back to commands comes first. Otherwise it is the first thing that the question
    names, then its numbers, yes and no.
    """
    back = question.way_back[:1]
    named = [match[1].lower() for match in _WHICH.finditer(question.text)][:1]
    first = back if question.mode is not InputMode.LINE else ()
    return tuple(dict.fromkeys((*first, *named, *_NUMBER.findall(question.text), *back, *_ANY)))
