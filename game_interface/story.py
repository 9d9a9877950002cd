"""Find, check and identify a story file, or say where to get one."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from game_interface.core.profile import Profile, read_profile, standard_profile
from game_interface.core.zmachine import LENGTH_UNIT, Header
from zorkgpt.errors import StoryError, StoryFileNotFound
from zorkgpt.extras import IS_CHECKOUT
from zorkgpt.log import get_logger

log = get_logger("zorkgpt.story")

INFRASTRUCTURE = Path(__file__).resolve().parents[1] / "infrastructure"
PLAYABLE = (3, 4, 5, 7, 8)
_LARGEST = 512 * 1024
_LARGEST_FILE = 256 << 20
"""More is not read of a file. A Blorb may hold pictures and sounds beside the story; a disk image is no Blorb."""
_HEADER_BYTES = 64
_WAY_OUT = (
    "Put a Z-machine story (.z3, .z5, .z8) into infrastructure/ or name one with --game."
    if IS_CHECKOUT
    else "Name a Z-machine story (.z3, .z5, .z8) with --game."
)


@dataclass(frozen=True, slots=True)
class Story:
    """A story file that passed every check, with its bytes, so that the file is not needed any more."""

    path: Path
    data: bytes
    version: int
    release: int
    serial: str
    sha256: str
    title: str | None
    profile: Profile
    """What is known of its object, global and attribute numbers without playing."""
    bundled: bool = False

    def summary(self) -> dict[str, Any]:
        """Return what the record of a run says of its story; without the path, which differs between machines."""
        known = ("version", "release", "serial", "sha256", "title", "bundled")
        return {"file": self.path.name} | {name: getattr(self, name) for name in known}


@dataclass(frozen=True, slots=True)
class FoundStory:
    """A file with a story's name ending: the story, or what is wrong with it."""

    path: Path
    bundled: bool
    story: Story | None
    problem: str | None


def find_story(name_or_path: str | Path | None = None, *, infrastructure: Path = INFRASTRUCTURE) -> Story:
    """Return the story to play.

    With a path or a name ("zork" for `infrastructure/zork.z5`), that one. Without, the first in `infrastructure/`,
    where owners put theirs, else the bundled one.

    Raises:
        StoryFileNotFound: If there is none.
        StoryError: If there is one that can't be played; the message says why.
    """
    candidates = _candidates(infrastructure)
    if name_or_path is None or not str(name_or_path).strip():
        if not candidates:
            raise StoryFileNotFound(f"There is no story in {infrastructure}. {_WAY_OUT}")
        return load_story(candidates[0])
    path = Path(name_or_path).expanduser()
    if _is_there(path):
        return load_story(path)
    for candidate in candidates:
        if str(name_or_path).lower() in (candidate.name.lower(), candidate.stem.lower()):
            return load_story(candidate)
    known = ", ".join(candidate.stem for candidate in candidates) or "none"
    raise StoryFileNotFound(f"No story file at {path}, and no story of that name (found: {known}). {_WAY_OUT}")


def list_stories(*, infrastructure: Path = INFRASTRUCTURE) -> tuple[FoundStory, ...]:
    """Return every story file that is bundled or was put there, playable or not, in the order of preference."""
    found = []
    for path in _candidates(infrastructure):
        try:
            story, problem = load_story(path), None
        except StoryError as error:
            story, problem = None, str(error)
        found.append(FoundStory(path, _is_bundled(path), story, problem))
    return tuple(found)


def _candidates(infrastructure: Path) -> list[Path]:
    own = sorted(infrastructure.glob("*.z[1-8]"))
    bundled = sorted((infrastructure / "games").glob("*.z[1-8]"))
    return own + bundled


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long for any file
        return False


def _is_bundled(path: Path) -> bool:
    return path.with_suffix(".json").is_file()


