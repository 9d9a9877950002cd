"""Tests of comparing episodes by place and by score."""

import random
import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import served, started, turn, write_log

pytestmark = pytest.mark.slow

NAMES = {10: "Hall", 20: "Cellar", 30: "Loft", 40: "Shed"}
ENDED = {"event": "episode_ended", "reason": "turn limit"}


def walk(*steps):
    """Return turns from (place, action, place after, score). Responses of ten lines make the transcript scroll."""
    rows, before = [], 0
    for number, (place, action, after, score) in enumerate(steps, 1):
        named = {"location": NAMES[place], "location_after": NAMES[after]}
        scores = {"score_before": before, "score": score, "response": "A line.\n" * 10}
        rows.append(turn(number, location_id=place, location_after_id=after, action=action, **named, **scores))
        before = score
    return rows


START = [(10, "look", 10, 0), (10, "Take  lamp", 10, 5), (10, "down", 20, 5)]
FIRST = [*START, (20, "dig", 20, 5), (20, "up", 10, 5), (10, "up", 30, 5), (30, "pull rope", 30, 15)]
SECOND = [*START, (20, "wait", 20, 5), (20, "north", 40, 5), (40, "take axe", 40, 8), (40, "south", 20, 8)]
SECOND += [(20, "up", 10, 8), (10, "up", 30, 8), (30, "pull rope", 30, 18)]
THIRD = [(10, "up", 30, 0), (30, "pull rope", 30, 10), (30, "down", 10, 10), (10, "take lamp", 10, 15)]


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("comparison")
    for number, steps in enumerate((FIRST, SECOND, THIRD), 1):
        write_log(path, started(number), *walk(*steps), ENDED, episode=number)
    return path


@pytest.fixture(scope="module")
def address(workdir):
    with served(workdir) as url:
        yield url


def rows_of(page) -> list[list[str]]:
    """Return the rows of the comparison: the place and the turns of each episode there."""
    rows = page.locator("table.beside tbody tr")
    expect(rows.first).to_be_visible()
    return [
        [
            row.locator("th").inner_text(),
            *(cell.inner_text().splitlines()[0].strip() for cell in row.locator("td").all()),
        ]
        for row in rows.all()
    ]


def test_episodes_are_aligned_by_place(address, open_page):
    page = open_page(f"{address}#1:4&beside=2")
    assert rows_of(page) == [
        ["Hall", "1:1 to 3", "2:1 to 3"],
        ["Cellar", "1:4 to 5", "2:4 to 5"],
        ["Shed", "–", "2:6 to 7"],
        ["Cellar", "–", "2:8"],
        ["Hall", "1:6", "2:9"],
        ["Loft", "1:7", "2:10"],
    ]
    summary = page.locator("#beside .summary")
    expect(summary).to_contain_text(
        "Identical for 3 turns. In turn 4, the actions differ: 1:4 2:4. Same place again at Hall"
    )
    expect(page.locator("tr.parting th")).to_have_text("Cellar")
    expect(page.locator("tr.looked-at th")).to_have_text("Cellar")
    own = page.locator("#beside li", has=page.locator(".own")).all_inner_texts()
    assert [" ".join(words.split()) for words in own] == ["4 dig ◆", "5 up ◆", "4 wait ◆", "5 north ◆"]


def test_episodes_can_be_added_and_removed(address, open_page):
    page = open_page(f"{address}#1:4&beside=2")
    page.get_by_label("Add another episode").select_option("3")
    expect(page).to_have_url(re.compile("#1:4&beside=2,3$"))
    expect(page.locator("table.beside thead th")).to_have_count(4)
    assert rows_of(page)[-2:] == [["Loft", "1:7", "2:10", "3:2 to 3"], ["Hall", "–", "–", "3:4"]]
    expect(page.locator("#beside .summary")).to_have_count(2)
    page.get_by_role("button", name="Remove episode 2").click()
    expect(page).to_have_url(re.compile("#1:4&beside=3$"))
    expect(page.locator("table.beside thead th")).to_have_count(3)


