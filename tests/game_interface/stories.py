"""Small stories, made for one question each."""

import subprocess
from pathlib import Path

_LIBRARIES = ("/usr/share/inform6", "/usr/share/inform6/library")

LIBRARY_STORY = """
Constant Story "TINY";
Constant Headline "^A test.^";
Constant MAX_SCORE 10;
Include "Parser";
Include "VerbLib";
Object hall "Hall" with description "A hall.", n_to attic, has light;
Object -> crate "crate" with name 'crate', has container openable;
Object -> -> coin "gold coin" with name 'gold' 'coin', after [; Take: score = score + 5; "Taken, golden.";];
Object -> cart "cart" with name 'cart', has enterable container open static;
Object -> shelf "shelf" with name 'shelf', has supporter static;
Object -> -> vase "vase" with name 'vase';
Object -> wire "thin wire" with name 'wire', has concealed;
Object attic "Attic" with description "An attic.", s_to hall, e_to cellar, has light;
Object -> pit "pit" with name 'pit',
    before [; Enter: deadflag = 1; "You fall."; Examine: deadflag = 2; "Deep."; ], has static;
Object cellar "Cellar" with description "A cellar.", w_to attic, u_to hall;
[ Initialise; location = hall; "Welcome."; ];
Include "Grammar";
"""

# A story for version 3 and 4 too, where the library does not fit: it has a parser of six words.
BARE_STORY = """
Switches d2s;
Global place; Global points; Global turns; Global status;
Array text -> 120;
Array parse -> 62;
Attribute lit;
Object rooms "rooms";
Object meadow "Meadow" rooms has lit;
Object barn "Barn" rooms;
Object you "you" meadow;
Object hat "straw hat" barn;
[ Main; Begin(); ];
[ Show; print "^", (object) place, "^"; ];
[ Move_to where; move you to where; place = where; Show(); ];
[ Begin word;
  place = meadow; text->0 = 118; parse->0 = 15; print "Welcome.^"; Show();
  while (1) {
    print "^>"; Read_line(); turns++;
    word = parse-->1;
    if (word == 'north') { if (place == meadow) Move_to(barn); else print "No.^"; continue; }
    if (word == 'south') { if (place == barn) Move_to(meadow); else print "No.^"; continue; }
    if (word == 'take') { move hat to you; points = points + 5; print "Taken.^"; continue; }
    if (word == 'hang') { while (1) points = 1; }
    if (word == 'look') { Show(); continue; }
    print "What?^";
  }
];
"""
_READ = {3: "[ Read_line; read text parse; ];", 4: "[ Read_line; read text parse; ];"}
_READ_LATER = "[ Read_line; text->1 = 0; read text parse; ];"


def build(compiler: str, folder: Path, source: str, version: int) -> Path:
    """Compile a story for a version of the machine."""
    code, story = folder / "story.inf", folder / f"story.z{version}"
    code.write_text(source, "utf-8")
    found = ",".join(_LIBRARIES)
    command = [compiler, f"-v{version}", f"+include_path={found}", code.name, story.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return story


def bare_story(version: int) -> str:
    return BARE_STORY + _READ.get(version, _READ_LATER)


def blorb(kind: bytes, content: bytes) -> bytes:
    """A Blorb file with one picture and one program in it."""
    chunks = _chunk(b"RIdx", b"\0\0\0\0") + _chunk(b"PNG ", b"odd") + _chunk(kind, content)
    return b"FORM" + (len(chunks) + 4).to_bytes(4, "big") + b"IFRS" + chunks


def _chunk(kind: bytes, content: bytes) -> bytes:
    return kind + len(content).to_bytes(4, "big") + content + b"\0" * (len(content) % 2)


def of_another_build(story: Path, target: Path, serial: str = "991231") -> Path:
    """The same story with another serial number: another story, with the same rooms under the same numbers."""
    data = bytearray(story.read_bytes())
    # In the header, which the checksum leaves out: Z-Machine Standard 1.1, section 11.
    data[0x12:0x18] = serial.encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target