def load_story(path: Path) -> Story:
    """Read and check one file.

    Raises:
        StoryFileNotFound: If there is no such file.
        StoryError: If it can't be read or played.
    """
    path = path.absolute()
    if path.is_dir():
        raise StoryError(f"{path} is a folder, not a story file. {_WAY_OUT}")
    if path.exists() and not path.is_file():
        raise StoryError(f"{path} is a device or a pipe, not a story file. {_WAY_OUT}")
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST_FILE)
    except FileNotFoundError:
        raise StoryFileNotFound(f"No story file at {path}. {_WAY_OUT}") from None
    except OSError as error:
        raise StoryError(f"The story file {path} can't be read: {error.strerror}. {_WAY_OUT}") from error
    data = checked(raw, str(path))
    header = Header.of(data)
    sha256 = hashlib.sha256(data).hexdigest()
    bundled = _is_bundled(path)
    profile = _profile(path, header, sha256) if bundled else standard_profile(header)
    return Story(path, data, header.version, header.release, header.serial, sha256, profile.title, profile, bundled)


def _profile(path: Path, header: Header, sha256: str) -> Profile:
    profile = read_profile(path.with_suffix(".json"), sha256)
    if profile is None:
        log.warning("profile is of another build, so the story is explored instead", extra={"story": path.name})
    return profile or standard_profile(header)


def checked(raw: bytes, name: str) -> bytes:
    """Return the bytes of a playable story, extracted from a Blorb file where they are in one.

    Raises:
        StoryError: If they can't be played; the message says why.
    """
    data = _out_of_blorb(raw, name) if raw[:4] == b"FORM" and raw[8:12] == b"IFRS" else raw
    problem = _kind_problem(data) or _header_problem(data)
    if problem:
        raise StoryError(f"{name} can't be played: {problem} {_WAY_OUT}")
    return data


def _out_of_blorb(raw: bytes, name: str) -> bytes:
    at = 12
    while at + 8 <= len(raw):
        kind, size = raw[at : at + 4], int.from_bytes(raw[at + 4 : at + 8], "big")
        if kind == b"ZCOD":
            return raw[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    if b"GLUL" in raw[:4096]:
        raise StoryError(f"{name} can't be played: the Blorb file holds a Glulx story, not a Z-machine one. {_WAY_OUT}")
    raise StoryError(f"{name} can't be played: the Blorb file holds no Z-machine story. {_WAY_OUT}")


def _kind_problem(data: bytes) -> str | None:
    if not data:
        return "the file is empty."
    if data[:4] == b"Glul":
        return "it is a Glulx story, which is for another machine."
    head = data[:512].lstrip()
    if head[:1] == b"<" and b"html" in head.lower():
        return "it is a web page, not a story; the download went wrong."
    if data[0] not in range(1, 9):
        looks_like_text = all(32 <= byte < 127 or byte in b"\t\r\n" for byte in data[:256])
        return "it is a text file, not a story." if looks_like_text else "it is not a Z-machine story."
    if data[0] not in PLAYABLE:
        reasons = {6: "needs a screen for graphics"}
        return (
            f"it is of version {data[0]}, which {reasons.get(data[0], 'no interpreter here plays')}; 3, 4, 5, 7, 8 can."
        )
    return None


def _header_problem(data: bytes) -> str | None:
    if len(data) < _HEADER_BYTES:
        return f"it has only {len(data)} bytes, less than the header of a story."
    if len(data) > _LARGEST:
        return f"it has {len(data)} bytes, more than a Z-machine story can have ({_LARGEST})."
    header = Header.of(data)
    if header.length > len(data):
        return f"it is truncated: {len(data)} bytes of {header.length}. Get it again."
    inside = header.length or len(data)
    # The header's own length is rounded up to a unit, and files may be padded behind it.
    if not _HEADER_BYTES <= header.static <= len(data) or header.globals + 480 > inside + LENGTH_UNIT[header.version]:
        return "its header is damaged (memory that ends outside the file)."
    for what, address in (("objects", header.objects), ("dictionary", header.dictionary), ("globals", header.globals)):
        if not _HEADER_BYTES <= address < len(data):
            return f"its header is damaged (the {what} at {address:#x} are outside the file)."
    if header.length and header.checksum and sum(data[_HEADER_BYTES : header.length]) % 0x10000 != header.checksum:
        return "it is damaged: its bytes don't add up to the checksum in its header. Get it again."
    return None
