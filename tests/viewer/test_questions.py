"""Tests of the questions in docs/viewer.md, each answered in at most three clicks or keys."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.fixtures.stores import journal_rows
from tests.fixtures.viewer import served, started, turn, write_history, write_log
from zorkgpt import Memory, SimpleMemoryManager
from zorkgpt.memory.storage.markdown import sidecar

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).parents[2] / "docs" / "viewer.md"
LAMP = Memory("NOTE", "Lamp gives light", 1, "1", 0, "The lamp gives light.", "permanent", tried=9, worked=8)
TROLL = Memory("NOTE", "Troll is friendly", 3, "2", 0, "The troll seems friendly.", "permanent", tried=7, worked=1)
SHOWN = f"[NOTE] {LAMP.title}: {LAMP.text}"
REASON = "The lamp gives light. I light it."


def write_episode(workdir, episode: int, *turns) -> None:
    ended = {"event": "episode_ended", "episode": episode, "reason": "turn limit", "max_score": 50}
    write_log(workdir, started(episode), *turns, ended, episode=episode)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("run")
    wrong = {"kind": "invalidated", "location_id": 10, "title": TROLL.title, "text": TROLL.text}
    wrong |= {"persistence": "permanent", "detail": "It struck."}
    learned = {
        memory.episode: {"kind": "added", "title": memory.title, "persistence": "permanent"} for memory in (LAMP, TROLL)
    }
    for episode in range(1, 5):
        second = turn(2, action="take lamp", score=5 * episode, reasoning=REASON, memory_shown=SHOWN)
        end = turn(3, score_before=5 * episode, score=5 * episode, died=episode == 2)
        first = turn(1, memory_events=[learned[episode]] if episode in learned else [])
        write_episode(workdir, episode, first, second, end | {"memory_events": [wrong] if episode == 4 else []})
        call = {"v": 1, "event": "model_called", "turn": 2, "role": "agent", "model": "m", "cost": 0.5, "answer": "ok"}
        call |= {"prompt_tokens": 900, "completion_tokens": 10, "messages": [{"speaker": "user", "content": "Now?"}]}
        (workdir / "runs" / str(episode) / "model_calls.jsonl").write_text(json.dumps(call) + "\n")
    with SimpleMemoryManager.open(workdir / "Memories.md") as memory:
        for fact in (LAMP, TROLL):
            memory.add_memory(10, "Hall", fact)
        memory.invalidate_memory(10, TROLL.title, "It struck.")
    rows = journal_rows(workdir / "Memories.md")
    for row in rows:
        if row.get("after"):
            is_wrong = row["kind"] == "invalidated"
            row |= {"episode": 4, "turn": 3} if is_wrong else {"episode": row["after"]["episode"], "turn": 1}
    sidecar(workdir / "Memories.md").put("DELETE FROM zorkgpt_journal WHERE id > %s", [(0,)])
    write_history(workdir, *rows)
    return workdir


QUESTIONS = {
    "Which episode did best?": (
        [],
        lambda page: expect(page.locator("#overview .summary")).to_contain_text("20 of 50"),
    ),
    "Did it learn from episode to episode?": ([], lambda page: expect(page.locator(".learning a")).to_have_count(4)),
    "Where did the points come from?": (
        ["#overview .points a:first-child"],
        lambda page: expect(page.locator("article[aria-current]")).to_contain_text("take lamp"),
    ),
    "What did it cost?": ([], lambda page: expect(page.locator("#overview .summary")).to_contain_text("$2.00")),
    "Which memory misled it most?": (
        ["m", "#everything th button:text-is('Misled')"],
        lambda page: expect(page.locator("#everything tbody summary").first).to_have_text(TROLL.title),
    ),
    "What did episode 4 know that 3 did not?": (
        ["#overview tr:has(a:text-is('Episode 3')) button"],
        lambda page: expect(page.locator("#everything tbody summary")).to_have_text([TROLL.title]),
    ),
    "What turned out to be wrong?": (
        ["/", "[data-event=disproved]", ".hit"],
        lambda page: expect(page.locator("#memories .fate")).to_have_text("Marked as wrong: It struck."),
    ),
    "Where did it die?": (
        ["/", "[data-event=death]", ".hit"],
        lambda page: expect(page.locator("article[aria-current]")).to_contain_text("died"),
    ),
    "Why did it do that?": (
        ["#overview .points a:first-child"],
        lambda page: expect(page.locator(".reliances")).to_contain_text(LAMP.title),
    ),
    "What does it know of a place?": (
        ["t", ".map .room:not(.unknown)"],
        lambda page: expect(page.locator("#memories .memory h4")).to_have_text([LAMP.title]),
    ),
    "What was the model asked, word for word?": (
        ["#overview .points a:first-child", "#turn .calls summary"],
        lambda page: expect(page.locator(".said").first).to_contain_text("Now?"),
    ),
}


@pytest.fixture(scope="module")
def address(workdir):
    with served(workdir) as url:
        yield url


@pytest.mark.parametrize("question", QUESTIONS)
def test_question_is_answered_in_three_steps(address, open_page, question):
    steps, answer = QUESTIONS[question]
    assert len(steps) <= 3
    page = open_page(address)
    expect(page.locator("#overview table[aria-label=Episodes] tbody tr")).to_have_count(4)
    for step in steps:
        if len(step) == 1:
            page.keyboard.press(step)
        else:
            page.locator(step).first.click()
    answer(page)


def test_documented_questions_are_tested():
    questions = re.findall(r"^\| ([A-Z][^|]*\?) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert questions == list(QUESTIONS)


def test_memories_learned_in_an_episode_have_an_address(address, open_page):
    page = open_page(f"{address}#memories&from=1")
    expect(page.locator("#everything tbody summary")).to_have_text([LAMP.title])
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#everything tbody summary")).to_have_count(2)
