"""Find, check and identify story files."""

import hashlib
import shlex
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
"""Maximum bytes to read. A Blorb file can contain pictures and sounds besides the story."""
_HEADER_BYTES = 64
_PACKED = (
    (0, b"PK\x03\x04", "zip", "unzip"),
    (0, b"\x1f\x8b", "gzip", "gunzip"),
    (0, b"BZh", "bzip2", "bunzip2"),
    (0, b"\xfd7zXZ\0", "xz", "unxz"),
    (0, b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z", "7z x"),
    (0, b"Rar!\x1a\x07", "rar", "unrar x"),
    (257, b"ustar", "tar", "tar -xf"),
)
"""Offset and bytes that identify a packed file, its kind, and the command that unpacks it."""
_HINT = (
    "Put a Z-machine story (.z3, .z5, .z8) into infrastructure/ or name one with --game."
    if IS_CHECKOUT
    else "Name a Z-machine story (.z3, .z5, .z8) with --game."
)


@dataclass(frozen=True, slots=True)
class Story:
    """A checked story with its contents. The file itself is no longer needed."""

    path: Path
    data: bytes
    version: int
    release: int
    serial: str
    sha256: str
    title: str | None
    profile: Profile
    """The object, global and attribute numbers that are known without playing."""
    bundled: bool = False

    def summary(self) -> dict[str, Any]:
        """Return a description for the run's files, without the folder, which differs between machines."""
        fields = ("version", "release", "serial", "sha256", "title", "bundled")
        return {"file": self.path.name} | {name: getattr(self, name) for name in fields}


@dataclass(frozen=True, slots=True)
class FoundStory:
    """A file named like a story: either the loaded story, or the reason why it can't be played."""

    path: Path
    bundled: bool
    story: Story | None
    problem: str | None


def find_story(name_or_path: str | Path | None = None, *, infrastructure: Path = INFRASTRUCTURE) -> Story:
    """Return the story to play.

    Args:
        name_or_path: A path or a name ("zork" for `infrastructure/zork.z5`). Defaults to the first story in
            `infrastructure/`, or else the bundled one.

    Raises:
        StoryFileNotFound: If there is no such story.
        StoryError: If the story can't be played.
    """
    candidates = _candidates(infrastructure)
    if name_or_path is None or not str(name_or_path).strip():
        if not candidates:
            raise StoryFileNotFound(f"There is no story in {infrastructure}. {_HINT}")
        return load_story(candidates[0])
    path = Path(name_or_path).expanduser()
    if _exists(path):
        return load_story(path)
    for candidate in candidates:
        if str(name_or_path).lower() in (candidate.name.lower(), candidate.stem.lower()):
            return load_story(candidate)
    names = ", ".join(candidate.stem for candidate in candidates) or "none"
    raise StoryFileNotFound(f"No story file at {path}, and no story of that name (found: {names}). {_HINT}")


def list_stories(*, infrastructure: Path = INFRASTRUCTURE) -> tuple[FoundStory, ...]:
    """Return all story files, playable or not, in order of preference."""
    stories = []
    for path in _candidates(infrastructure):
        try:
            story, problem = load_story(path), None
        except StoryError as error:
            story, problem = None, str(error)
        stories.append(FoundStory(path, _is_bundled(path), story, problem))
    return tuple(stories)


def _candidates(infrastructure: Path) -> list[Path]:
    own = sorted(infrastructure.glob("*.z[1-8]"))
    bundled = sorted((infrastructure / "games").glob("*.z[1-8]"))
    return own + bundled


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the name is too long
        return False


def _is_bundled(path: Path) -> bool:
    return path.with_suffix(".json").is_file()


def load_story(path: Path) -> Story:
    """Read and check a story file.

    Raises:
        StoryFileNotFound: If the file does not exist.
        StoryError: If the file can't be read or the story can't be played.
    """
    path = path.absolute()
    if path.is_dir():
        raise StoryError(f"{path} is a folder, not a story file. {_HINT}")
    if path.exists() and not path.is_file():
        raise StoryError(f"{path} is a device or a pipe, not a story file. {_HINT}")
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST_FILE)
    except FileNotFoundError:
        raise StoryFileNotFound(f"No story file at {path}. {_HINT}") from None
    except OSError as error:
        raise StoryError(f"The story file {path} can't be read: {error.strerror}. {_HINT}") from error
    data = checked(raw, str(path))
    header = Header.of(data)
    sha256 = hashlib.sha256(data).hexdigest()
    bundled = _is_bundled(path)
    profile = _profile(path, header, sha256) if bundled else standard_profile(header)
    return Story(path, data, header.version, header.release, header.serial, sha256, profile.title, profile, bundled)


