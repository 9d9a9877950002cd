"""Fixtures for tests in a real browser."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.conftest import unavailable
from tests.fixtures.viewer import served
from zorkgpt.viewer.export import export_run

# Slow only while other tests use the processors.
expect.set_options(timeout=30_000)
# The headless shell first, because it opens no windows.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# The sandbox does not start as root, as in a container. The popups of the address bar would count as pages.
_OPTIONS = ("--no-sandbox", "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser for this folder only, because tests elsewhere fork the process that starts it."""
    path = next(filter(None, map(shutil.which, _NAMES)), None) or unavailable(
        "Chromium is not installed: apt install chromium"
    )
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=_OPTIONS)
        yield started
        started.close()


@pytest.fixture(scope="module", params=["served", "exported"])
def address(request, workdir, tmp_path_factory) -> Iterator[str]:
    """Address of the page of the module's `workdir`, once served and once exported."""
    if request.param == "exported":
        file = tmp_path_factory.mktemp("out") / "run.html"
        export_run(workdir, file)
        yield file.as_uri()
    else:
        with served(workdir) as url:
            yield url


@pytest.fixture
def open_page(browser) -> Iterator:
    """Return a function that opens a page. Fails if a script failed or a request went to another host."""
    complaints: list[str] = []
    requested: list[str] = []
    with ExitStack() as pages:

        def opened(url: str, *, width: int = 1400, height: int = 900, scheme: str = "light") -> Page:
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            pages.callback(context.close)
            page = context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("dialog", lambda dialog: (complaints.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
            page.on("request", lambda request: requested.append(request.url))
            page.goto(url)
            return page

        yield opened
    assert complaints == []
    assert [url for url in requested if not url.startswith(("http://127.0.0.1:", "file:", "data:"))] == []
