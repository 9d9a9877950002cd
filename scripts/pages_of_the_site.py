"""Add the pages outside of `docs/` to the site. Called by MkDocs: see `mkdocs.yml`."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, with their links adjusted."""
    for name in BESIDE:
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for other in BESIDE:
            text = text.replace(f"]({other}", f"]({other.lower()}")
        files.append(File.generated(config, name.lower(), content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return a page with its links to these pages adjusted."""
    for name in BESIDE:
        markdown = markdown.replace(f"../{name}", name.lower())
    return markdown
