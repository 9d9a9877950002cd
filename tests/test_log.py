"""Logging of a run: a fixed phrase with its fields, in a file, and only for so long."""

import logging

from zorkgpt.log import get_logger, logging_to


def test_a_line_is_a_phrase_with_its_fields(tmp_path, capsys):
    with logging_to(tmp_path / "run.log"):
        get_logger("store").warning("lock is taken", extra={"path": "Memories.md", "waited_s": 10})
        get_logger("zorkgpt.store").debug("too fine")
    [line] = (tmp_path / "run.log").read_text().splitlines()
    assert line[8:] == " WARNING zorkgpt.store: lock is taken path='Memories.md' waited_s=10"
    assert capsys.readouterr() == ("", "")


def test_afterwards_the_loggers_are_as_they_were(tmp_path):
    logger = logging.getLogger("zorkgpt")
    before = (logger.level, logger.propagate, list(logger.handlers))
    with logging_to(tmp_path / "run.log"):
        assert not logger.propagate
    assert (logger.level, logger.propagate, logger.handlers) == before


def test_a_run_that_says_nothing_leaves_no_file(tmp_path):
    with logging_to(tmp_path / "run.log"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_log_whose_folder_is_gone_stops_nobody(tmp_path, capsys):
    folder = tmp_path / "work"
    folder.mkdir()
    with logging_to(folder / "run.log"):
        folder.rmdir()
        get_logger("store").warning("lock is taken")
    assert capsys.readouterr() == ("", "")
    assert not folder.exists()
