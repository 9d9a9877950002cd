"""Tests of logging during a run."""

import logging

from zorkgpt.log import get_logger, logging_to


def test_log_line_is_a_phrase_with_fields(tmp_path, capsys):
    with logging_to(tmp_path / "run.log"):
        get_logger("store").warning("lock is taken", extra={"path": "Memories.md", "waited_s": 10})
        get_logger("zorkgpt.store").debug("too fine")
    [line] = (tmp_path / "run.log").read_text().splitlines()
    assert line[8:] == " WARNING zorkgpt.store: lock is taken path='Memories.md' waited_s=10"
    assert capsys.readouterr() == ("", "")


def test_loggers_are_restored(tmp_path):
    logger = logging.getLogger("zorkgpt")
    before = (logger.level, logger.propagate, list(logger.handlers))
    with logging_to(tmp_path / "run.log"):
        assert not logger.propagate
    assert (logger.level, logger.propagate, logger.handlers) == before


def test_silent_run_leaves_no_file(tmp_path):
    with logging_to(tmp_path / "run.log"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_missing_log_folder_is_harmless(tmp_path, capsys):
    folder = tmp_path / "work"
    folder.mkdir()
    with logging_to(folder / "run.log"):
        folder.rmdir()
        get_logger("store").warning("lock is taken")
    assert capsys.readouterr() == ("", "")
    assert not folder.exists()
