"""Tests of the documentation site: links, pages and no external requests."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = (
    "zorkgpt.memory.agent_memory.AgentMemory.recall",
    "zorkgpt.memory.manager.SimpleMemoryManager.get_location_memory",
    "zorkgpt.memory.models.Memory.persistence",
    "zorkgpt.memory.models.ZMachineContext",
    "zorkgpt.embeddings.provider.EmbeddingProvider.embed",
    "zorkgpt.errors.MemoryConflict",
    "game_interface.core.jericho_interface.JerichoInterface.act",
)

pytestmark = pytest.mark.slow


class Loads(HTMLParser):
    """Collects what a browser loads for a page without a click."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag != "a" and given.get("rel") != "canonical":
            self.addresses += [address for name in ("src", "href", "data", "srcset") if (address := given.get(name))]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_is_in_the_site(site):
    pages = {page.relative_to(ROOT / "docs").with_suffix("") for page in (ROOT / "docs").rglob("*.md")}
    for page in {*pages, Path("contributing"), Path("changelog")} - {Path("index")}:
        assert (site / page / "index.html").is_file(), page
    assert (site / "index.html").is_file()


def test_public_names_are_in_the_reference(site):
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").rglob("*.html"))
    assert [name for name in PUBLIC if f'id="{name}"' not in text] == []


def test_site_loads_nothing_from_elsewhere(site):
    pages, remote = list(site.rglob("*.html")), []
    assert pages
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.addresses
        remote += [address for address in loads.addresses if re.match(r"(https?:)?//", address)]
    for sheet in site.rglob("*.css"):
        remote += re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)\"']+", sheet.read_text(encoding="utf-8"))
    assert remote == []
