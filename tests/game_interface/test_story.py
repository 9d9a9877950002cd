"""Tests of loading and identifying stories."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import random
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game_interface.story import checked, find_story, list_stories, load_story
from tests.fixtures.stories import blorb
from zorkgpt.errors import StoryError, StoryFileNotFound


@pytest.fixture(scope="module")
def whole(bundled_story) -> bytes:
    return bundled_story.read_bytes()


def _of_version(version: int):
    return lambda whole: bytes([version]) + whole[1:]


BAD_FILES = {
    "empty": (lambda whole: b"", "the file is empty"),
    "text": (lambda whole: b"West of House\nYou are standing in an open field.\n" * 40, "it is a text file"),
    "web page": (lambda whole: b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "it is a web page"),
    "web page after blanks": (lambda whole: b"\n\n <HTML><head></head></HTML>", "it is a web page"),
    "tiny": (lambda whole: whole[:40], "only 40 bytes, less than the header"),
    "truncated": (lambda whole: whole[: len(whole) // 2], r"truncated: \d+ bytes of \d+"),
    "random": (lambda whole: b"\xff" + random.Random(1).randbytes(50_000), "not a Z-machine story"),
    "random of version 5": (lambda whole: b"\x05" + random.Random(2).randbytes(50_000), "truncated|damaged"),
    "zeros": (lambda whole: bytes(4096), "not a Z-machine story"),
    "zeros of version 8": (lambda whole: b"\x08" + bytes(4096), "damaged"),
    "too large": (lambda whole: whole + bytes(600_000), "more than a Z-machine story can have"),
    "glulx": (lambda whole: b"Glul\0\3\1\2" + bytes(500), "Glulx"),
    "glulx in a blorb": (lambda whole: blorb(b"GLUL", b"Glul" + bytes(64)), "Blorb file holds a Glulx story"),
    "blorb of pictures": (lambda whole: blorb(b"PIC ", b"x"), "Blorb file holds no Z-machine story"),
    "blorb cut short": (lambda whole: blorb(b"ZCOD", whole)[:9000], "truncated"),
    "elf program": (lambda whole: b"\x7fELF\2\1\1" + bytes(500), "not a Z-machine story"),
    "version 1": (_of_version(1), "version 1"),
    "version 2": (_of_version(2), "version 2"),
    "version 6": (_of_version(6), "version 6, which needs a screen"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_unplayable_file_is_refused_with_advice(kind, whole, tmp_path):
    spoil, reason = BAD_FILES[kind]
    path = tmp_path / "story.z5"
    path.write_bytes(spoil(whole))
    with pytest.raises(StoryError, match=reason) as raised:
        find_story(path)
    assert str(path) in str(raised.value)
    assert "name one with --game" in str(raised.value)


PACKED = {
    "zip": ("unzip", lambda whole: _archive("zip", whole)),
    "gzip": ("gunzip", gzip.compress),
    "bzip2": ("bunzip2", bz2.compress),
    "xz": ("unxz", lzma.compress),
    "tar": ("tar -xf", lambda whole: _archive("tar", whole)),
    "zstd": ("unzstd", lambda whole: b"\x28\xb5\x2f\xfd" + whole),
    "7z": ("7z x", lambda whole: b"7z\xbc\xaf\x27\x1c\0\4" + whole),
    "rar": ("unrar x", lambda whole: b"Rar!\x1a\x07\1\0" + whole),
}


def _archive(kind: str, whole: bytes) -> bytes:
    packed = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("story.z5", whole)
    else:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            entry = tarfile.TarInfo("story.z5")
            entry.size = len(whole)
            tar.addfile(entry, io.BytesIO(whole))
    return packed.getvalue()


@pytest.mark.parametrize("kind", PACKED)
def test_packed_file_is_refused_with_the_command_that_unpacks_it(kind, whole, tmp_path):
    command, pack = PACKED[kind]
    path = tmp_path / "my story.z5"
    path.write_bytes(pack(whole))
    with pytest.raises(StoryError) as raised:
        find_story(path)
    assert str(raised.value).startswith(
        f"{path} can't be played: it is a {kind} file. Unpack it with `{command} '{path}'` and use the story inside. "
    )


def test_wrong_checksum_is_a_warning_that_names_the_file(whole, tmp_path, caplog):
    path = tmp_path / "patched.z5"
    path.write_bytes(whole[:0x1C] + b"\x12\x34" + whole[0x1E:])
    assert load_story(path).data == path.read_bytes()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"The checksum in the header of {path} is wrong. If the story fails, get a new copy.")
    ]


def test_right_or_missing_checksum_is_no_warning(whole, tmp_path, caplog):
    path = tmp_path / "whole.z5"
    path.write_bytes(whole)
    load_story(path)
    path.write_bytes(whole[:0x1C] + bytes(2) + whole[0x1E:])
    load_story(path)
    assert caplog.records == []


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(StoryFileNotFound, match=r"No story file at .*nothing\.z5.*--game"):
        find_story(tmp_path / "nothing.z5")


def test_folder_is_not_a_story(tmp_path):
    with pytest.raises(StoryError, match="is a folder"):
        find_story(tmp_path)


def test_pipe_is_not_a_story(tmp_path):
    pipe = tmp_path / "pipe.z5"
    os.mkfifo(pipe)
    with pytest.raises(StoryError, match="is a device or a pipe"):
        find_story(pipe)


def test_name_that_is_too_long_is_not_a_story():
    with pytest.raises(StoryFileNotFound, match="No story file at xxx"):
        find_story("x" * 5000)


def test_story_is_read_from_a_blorb_file(whole, tmp_path):
    path = tmp_path / "story.zblorb"
    path.write_bytes(blorb(b"ZCOD", whole))
    assert load_story(path).data == whole


def test_bundled_story_is_identified(bundled_story):
    story = load_story(bundled_story)
    assert story.bundled
    assert story.summary() == {
        "file": bundled_story.name,
        "version": 5,
        "release": story.release,
        "serial": story.serial,
        "sha256": story.sha256,
        "title": story.title,
        "bundled": True,
    }
    assert story.title


def test_zork_is_identified_by_its_release(zork1, tmp_path):
    path = tmp_path / "something"
    path.write_bytes(zork1.read_bytes())
    story = load_story(path)
    assert (story.title, story.version, story.release, story.serial) == ("Zork I", 3, 88, "840726")


@pytest.fixture
def infrastructure(tmp_path, bundled_story):
    """A folder like the project's, with the bundled story and its profile in `games/`."""
    games = tmp_path / "games"
    games.mkdir()
    for path in (bundled_story, bundled_story.with_suffix(".json")):
        (games / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_users_story_is_preferred_to_the_bundled_one(infrastructure, whole):
    assert find_story(infrastructure=infrastructure).bundled
    (infrastructure / "mine.z5").write_bytes(whole)
    assert find_story(infrastructure=infrastructure).path == infrastructure / "mine.z5"


def test_story_is_found_by_name(infrastructure, bundled_story, whole):
    (infrastructure / "Mine.z5").write_bytes(whole)
    assert find_story("mine", infrastructure=infrastructure).path.name == "Mine.z5"
    assert find_story("mine.z5", infrastructure=infrastructure).path.name == "Mine.z5"
    assert find_story(bundled_story.stem, infrastructure=infrastructure).bundled
    with pytest.raises(StoryFileNotFound, match=f"no story of that name.*{bundled_story.stem}"):
        find_story("yours", infrastructure=infrastructure)


def test_missing_story_is_an_error_with_advice(tmp_path):
    with pytest.raises(StoryFileNotFound, match="Put a Z-machine story"):
        find_story(infrastructure=tmp_path)


def test_damaged_stories_are_listed_with_their_problem(infrastructure):
    (infrastructure / "bad.z3").write_bytes(b"")
    bad, good = list_stories(infrastructure=infrastructure)
    assert (bad.path.name, bad.bundled, bad.story) == ("bad.z3", False, None)
    assert "empty" in bad.problem
    assert (good.bundled, good.problem, good.story.bundled) == (True, None, True)


def test_profile_of_another_build_is_ignored(infrastructure, bundled_story, caplog):
    profile = infrastructure / "games" / bundled_story.with_suffix(".json").name
    sha256 = load_story(bundled_story).sha256
    profile.write_text(profile.read_text().replace(sha256, "0" * 64))
    assert find_story(infrastructure=infrastructure).profile.deadflag_global is None
    assert "another build" in caplog.text


def test_broken_profile_is_an_error(infrastructure, bundled_story):
    profile = infrastructure / "games" / bundled_story.with_suffix(".json").name
    profile.write_text("{")
    with pytest.raises(StoryError, match=profile.name):
        find_story(infrastructure=infrastructure)


@given(st.binary(max_size=400), st.integers(0, 9))
def test_any_bytes_are_loaded_or_refused(content, version):
    with contextlib.suppress(StoryError):
        assert checked(bytes([version]) + content, "some.z5")
