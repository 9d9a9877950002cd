"""What to answer when the story asks something instead of awaiting a command: a few answers, each once."""

import re

from game_interface.models import InputMode, Question

_WHICH = re.compile(r"\bwhich\b[^,?]*,\s*(?:either\s+)?(?:the|an?|your)?\s*([^,?]+?)\s*(?:,|\bor\b|\?)", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d\b")
_ANY = ("yes", "no", "1", "2", "enter", "space", "q", "escape")


def answers_to(question: Question) -> tuple[str, ...]:
    """Return what is worth answering.

    At a pause or in a menu that is what leads back to commands; else the first thing that the question names, its
    numbers, yes or no.
    """
    back = question.way_back[:1]
    named = [found[1].lower() for found in _WHICH.finditer(question.text)][:1]
    first = back if question.mode is not InputMode.LINE else ()
    return tuple(dict.fromkeys((*first, *named, *_NUMBER.findall(question.text), *back, *_ANY)))
