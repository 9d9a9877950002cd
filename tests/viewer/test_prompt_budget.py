"""Tests of the prompt sections of a turn and their tokens."""

import json

import pytest
from playwright.sync_api import expect

from game_interface.models import Location, Observation
from tests.fixtures.viewer import started, turn, write_log
from zorkgpt.agent import prompt_for
from zorkgpt.context.prompt import AGENT
from zorkgpt.context.prompt import prompt_sections as sections_of
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.player import PlayerContext
from zorkgpt.viewer.episode_index import prompt_sections

HALL = Location(10, "Hall")
TOLD = "A hall.\n\n```\n## Objectives\n\nOpen the safe\U0001f511\n```\n## Nothing of the kind"
CONTEXT = PlayerContext(Observation(HALL, (), (), (), 5, 9), TOLD, turn=3, objectives=("Find the lamp",))
MESSAGES = [{"speaker": section.speaker, "content": section.content} for section in prompt_for(CONTEXT)]


def test_sections_and_tokens_match_the_agents_prompt():
    shown = sections_of(AGENT, CONTEXT)
    assert len(shown) > 3
    instructions, *sections = prompt_sections(MESSAGES)
    assert (instructions["heading"], instructions["tokens"]) == ("", estimated_tokens(MESSAGES[0]["content"]))
    assert [section["heading"] for section in sections] == [section.heading.lstrip("# ") for section in shown]
    # The question that ends the prompt counts with the last section.
    assert [section["tokens"] for section in sections[:-1]] == [section.tokens for section in shown[:-1]]
    assert sections[-1]["tokens"] > shown[-1].tokens


@pytest.mark.parametrize("content", ["", "\n", "## A", "Before\n## A\n\n# B\r\n", "```\n## A", "## A\x85## B\n\ud800"])
def test_sections_cover_the_whole_prompt(content):
    sections = prompt_sections([{"speaker": "user", "content": content}])
    units = content.encode("utf-16-le", "surrogatepass")
    assert sum(section["length"] for section in sections) * 2 == len(units)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("budget")
    write_log(path, started(), turn(1), turn(2), {"event": "episode_ended", "reason": "turn limit"})
    call = {"v": 1, "event": "model_called", "turn": 1, "role": "agent", "model": "m", "messages": MESSAGES}
    call |= {"prompt_tokens": 812, "completion_tokens": 5, "cost": None, "latency_s": 1.0, "answer": "ACTION: look"}
    (path / "runs" / "1" / "model_calls.jsonl").write_text(json.dumps(call) + "\n")
    return path


@pytest.mark.slow
def test_turn_shows_its_prompt_sections(address, open_page):
    page = open_page(f"{address}#1:1")
    budget = page.locator("#turn .budget")
    total = sum(section["tokens"] for section in prompt_sections(MESSAGES))
    expect(budget.locator("figcaption")).to_contain_text(f"About {total:,} tokens")
    expect(budget.locator("figcaption")).to_contain_text("the server reported 812")
    table = budget.get_by_role("table", name="Sections of the prompt")
    sections = prompt_sections(MESSAGES)
    expect(table.locator("tbody tr")).to_have_count(len(sections))
    expect(table.locator("tbody td:nth-child(2)")).to_have_text([f"{section['tokens']:,}" for section in sections])
    assert "Nothing of the kind" not in table.inner_text()
    for row in table.locator("summary").all():
        row.click()
    shown = "".join(table.locator(".verbatim").all_text_contents())
    assert shown == "".join(section["content"] for section in MESSAGES)
    page.keyboard.press("End")
    expect(page.locator("#turn .action").first).to_contain_text("look 2")
    expect(budget).to_have_count(0)
