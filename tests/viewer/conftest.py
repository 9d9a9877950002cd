"""A real browser."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.conftest import absent
from tests.fixtures.viewer import served
from zorkgpt.viewer.export import export_run

# What is waited for comes at once, unless other tests have the processors.
expect.set_options(timeout=30_000)
# The headless shell comes first: it opens no window for each test.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# As root, as tests in a container run, the sandbox does not start. The address bar's popups are whole pages.
_OPTIONS = ("--no-sandbox", "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """For this folder: tests of others fork the process that it is a child of."""
    path = next(filter(None, map(shutil.which, _NAMES)), None) or absent("there is no Chromium: apt install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=_OPTIONS)
        yield started
        started.close()


@pytest.fixture(scope="module", params=["served", "exported"])
def address(request, workdir, tmp_path_factory) -> Iterator[str]:
    """The page of the file's own `workdir`: from a server, and as one file."""
    if request.param == "exported":
        file = tmp_path_factory.mktemp("out") / "run.html"
        export_run(workdir, file)
        yield file.as_uri()
    else:
        with served(workdir) as url:
            yield url


@pytest.fixture
def open_page(browser) -> Iterator:
    """Opens a page; by the end no script may have failed, and nothing may have been asked of another host."""
    complaints: list[str] = []
    asked: list[str] = []
    with ExitStack() as pages:

        def opened(url: str, *, width: int = 1400, height: int = 900, scheme: str = "light") -> Page:
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            pages.callback(context.close)
            page = context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("dialog", lambda dialog: (complaints.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
            page.on("request", lambda request: asked.append(request.url))
            page.goto(url)
            return page

        yield opened
    assert complaints == []
    assert [url for url in asked if not url.startswith(("http://127.0.0.1:", "file:", "data:"))] == []
