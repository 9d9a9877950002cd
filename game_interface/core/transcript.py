"""What only the printed text shows: the status line and the end of the game."""

import re
from dataclasses import dataclass

from game_interface.core.names import heading_in

# Jericho keeps the status line in the text of stories that it does not know: before the text up to version 3, after it
# (behind the prompt) from version 4 on.
_STATUS_BEFORE = re.compile(
    r"\A\s*(?:>\s*)?[^\n]*?\s{2,}(?:(?:Score|Time)\s*:[^\n]*|-?\d+/\d+\s*)(?:\n|\Z)", re.IGNORECASE
)
_STATUS_AFTER = re.compile(r"(?:\A|\n)\s*>(?:\s*|\s{8,}.*)\Z", re.DOTALL)
_PROMPT_BEFORE = re.compile(r"\A\s*>[ \t]*(?=\n|\Z)")  # printed after the last text, sent with this one

_STARRED = re.compile(r"\*{3,}")
_REMARK = re.compile(r"\[[^\]]*\]")
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+[\"'”’)]*|$)")
_MOST_LAST_WORDS = 300
_FEW_WORDS = 6

_STARS = r"\*{3,}\s*"
_DIED = re.compile(
    _STARS + r"you (?:have|are|'ve) (?:died|dead|been killed)|" + _STARS + r"you are dead", re.IGNORECASE
)
_WON = re.compile(_STARS + r"you(?: have|'ve)? won", re.IGNORECASE)
_FINAL_QUESTION = re.compile(
    r"\brestart\b.{0,80}\brestore\b.{0,160}\b(?:quit|end)\b[^\n]*\s*>?\s*\Z", re.IGNORECASE | re.DOTALL
)
_FINAL_SCORE = re.compile(
    r"\b(?:score is|you scored|score was)\b[^\n]*\b\d+\b[^\n]*\bin\s+\d+\s+(?:moves?|turns?)\b", re.IGNORECASE
)


def without_status_line(text: str, version: int) -> str:
    """Return the text of a story that Jericho does not know, without status line and prompt."""
    stripped = _STATUS_BEFORE.sub("", text) if version <= 3 else _STATUS_AFTER.sub("", text)
    return _PROMPT_BEFORE.sub("", stripped)


@dataclass(frozen=True, slots=True)
class Ending:
    """Whether a turn ended a life or the game."""

    died: bool
    """The player died on this turn; some games go on."""
    finished: bool
    """The game is over."""
    victory: bool


def read_ending(
    text: str,
    *,
    deadflag: int | None = None,
    over: bool = False,
    won: bool = False,
    halted: bool = False,
    asks: bool | None = None,
) -> Ending:
    """Return whether the player died, and whether the game is over.

    Args:
        text: What the game printed.
        deadflag: Inform's variable of that name; None if unknown. 0 does not prove that the game goes on.
        over: Jericho's flag for a death, only set for games that it knows.
        won: Jericho's flag for a victory, as above.
        halted: The emulator has stopped.
        asks: The story awaits an answer instead of a command; None if unknown. A text alone is no final question.
    """
    says_died = bool(_DIED.search(text))
    asks_finally = asks is not False and bool(_FINAL_QUESTION.search(text))
    if deadflag:
        return Ending(died=says_died or deadflag != 2, finished=True, victory=deadflag == 2)
    says_won = bool(_WON.search(text)) and (deadflag is None or asks is not False)
    victory = won or says_won
    died = (over or says_died) and not victory
    # A game that resurrects the player does not print the final score.
    scored = deadflag is None and died and bool(_FINAL_SCORE.search(text))
    return Ending(died, victory or halted or asks_finally or scored, victory)


def last_words(text: str) -> str:
    """Return the last sentences of a response that tell what happened, in one line of a few hundred characters.

    That is the last paragraph before the lines that stories print after a death, or the last two if it is very short.
    The heading of a place is no part of it.
    """
    story = _STARRED.split(text, maxsplit=1)[0].strip()
    first, _, rest = story.partition("\n")
    if heading_in(first) and rest.strip():
        story = rest
    for ending in (_FINAL_SCORE, _FINAL_QUESTION):
        if found := ending.search(story):
            story = story[: story.rfind("\n", 0, found.start()) + 1]
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", _REMARK.sub("", story)) if each.strip()]
    while len(paragraphs) > 1 and paragraphs[-1].rstrip("\"'”’> ").endswith("?"):
        # The story asks what to do after a death.
        paragraphs.pop()
    kept = paragraphs[-1:]
    if kept and len(kept[0].split()) < _FEW_WORDS:
        kept = paragraphs[-2:]
    told = ""
    for sentence in reversed(sentences(" ".join(kept))):
        longer = f"{sentence} {told}".strip()
        if len(longer) > _MOST_LAST_WORDS:
            break
        told = longer
    return told or " ".join(kept)[-_MOST_LAST_WORDS:]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in one line."""
    return [found.group().strip() for found in _SENTENCE.finditer(text)]


def common_end(text: str, other: str) -> str:
    """Return the last sentences that two texts share; "" if there are none."""
    shared: list[str] = []
    for sentence, another in zip(reversed(sentences(text)), reversed(sentences(other)), strict=False):
        if sentence != another:
            break
        shared.insert(0, sentence)
    return " ".join(shared)
