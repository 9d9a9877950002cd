"""What is on the page can be read: all of a text, nothing over anything else, and in colours that differ enough."""

import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import played, served, started, turn, write_log
from zorkgpt.viewer.export import export_run

pytestmark = pytest.mark.slow

# The least contrast (WCAG 2.2, 1.4.3) of a text and what is behind it, with what shines through, and whose it is.
CONTRAST = """() => {
  const parts = (colour) => (colour.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const over = ([r, g, b, a = 1], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const chain = (one) => one ? [...chain(one.parentElement), one] : [];
  const linear = (part) => part <= 10.31 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4;
  const light = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, at) => sum + weight * linear(rgb[at]), 0.05);
  const said = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  let [least, worst, seen] = [21, "", 0];
  for (const one of document.querySelectorAll("body *")) {
    if (!one.checkVisibility() || !said(one) || ["title", "OPTION"].includes(one.tagName)) continue;
    let [behind, opacity] = [[255, 255, 255], 1];
    for (const outer of chain(one)) {
      const style = getComputedStyle(outer);
      behind = over(parts(style.backgroundColor), behind);
      opacity *= Number(style.opacity);
    }
    const box = one.closest(".room")?.querySelector("rect");
    if (box) behind = over(parts(getComputedStyle(box).fill), behind);
    const style = getComputedStyle(one);
    const colour = parts(one.closest("svg") ? style.fill : style.color);
    const seenAs = over([...colour.slice(0, 3), (colour[3] ?? 1) * opacity], behind);
    const ratio = Math.max(light(seenAs) / light(behind), light(behind) / light(seenAs));
    seen += 1;
    if (ratio < least) [least, worst] = [ratio, `${one.tagName} ${one.getAttribute("class")} ${one.textContent}`];
  }
  return [least, worst, seen];
}"""
OVERLAPPED = """() => {
  const legend = document.querySelector(".legend").getBoundingClientRect();
  const map = document.querySelector("svg.map").getBoundingClientRect();
  return Math.min(legend.bottom, map.bottom) - Math.max(legend.top, map.top) > 1;
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served(played(tmp_path_factory.mktemp("reading"), episodes=2, turns=30)) as url:
        yield url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out(address, open_page, scheme):
    page = open_page(f"{address}#2:20", scheme=scheme)
    expect(page.locator("#memories .memory").first).to_be_visible()
    for known in ("Memories", "Objectives", "Knowledge"):
        page.locator("#known-tabs").get_by_role("button", name=known).click()
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        least, worst, seen = page.evaluate(CONTRAST)
        assert (least >= 4.5, seen > 50) == (True, True), (least, worst)
    page.locator("#tools select").select_option("1")
    expect(page.locator("table.beside tr.parting")).to_be_visible()
    least, worst, _ = page.evaluate(CONTRAST)
    assert least >= 4.5, (least, worst)


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (800, 600), (390, 844)])
def test_what_the_signs_mean_does_not_lie_over_the_map(address, open_page, width, height):
    page = open_page(f"{address}#2:20", width=width, height=height)
    if width < 720:
        page.locator("[data-opens=world]").click()
    expect(page.locator(".map .room.here")).to_be_visible()
    assert not page.evaluate(OVERLAPPED)


@pytest.mark.parametrize("way", ["served", "exported"])
def test_all_of_a_long_text_can_be_read(tmp_path, open_page, way):
    fields = {name: f"{name} " * 2000 + f"the end of {name}" for name in ("response", "reasoning", "memory_shown")}
    write_log(tmp_path, started(), turn(1, **fields))
    with served(tmp_path) as url:
        if way == "exported":
            export_run(tmp_path, tmp_path / "run.html")
            url = (tmp_path / "run.html").as_uri()
        page = open_page(f"{url}#1:1")
        page.locator("#turns .why summary").click()
        page.locator("#memories").get_by_text("Memory text in the prompt").click()
        places = {"reasoning": "#turns .why", "response": "#turns [data-at='1'] > div", "memory_shown": "#memories"}
        for name, place in places.items():
            page.locator(place).get_by_role("button", name="Show all").click()
            expect(page.locator(place)).to_contain_text(f"the end of {name}")
