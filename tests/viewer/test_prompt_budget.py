"""What the prompt of a turn held, section by section, with its tokens."""

import json

import pytest
from playwright.sync_api import expect

from game_interface.models import Location, Observation
from tests.fixtures.viewer import started, turn, write_log
from zorkgpt.agent import prompt_for
from zorkgpt.context.prompt import DEFAULT_BUDGETS, agent_sections
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.player import PlayerContext
from zorkgpt.viewer.episode_index import prompt_sections

HALL = Location(10, "Hall")
TOLD = "A hall.\n\n```\n## Objectives\n\nOpen the safe\U0001f511\n```\n## Nothing of the kind"
CONTEXT = PlayerContext(Observation(HALL, (), (), (), 5, 9), TOLD, turn=3, objectives=("Find the lamp",))
MESSAGES = [{"speaker": one.speaker, "content": one.content} for one in prompt_for(CONTEXT)]


def test_the_sections_are_those_that_the_agent_was_shown_with_the_tokens_that_it_counted():
    shown = agent_sections(CONTEXT, DEFAULT_BUDGETS)
    assert len(shown) > 3
    instructions, *sections = prompt_sections(MESSAGES)
    assert (instructions["heading"], instructions["tokens"]) == ("", estimated_tokens(MESSAGES[0]["content"]))
    assert [one["heading"] for one in sections] == [one.heading.lstrip("# ") for one in shown]
    # The question that ends the prompt stands below its last section.
    assert [one["tokens"] for one in sections[:-1]] == [one.tokens for one in shown[:-1]]
    assert sections[-1]["tokens"] > shown[-1].tokens


@pytest.mark.parametrize("content", ["", "\n", "## A", "Before\n## A\n\n# B\r\n", "```\n## A", "## A\x85## B\n\ud800"])
def test_the_sections_together_are_the_whole_prompt(content):
    sections = prompt_sections([{"speaker": "user", "content": content}])
    units = content.encode("utf-16-le", "surrogatepass")
    assert sum(one["length"] for one in sections) * 2 == len(units)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("budget")
    write_log(path, started(), turn(1), turn(2), {"event": "episode_ended", "reason": "turn limit"})
    call = {"v": 1, "event": "model_called", "turn": 1, "role": "agent", "model": "m", "messages": MESSAGES}
    call |= {"prompt_tokens": 812, "completion_tokens": 5, "cost": None, "latency_s": 1.0, "answer": "ACTION: look"}
    (path / "runs" / "1" / "model_calls.jsonl").write_text(json.dumps(call) + "\n")
    return path


@pytest.mark.slow
def test_a_turn_shows_what_its_prompt_held(address, open_page):
    page = open_page(f"{address}#1:1")
    budget = page.locator("#turn .budget")
    total = sum(one["tokens"] for one in prompt_sections(MESSAGES))
    expect(budget.locator("figcaption")).to_contain_text(f"About {total:,} tokens")
    expect(budget.locator("figcaption")).to_contain_text("the server reported 812")
    table = budget.get_by_role("table", name="Sections of the prompt")
    sections = prompt_sections(MESSAGES)
    expect(table.locator("tbody tr")).to_have_count(len(sections))
    expect(table.locator("tbody td:nth-child(2)")).to_have_text([f"{one['tokens']:,}" for one in sections])
    assert "Nothing of the kind" not in table.inner_text()
    for row in table.locator("summary").all():
        row.click()
    shown = "".join(table.locator(".verbatim").all_text_contents())
    assert shown == "".join(one["content"] for one in MESSAGES)
    page.keyboard.press("End")
    expect(page.locator("#turn .action").first).to_contain_text("look 2")
    expect(budget).to_have_count(0)
