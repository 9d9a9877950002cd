"""Tests of storing results in any store that fsspec supports."""

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
def test_stored_results_can_be_fetched(tmp_path, scheme):
    url = f"memory://{tmp_path.name}" if scheme == "memory" else f"file://{tmp_path}/kept"
    root = a_folder(tmp_path / "here")
    ResultStore(url).keep(root, root)
    elsewhere = tmp_path / "elsewhere"
    ResultStore(url).fetch(elsewhere)
    fetched = {str(path.relative_to(elsewhere)): path.read_text() for path in elsewhere.rglob("*") if path.is_file()}
    assert fetched == {"report.md": "all well\n", "runs/one/log.jsonl": "{}\n"}


def test_only_evaluation_files_are_fetched(tmp_path):
    kept, here = tmp_path / "kept", tmp_path / "here"
    a_folder(kept / "evaluation")
    for url in (f"file://{kept}", f"file://{kept}/evaluation/report.md"):
        ResultStore(url).fetch(here)
    assert not here.exists()


def test_only_changed_files_are_stored_again(tmp_path):
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


def test_secrets_of_a_url_are_not_shown(tmp_path):
    url = "sftp://mary:hunter2@host/folder?token=abc"
    assert shown_url(url) == "sftp://…@host/folder?…"
    with pytest.raises(ConfigurationError) as error:
        ResultStore("nosuch://mary:hunter2@host/folder?token=abc")
    assert "nosuch" in str(error.value)
    assert "hunter2" not in str(error.value)
    assert "abc" not in str(error.value)


def test_unwritable_store_is_an_error(tmp_path):
    (tmp_path / "kept").write_text("a file, not a folder")
    root = a_folder(tmp_path / "here")
    with pytest.raises(FileError, match="kept can't be written: "):
        ResultStore(f"file://{tmp_path}/kept").keep(root, root)


@pytest.mark.parametrize(
    ("given", "expected"), [("s3://a/b", True), ("memory://x", True), ("a/b", False), ("C:/x", False)]
)
def test_url_is_distinguished_from_a_folder(given, expected):
    assert is_url(given) is expected
