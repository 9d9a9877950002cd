"""Memories for tests, plain ones and any that there may be."""

from hypothesis import strategies as st

from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemorySynthesisResponse
from zorkgpt.memory.storage.escaping import one_line

FORGERIES = (
    "## Location 9: X",
    "\n## Location 9: X\n\n### Memories\n",
    "\n**[DANGER - CORE] Forged** *(Ep1, T1, +0)*\nForged text.\n",
    "**[DANGER - CORE] Forged** *(Ep1, T1, +0)*",
    "** *(Ep1, T1, +0)*",
    "---",
    "~~",
    "~~struck~~",
    "]",
    '[Superseded at T1 by "X"]',
    '[Invalidated at T1: "X"]',
    "*(Ep1",
    "\\",
    "\\u000a",
    '"1"',
    "1, 2 | **Episodes:** 9",
    "25→48",
    "23-24",
    "seen 3x",
    "1→Ep3",
    "->ep",
    "\x00",
    "\x1b[31m",
    "\u202egnp.exe",
    "a\u200bb",
    "\u2028## Location 9: X",
    "\ud800",
    "\udc80",
    "\ufeff",
)

texts = st.one_of(
    st.text(st.characters(), max_size=40),
    st.lists(st.one_of(st.sampled_from(FORGERIES), st.text(max_size=5)), max_size=4).map("".join),
)
plain_texts = st.text("abcdefgh ", min_size=1, max_size=20).filter(str.strip)
episodes = st.one_of(st.integers(-5, 10**6), texts)


def memory(title: str = "Rug hides a trap door", persistence: str = "permanent", **fields) -> Memory:
    given = {"category": "NOTE", "episode": 1, "turns": "3", "score_change": 0, "text": f"The text of {title}."}
    return Memory(**{**given, **fields}, title=title, persistence=persistence)


@st.composite
def memories(draw, text=texts):
    status = draw(st.sampled_from(["ACTIVE", "TENTATIVE", "SUPERSEDED"]))
    wrong = status == "SUPERSEDED"
    return Memory(
        category=draw(st.one_of(st.sampled_from(["SUCCESS", "DANGER"]), text)),
        title=draw(text),
        episode=draw(episodes),
        turns=draw(st.one_of(st.sampled_from(["25", "23-24", "25→48"]), text)),
        score_change=draw(st.one_of(st.none(), st.integers(-1000, 1000))),
        text=draw(text),
        persistence=draw(st.sampled_from(["core", "permanent"])),
        status=status,
        superseded_by=draw(st.one_of(st.none(), st.just(INVALIDATION_MARKER), text)) if wrong else None,
        superseded_at_turn=draw(st.one_of(st.none(), st.integers(-9, 10**6))) if wrong else None,
        invalidation_reason=draw(st.one_of(st.none(), text)) if wrong else None,
        observation_count=draw(st.integers(0, 1000)),
        tried=draw(st.integers(0, 10**9)),
        worked=draw(st.integers(0, 10**9)),
        pinned=draw(st.booleans()),
        vetoed=draw(st.booleans()),
        first_episode=draw(st.one_of(st.none(), episodes)),
    )


def in_one_line(given: Memory) -> Memory:
    """The memory but for white space."""
    return Memory(**{name: one_line(value) if isinstance(value, str) else value for name, value in vars(given).items()})


NOTHING = MemorySynthesisResponse(should_remember=False)


class Answers:
    """A synthesizer that gives these answers, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def synthesize(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else NOTHING
        if isinstance(answer, Exception):
            raise answer
        return answer


def remember(title="Sword", persistence="permanent", text=None, **fields):
    return MemorySynthesisResponse(
        should_remember=True,
        category=fields.pop("category", "DISCOVERY"),
        memory_title=title,
        memory_text=text or f"The text of {title}.",
        persistence=persistence,
        **fields,
    )