def _profile(path: Path, header: Header, sha256: str) -> Profile:
    profile = read_profile(path.with_suffix(".json"), sha256)
    if profile is None:
        log.warning("profile belongs to another build; exploring the story instead", extra={"story": path.name})
    return profile or standard_profile(header)


def checked(raw: bytes, name: str) -> bytes:
    """Return the contents of a playable story, extracted from its Blorb file if necessary.

    A wrong checksum is only logged, because many playable stories were patched without updating it.

    Raises:
        StoryError: If the story can't be played.
    """
    data = _story_in_blorb(raw, name) if raw[:4] == b"FORM" and raw[8:12] == b"IFRS" else raw
    problem = _packing_problem(data, name) or _kind_problem(data) or _header_problem(data)
    if problem:
        raise StoryError(f"{name} can't be played: {problem} {_HINT}")
    header = Header.of(data)
    if header.length and header.checksum and sum(data[_HEADER_BYTES : header.length]) % 0x10000 != header.checksum:
        log.warning("The checksum in the header of %s is wrong. If the story fails, get a new copy.", name)
    return data


def _story_in_blorb(raw: bytes, name: str) -> bytes:
    at = 12
    while at + 8 <= len(raw):
        kind, size = raw[at : at + 4], int.from_bytes(raw[at + 4 : at + 8], "big")
        if kind == b"ZCOD":
            return raw[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    if b"GLUL" in raw[:4096]:
        raise StoryError(f"{name} can't be played: the Blorb file holds a Glulx story, not a Z-machine one. {_HINT}")
    raise StoryError(f"{name} can't be played: the Blorb file holds no Z-machine story. {_HINT}")


def _packing_problem(data: bytes, name: str) -> str | None:
    for offset, mark, kind, command in _PACKED:
        if data[offset : offset + len(mark)] == mark:
            return f"it is a {kind} file. Unpack it with `{command} {shlex.quote(name)}` and use the story inside."
    return None


def _kind_problem(data: bytes) -> str | None:
    if not data:
        return "the file is empty."
    if data[:4] == b"Glul":
        return "it is a Glulx story, not a Z-machine story."
    head = data[:512].lstrip()
    if head[:1] == b"<" and b"html" in head.lower():
        return "it is a web page, not a story. Download the story again."
    if data[0] not in range(1, 9):
        looks_like_text = all(32 <= byte < 127 or byte in b"\t\r\n" for byte in data[:256])
        return "it is a text file, not a story." if looks_like_text else "it is not a Z-machine story."
    if data[0] not in PLAYABLE:
        reason = ", which needs a screen for graphics" if data[0] == 6 else ""
        return f"it has version {data[0]}{reason}. Supported versions: 3, 4, 5, 7 and 8."
    return None


def _header_problem(data: bytes) -> str | None:
    if len(data) < _HEADER_BYTES:
        return f"it has only {len(data)} bytes, less than the header."
    if len(data) > _LARGEST:
        return f"it has {len(data)} bytes, more than a Z-machine story can have ({_LARGEST})."
    header = Header.of(data)
    if header.length > len(data):
        return f"it is truncated: {len(data)} bytes of {header.length}. Get a new copy."
    length = header.length or len(data)
    # The length in the header is rounded up to a unit, and the file may be padded.
    if not _HEADER_BYTES <= header.static <= len(data) or header.globals + 480 > length + LENGTH_UNIT[header.version]:
        return "its header is damaged (memory that ends outside the file)."
    for table, address in (("objects", header.objects), ("dictionary", header.dictionary), ("globals", header.globals)):
        if not _HEADER_BYTES <= address < len(data):
            return f"its header is damaged (the address of the {table}, {address:#x}, is outside the file)."
    return None
