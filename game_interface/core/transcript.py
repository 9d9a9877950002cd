"""Read a story's printed text: its status line, endings and sentences."""

import re
from dataclasses import dataclass

from game_interface.core.names import heading_in

# For unsupported games, Jericho's text includes the status line: before the text up to version 3, and after the prompt
# from version 4 on.
_STATUS_BEFORE = re.compile(
    r"\A\s*(?:>\s*)?[^\n]*?\s{2,}(?:(?:Score|Time)\s*:[^\n]*|-?\d+/\d+\s*)(?:\n|\Z)", re.IGNORECASE
)
_STATUS_AFTER = re.compile(r"(?:\A|\n)\s*>(?:\s*|\s{8,}.*)\Z", re.DOTALL)
_PROMPT_BEFORE = re.compile(r"\A\s*>[ \t]*(?=\n|\Z)")  # the prompt after the previous response

_STARRED = re.compile(r"\*{3,}")
_REMARK = re.compile(r"\[[^\]]*\]")
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+[\"'”’)]*|$)")
_MAX_LAST_WORDS = 300  # characters
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
    """Return the text of an unsupported story without the status line and the prompt."""
    stripped = _STATUS_BEFORE.sub("", text) if version <= 3 else _STATUS_AFTER.sub("", text)
    return _PROMPT_BEFORE.sub("", stripped)


@dataclass(frozen=True, slots=True)
class Ending:
    """Whether a turn ended a life or the game."""

    died: bool
    """The player died on this turn. Some games continue."""
    finished: bool
    """The game is over."""
    victory: bool


def read_ending(
    text: str,
    *,
    deadflag: int | None = None,
    over: bool = False,
    won: bool = False,
    has_quit: bool = False,
    asks: bool | None = None,
) -> Ending:
    """Return whether the player died, and whether the game is over.

    Args:
        text: What the game printed.
        deadflag: Inform's `deadflag`. None if unknown. With 0, the game may still be over.
        over: Jericho's flag for a death, which is set only for supported games.
        won: Jericho's flag for a victory, likewise.
        has_quit: Whether the story has ended itself.
        asks: Whether the story asks a question instead of reading a command. None if unknown.
    """
    says_died = bool(_DIED.search(text))
    asks_finally = asks is not False and bool(_FINAL_QUESTION.search(text))
    if deadflag:
        return Ending(died=says_died or deadflag != 2, finished=True, victory=deadflag == 2)
    says_won = bool(_WON.search(text)) and (deadflag is None or asks is not False)
    victory = won or says_won
    died = (over or says_died) and not victory
    # Games that resurrect the player don't print a final score.
    scored = deadflag is None and died and bool(_FINAL_SCORE.search(text))
    return Ending(died, victory or has_quit or asks_finally or scored, victory)


def last_words(text: str) -> str:
    """Return the last sentences of a response, in one line of a few hundred characters.

    They are from the last paragraph, or from the last two if it is very short. Headings and the lines that stories
    print after a death are left out.
    """
    story = _STARRED.split(text, maxsplit=1)[0].strip()
    first, _, rest = story.partition("\n")
    if heading_in(first) and rest.strip():
        story = rest
    for ending in (_FINAL_SCORE, _FINAL_QUESTION):
        if match := ending.search(story):
            story = story[: story.rfind("\n", 0, match.start()) + 1]
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", _REMARK.sub("", story)) if each.strip()]
    while len(paragraphs) > 1 and paragraphs[-1].rstrip("\"'”’> ").endswith("?"):
        # The story asks what to do after a death.
        paragraphs.pop()
    last = paragraphs[-1:]
    if last and len(last[0].split()) < _FEW_WORDS:
        last = paragraphs[-2:]
    text = " ".join(last)
    words = ""
    for sentence in reversed(_sentences(text)):
        longer = f"{sentence} {words}".strip()
        if len(longer) > _MAX_LAST_WORDS:
            break
        words = longer
    return words or text[-_MAX_LAST_WORDS:]


def _sentences(line: str) -> list[str]:
    return [match.group().strip() for match in _SENTENCE.finditer(line)]


def common_end(line: str, other: str) -> str:
    """Return the last sentences that two lines share. "" if there are none."""
    shared: list[str] = []
    for sentence, other_sentence in zip(reversed(_sentences(line)), reversed(_sentences(other)), strict=False):
        if sentence != other_sentence:
            break
        shared.insert(0, sentence)
    return " ".join(shared)
