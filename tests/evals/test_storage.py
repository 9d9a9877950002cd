"""Results in any store that fsspec knows."""

import pytest

from zorkgpt.errors import ConfigurationError, FileError
from zorkgpt.evals.storage import ResultStore, is_url, shown_url


def a_folder(root):
    (root / "runs" / "one").mkdir(parents=True)
    (root / "runs" / "one" / "log.jsonl").write_text("{}\n")
    (root / "report.md").write_text("all well\n")
    (root / "runs" / "one" / "x.lock").touch()
    return root


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_what_was_stored_comes_back_elsewhere(tmp_path, scheme):
    url = f"memory://{tmp_path.name}" if scheme == "memory" else f"file://{tmp_path}/kept"
    root = a_folder(tmp_path / "here")
    ResultStore(url).keep(root, root)
    elsewhere = tmp_path / "elsewhere"
    ResultStore(url).fetch(elsewhere)
    found = {str(path.relative_to(elsewhere)): path.read_text() for path in elsewhere.rglob("*") if path.is_file()}
    assert found == {"report.md": "all well\n", "runs/one/log.jsonl": "{}\n"}


def test_only_what_an_evaluation_stores_is_brought(tmp_path):
    kept, here = tmp_path / "kept", tmp_path / "here"
    a_folder(kept / "evaluation")
    for url in (f"file://{kept}", f"file://{kept}/evaluation/report.md"):
        ResultStore(url).fetch(here)
    assert not here.exists()


def test_only_what_has_changed_is_stored_again_and_what_is_here_stays(tmp_path):
    root = a_folder(tmp_path / "here")
    store = ResultStore(f"file://{tmp_path}/kept")
    store.keep(root, root)
    kept = tmp_path / "kept"
    before = (kept / "report.md").stat().st_mtime_ns
    (root / "runs" / "one" / "log.jsonl").write_text("{}\n{}\n")
    store.keep(root, root / "runs")
    assert (kept / "runs" / "one" / "log.jsonl").read_text() == "{}\n{}\n"
    store.keep(root, root)
    assert (kept / "report.md").stat().st_mtime_ns == before
    (root / "report.md").write_text("better\n")
    store.fetch(root)
    assert (root / "report.md").read_text() == "better\n"


def test_no_secret_of_a_url_is_told(tmp_path):
    url = "sftp://mary:hunter2@host/folder?token=abc"
    assert shown_url(url) == "sftp://…@host/folder?…"
    with pytest.raises(ConfigurationError) as told:
        ResultStore("nosuch://mary:hunter2@host/folder?token=abc")
    assert "nosuch" in str(told.value)
    assert "hunter2" not in str(told.value)
    assert "abc" not in str(told.value)


def test_a_store_that_can_not_be_written_is_named(tmp_path):
    (tmp_path / "kept").write_text("a file, not a folder")
    root = a_folder(tmp_path / "here")
    with pytest.raises(FileError, match="kept can't be written: "):
        ResultStore(f"file://{tmp_path}/kept").keep(root, root)


@pytest.mark.parametrize(
    ("given", "expected"), [("s3://a/b", True), ("memory://x", True), ("a/b", False), ("C:/x", False)]
)
def test_a_url_is_told_from_a_folder(given, expected):
    assert is_url(given) is expected