def test_episodes_are_compared_by_score_events(address, open_page):
    page = open_page(f"{address}#1:4&beside=2,3")
    page.get_by_role("button", name="By score").click()
    expect(page).to_have_url(re.compile("&beside=2,3&by=score$"))
    cells = [[" ".join(cell.split()) for cell in row] for row in rows_of(page)]
    assert cells == [
        ["+5 take lamp Hall", "1:2", "2:2", "3:4"],
        ["+10 pull rope Loft", "1:7", "2:10", "3:2"],
        ["+3 take axe Shed", "never", "2:6", "never"],
        ["End", "1:7 15 points", "2:10 18 points", "3:4 15 points"],
    ]
    expect(page.locator("table.beside")).to_contain_text("15 points, 5 turns after the last points")


def test_comparison_links_to_turns(address, open_page):
    page = open_page(f"{address}#1:4&beside=2")
    page.get_by_role("link", name="2:6 to 7").click()
    expect(page.locator("#episodes select")).to_have_value("2")
    expect(page.locator("article[aria-current] .number")).to_have_text("6")
    expect(page).to_have_url(re.compile("#2:6$"))
    page.go_back()
    expect(page.locator("#beside")).to_be_visible()
    page.locator("table.beside .where").get_by_role("link", name="1:6").click()
    expect(page.locator("#episodes select")).to_have_value("1")
    expect(page.locator("article[aria-current] .number")).to_have_text("6")


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_comparison_keeps_scroll_positions(address, open_page, width, height):
    page = open_page(f"{address}#2:6&tab=knowledge", width=width, height=height)
    expect(page.locator("article[aria-current] .number")).to_have_text("6")
    page.locator("#turns").hover()
    page.mouse.wheel(0, -170)
    page.wait_for_timeout(300)
    before = page.evaluate("document.querySelector('#turns').scrollTop")
    page.get_by_label("Compare with another episode").select_option("1")
    expect(page.locator("table.beside tr.looked-at")).to_be_in_viewport()
    expect(page.locator("#turns")).to_be_hidden()
    page.evaluate("document.querySelector('#beside-body').scrollTop = 40")
    there = page.evaluate("document.querySelector('#beside-body').scrollTop")
    page.get_by_role("button", name="Close comparison").click()
    expect(page.locator("#turns")).to_be_visible()
    assert page.evaluate("document.querySelector('#turns').scrollTop") == before
    expect(page).to_have_url(re.compile("#2:6&tab=knowledge$"))
    page.get_by_label("Compare with another episode").select_option("1")
    expect(page.locator("table.beside")).to_be_visible()
    assert page.evaluate("document.querySelector('#beside-body').scrollTop") == there
    if width > 720:
        expect(page.locator("#knowledge")).to_be_visible()


def longest_common_subsequence(left: str, right: str) -> int:
    """Return the length of a longest common subsequence."""
    row = [0] * (len(right) + 1)
    for left_letter in left:
        before = row
        row = [0]
        for at, right_letter in enumerate(right, 1):
            row.append(before[at - 1] + 1 if left_letter == right_letter else max(before[at], row[-1]))
    return row[-1]


def test_alignment_is_a_longest_common_subsequence(address, open_page):
    chance = random.Random(3)
    words = [tuple("".join(chance.choices("abcd", k=chance.randrange(0, 30))) for _ in range(2)) for _ in range(200)]
    alignments = open_page(address).evaluate(
        "async (words) => { const { common } = await import('/static/comparison.js'); "
        "return words.map(([one, other]) => common([...one], [...other])); }",
        words,
    )
    for (left, right), pairs in zip(words, alignments, strict=True):
        assert all(left[left_at] == right[right_at] for left_at, right_at in pairs)
        assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(pairs))
        assert len(pairs) == longest_common_subsequence(left, right)
