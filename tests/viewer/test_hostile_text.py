"""Tests that text of a game, a model or a person is never interpreted, and never breaks the layout."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import served, started, turn, write_history, write_log

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'><svg onload=window.hit=1>"
    "</script><script>window.hit = 1</script><!-- <style>body{display:none}</style> "
    "<a href='javascript:window.hit=1'>x</a>"
    " {{7*7}} ${window.hit = 1} [x](javascript:window.hit=1) &lt;b&gt; \u202e right to left \u2066 "
    "\u0000\u0007\u001b[31m \ud800 "
)
LONG = "x" * 100_000
WIDE = "W" * 5_000
WIDTHS, HEIGHT = (1400, 390), 850
STRANGE = [
    *("__proto__", "constructor", 5, -1, 2**70, 1.5, True, None, [], {}, [[1]], {"a": [{"b": None}]}),
    [None, 5, "__proto__", {"kind": [], "title": {}}],
    {"__proto__": {"pinned": True}, "constructor": 1, "toString": 2, "valueOf": 3, "length": 9},
]


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """A run with hostile text in every field, and long lines in some."""
    workdir = tmp_path_factory.mktemp("hostile")
    events = [
        {"kind": kind, "location_id": 10, "title": HOSTILE + WIDE, "persistence": "permanent", "category": HOSTILE}
        | {"detail": HOSTILE, "text": HOSTILE, "other": HOSTILE, "status": "ACTIVE"}
        for kind in ("added", "merged", "contested", HOSTILE)
    ]
    events.append(events[0] | {"persistence": "ephemeral"})
    rejection = {"action": HOSTILE, "reason": HOSTILE + LONG, "judge": HOSTILE, "score": -0.5, "obeyed": True}
    words = dict.fromkeys(
        ("player", "location", "location_after", "action", "reasoning", "refused", "fault"), HOSTILE + WIDE
    )
    rows = [
        turn(
            n,
            **words,
            response=HOSTILE + LONG,
            inventory=[HOSTILE, WIDE],
            score_before=n - 1,
            score=n,
            memory_shown=HOSTILE,
            location_after_id=10 + n,
        )
        | {"memory_events": events, "rejections": [rejection], "extraction": {"exits": [HOSTILE]}}
        for n in range(1, 6)
    ]
    story = {"title": HOSTILE + WIDE}
    ends = {"event": "episode_ended", "episode": 1, "reason": HOSTILE, "message": HOSTILE + LONG, "time": HOSTILE}
    goals = [{"text": HOSTILE + WIDE, "status": HOSTILE, "condition": HOSTILE, "reached": [{"x": HOSTILE}]}, HOSTILE]
    notes = (
        {"event": "objectives_updated", "episode": 1, "turn": 2, "objectives": goals},
        {
            "event": "knowledge_updated",
            "episode": 1,
            "turn": 2,
            "added": [HOSTILE],
            "struck": [WIDE],
            "text": HOSTILE + LONG,
        },
    )
    first = started(story=story, opening=HOSTILE + LONG, player=HOSTILE, time=HOSTILE)
    write_log(workdir, first, *rows[:2], *notes, *rows[2:], ends)
    write_log(workdir, started(2, story=story), turn(1, action=HOSTILE), episode=2)
    write_hostile_calls(workdir)
    write_hostile_history(workdir)
    return workdir


def write_hostile_calls(workdir):
    call = {"v": 1, "event": "model_called", "episode": 1, "turn": 5, "role": HOSTILE, "model": HOSTILE + WIDE}
    call |= {"messages": [{"speaker": HOSTILE, "content": HOSTILE + LONG}], "answer": HOSTILE, "reasoning": HOSTILE}
    path = workdir / "runs" / "1" / "model_calls.jsonl"
    path.write_text(json.dumps(call | {"error": None}) + "\n" + json.dumps(call | {"error": HOSTILE}) + "\n")


def write_hostile_history(workdir):
    memory = dict.fromkeys(("category", "title", "text", "status", "episode", "turns"), HOSTILE)
    row = {"at": "2026-01-01", "kind": HOSTILE, "location_id": 10, "location_name": HOSTILE, "reason": HOSTILE + LONG}
    row |= {"before": None, "after": memory, "other": memory, "episode": 1, "turn": 1, "source": HOSTILE}
    wide = memory | {"title": WIDE, "text": LONG, "status": "SUPERSEDED", "superseded_by": HOSTILE, "turns": "1"}
    rows = [row, row | {"before": None, "after": wide, "kind": "added"}]
    write_history(workdir, *rows)


def test_hostile_text_in_every_field_stays_text(address, open_page):
    page = open_page(f"{address}#1:5")
    expect(page.locator("article[aria-current] .number")).to_have_text("5")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for panel in ("transcript", "world", "turn", "known"):
            if width < 720:
                page.locator(f"[data-opens={panel}]").click()
            open_details(page)
            assert_unharmed(page, width)
            if panel == "transcript":
                assert "<script>window.hit" in page.locator("article[aria-current] .story").inner_text()
    assert page.locator("#known .memory").count() > 0
    assert page.locator("#turn .sides").count() > 0


@pytest.mark.parametrize(
    ("sight", "content"),
    [
        ("1:1&beside=2", "#beside .summary"),
        ("overview", ".points li"),
        ("memories", "#everything tbody tr"),
        ("1:5&panel=found&find=window.hit&only=contradiction", ".hit"),
    ],
)
def test_hostile_text_in_overviews_stays_text(address, open_page, sight, content):
    page = open_page(f"{address}#{sight}")
    expect(page.locator(content).first).to_be_attached()
    open_details(page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        assert_unharmed(page, width)


def open_details(page):
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    # Time for scripts that the text might start.
    page.wait_for_timeout(200)


def assert_unharmed(page, width):
    assert page.evaluate("window.hit") is None
    assert (
        page.locator("img, iframe, object, embed, a:not(.skip, .turn-link), script:not([src], [type]) + script").count()
        == 0
    )
    links = page.locator("a.turn-link").all()
    assert all(re.fullmatch(r"#\d+:\d+", link.get_attribute("href")) for link in links)
    assert page.evaluate("document.body.innerText.match(/[\\u202e\\u2066\\u0007]/)") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight") <= HEIGHT
    for panel in page.locator(".panel:visible, #top, #timeline:visible").all():
        box = panel.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width + 1
        assert panel.evaluate("(one) => one.scrollWidth <= one.clientWidth + 1")
    for scroll in page.locator(".scroll:visible").all():
        assert scroll.evaluate("(one) => one.scrollWidth <= one.clientWidth + 1")


def test_fields_of_any_type_break_no_panel(tmp_path, open_page):
    write_strange_values(tmp_path)
    with served(tmp_path) as url:
        page = open_page(f"{url}#1:1")
        for number in range(1, len(STRANGE) + 1):
            expect(page.locator("article[aria-current] .number")).to_have_text(str(number))
            expect(page.locator("#turn-body")).to_have_attribute("data-key", re.compile(rf"^1\.0\.{number}\."))
            for panel in ("#memories", "#objectives", "#knowledge"):
                expect(page.locator(panel)).to_have_attribute("data-key", re.compile(rf"^1\.{number}\."))
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            expect(page.locator("#turn-body .calls .speaker").first).to_be_attached()
            page.keyboard.press("ArrowRight")


def write_strange_values(workdir):
    log, calls, history = [started()], [], []
    for number, value in enumerate(STRANGE, 1):
        goal = dict.fromkeys(("text", "status", "places", "origin", "reached", "given_up", "done_when"), value)
        update = dict.fromkeys(("added", "struck", "text"), value) | {
            "objectives": [value, goal] if number % 2 else value
        }
        log += [turn(number)]
        log += [
            {"event": f"{kind}_updated", "episode": 1, "turn": number} | update for kind in ("objectives", "knowledge")
        ]
        call = dict.fromkeys(("role", "model", "answer", "reasoning", "error", "prompt_tokens", "cost"), value)
        call |= {"messages": [value, {"speaker": value, "content": value}], "turn": number, "latency_s": value}
        calls.append({"event": "model_called", "episode": 1} | call)
        marks = ("status", "pinned", "vetoed", "tried", "worked", "observation_count", "turns", "superseded_by")
        memory = dict.fromkeys(("category", "text", "persistence", "episode", "invalidation_reason", *marks), value)
        row = dict.fromkeys(("at", "kind", "location_name", "reason", "source", "action", "other"), value)
        row |= {"location_id": 10, "before": None, "after": memory | {"title": f"memory {number}"}}
        history.append(row | {"episode": 1, "turn": 1})
    path = write_log(workdir, *log)
    path.with_name("model_calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    write_history(workdir, *history)
