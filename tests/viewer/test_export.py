"""Tests of exporting a run, or some of its episodes, to one file."""

import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from tests.fixtures.viewer import served, started, turn, write_log
from zorkgpt.cli.app import app
from zorkgpt.errors import ViewerError
from zorkgpt.viewer.export import chosen_episodes, export_run
from zorkgpt.viewer.run_files import open_run


@pytest.fixture
def workdir(tmp_path):
    for episode in range(1, 6):
        write_log(tmp_path, started(episode), turn(1, response=f"Deed {episode}."), turn(2), episode=episode)
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "found"),
    [(None, [1, 2, 3, 4, 5]), ("2", [2]), ("2-4", [2, 3, 4]), ("5, 1-2", [1, 2, 5]), ("4-999999999", [4, 5])],
)
def test_episodes_are_chosen_by_number_and_range(workdir, wanted, found):
    assert chosen_episodes(open_run(workdir), wanted) == found


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("all", "'all' is not a list of episodes"),
        ("1,", "'' is not a list of episodes"),
        ("9-12", "has no episodes 9-12. Episodes: 1, 2"),
    ],
)
def test_invalid_episode_list_is_refused(workdir, wanted, message):
    with pytest.raises(ViewerError, match=message):
        export_run(workdir, workdir / "run.html", episodes=wanted)
    assert not (workdir / "run.html").exists()


def test_episodes_option_requires_export(workdir):
    done = CliRunner().invoke(app, ["view", str(workdir), "--episodes", "1"])
    assert done.exit_code != 0
    assert "--export" in str(done.exception or done.output)


@pytest.mark.slow
def test_page_exports_chosen_episodes(workdir, open_page):
    with served(workdir) as url:
        page = open_page(f"{url}#overview")
        page.get_by_label("Episodes to save").fill("7")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#notice")).to_contain_text("has no episodes")
        page.get_by_label("Episodes to save").fill("4-5")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save").click()
        saved.value.save_as(workdir / "saved.html")
    page = open_page((workdir / "saved.html").as_uri())
    expect(page.locator("#overview tbody th")).to_have_text(["Episode 4", "Episode 5"])


@pytest.mark.slow
def test_export_contains_only_chosen_episodes(workdir, open_page):
    file = workdir / "run.html"
    export_run(workdir, file, episodes="2-3")
    page = open_page(file.as_uri())
    expect(page.locator("#overview .sortable tbody tr")).to_have_count(2)
    page.keyboard.press("/")
    page.get_by_label("Search all episodes").fill("deed")
    expect(page.locator(".hit mark")).to_have_text(["Deed", "Deed"])
    page.locator(".hit").last.click()
    expect(page.locator("article[aria-current]")).to_contain_text("Deed 3.")
