"""Tests of importing from other libraries, and of JSON lines."""

import json
import re
import shlex
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.fixtures.memory import memories, texts
from zorkgpt.adapters.formats import ImportFormat
from zorkgpt.adapters.formats.transfer import import_as
from zorkgpt.adapters.langgraph import MemoryBaseStore
from zorkgpt.cli.memory_changes import app
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.checks import checked_time
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, Thing
from zorkgpt.memory.upkeep.exchange import Skipped, json_lines, write_new

# Returned by `get_all()` of mem0ai 2.2.1.
MEM0 = """{
 "results": [
  {
   "id": "bbeeb917-d56b-48dc-8fe3-a764a7fd38f2",
   "memory": "Moves to Oslo in May.\\nKeeps the flat in Graz.",
   "hash": "0ba9ab53b99673cb3cee68f3580d4b97",
   "metadata": null,
   "created_at": "2026-11-25T16:50:00.067216+00:00",
   "updated_at": "2026-11-25T16:50:00.067216+00:00",
   "user_id": "alice",
   "run_id": "trip-7",
   "role": "user"
  },
  {
   "id": "c0c0ccd3-ba42-4233-8fc4-ba2cd6ca9a7e",
   "memory": "Prefers aisle seats.",
   "hash": "0aee4f6a574d0deaf7fd073d49c8f04a",
   "metadata": {
    "topic": "travel",
    "score": 3
   },
   "created_at": "2026-11-25T16:50:00.033254+00:00",
   "updated_at": "2026-11-25T16:50:00.033254+00:00",
   "user_id": "alice",
   "role": "user"
  }
 ]
}"""

# The schema and a row as written by SqliteStore of langgraph-checkpoint-sqlite 3.1.2.
SQLITE = """
CREATE TABLE store_migrations (v INTEGER PRIMARY KEY);
CREATE TABLE store (
    prefix text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL,
    PRIMARY KEY (prefix, key)
);
"""

NOTE = """\
---
title: Coffee Brewing Methods
type: guide
tags: [coffee, "brewing"]
permalink: drinks/coffee-brewing-methods
---

# Coffee Brewing Methods

A note on brewing.

## Observations
- [method] Pour over provides more clarity than French press
- [tech stack] Water temperature at 205°F extracts #brewing #heat (optimal range)
* [tip] Grind fresh.
  Never the day before.
- [ ] Buy filters
- [00:01:10] Somebody speaks.

```
- [code] not an observation
```

## Relations
- relates_to [[Coffee Bean Origins]]
- "contrasts with" [[Tea Brewing Methods]] (for beginners)
"""


@pytest.fixture
def memory(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "store.sqlite") as opened:
        yield opened


def imported(memory, path, file_format):
    report = import_as(memory.store, path, ImportFormat(file_format))
    return report.added, report.known, len(report.skipped)


def placed(memory):
    return [(each.location_id, each.memory) for each in memory.all_memories()]


def test_mem0_users_and_runs_become_places(memory, tmp_path):
    file = tmp_path / "mem0.json"
    file.write_text(MEM0)
    assert imported(memory, file, "mem0") == (2, 0, 0)
    assert imported(memory, file, "mem0") == (0, 2, 0)
    [seat] = [each for each in memory.all_memories() if "aisle" in each.memory.text]
    assert seat.location_id == ("user_id", "alice")
    assert seat.memory.metadata == {
        "topic": "travel",
        "score": 3,
        "mem0": {
            "id": "c0c0ccd3-ba42-4233-8fc4-ba2cd6ca9a7e",
            "created_at": "2026-11-25T16:50:00.033254+00:00",
            "updated_at": "2026-11-25T16:50:00.033254+00:00",
            "role": "user",
        },
    }


def test_equal_first_words_get_numbered_titles(memory, tmp_path):
    texts = [f"The very same first eight words of a text, number {number}" for number in range(3)]
    (tmp_path / "a.json").write_text(json.dumps([{"memory": text, "user_id": "u"} for text in texts]))
    assert imported(memory, tmp_path / "a.json", "mem0") == (3, 0, 0)
    titles = [each.memory.title for each in memory.all_memories()]
    assert titles == [titles[0], f"{titles[0]} (2)", f"{titles[0]} (3)"]
    (tmp_path / "a.json").write_text(json.dumps([{"memory": text, "user_id": "u"} for text in reversed(texts)]))
    assert imported(memory, tmp_path / "a.json", "mem0") == (0, 3, 0)


def test_hidden_or_edited_memories_stay(memory, tmp_path):
    memory.remember(("user_id", "u"), "Hidden.", title="Mine")
    memory.update("Mine", vetoed=True)
    before = placed(memory)
    (tmp_path / "a.json").write_text(json.dumps([{"memory": "hidden.", "user_id": "u", "metadata": {"new": 1}}]))
    assert imported(memory, tmp_path / "a.json", "mem0") == (0, 1, 0)
    assert placed(memory) == before


def test_blank_and_expired_mem0_memories_are_skipped(memory, tmp_path):
    today = datetime.now(UTC).date()
    rows = [
        {"memory": " ", "user_id": "u"},
        {"memory": "Old.", "user_id": "u", "expiration_date": str(today - timedelta(days=2))},
        {"memory": "Ends.", "user_id": "u", "expiration_date": str(today + timedelta(days=2))},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"results": rows, "relations": [{"source": "a"}]}))
    assert imported(memory, tmp_path / "a.json", "mem0") == (1, 0, 3)
    assert memory.get("Ends").memory.expires_at == f"{today + timedelta(days=3)}T00:00:00.000000+00:00"


def langgraph_file(path, items, wal=False):
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SQLITE)
    query = "INSERT INTO store (prefix, key, value, expires_at, ttl_minutes) VALUES (?, ?, ?, ?, ?)"
    connection.executemany(query, [(".".join(n), k, json.dumps(v).encode(), end, ttl) for n, k, v, end, ttl in items])
    connection.commit()
    return connection


ITEMS = [
    (("users", "7"), "theme", {"colour": "dark", "sizes": [1, 2.5, None]}),
    (("users", "7"), "a  b", {"text": "One line.\n  Another line.\n"}),
    (("5",), "k 1", {"text": "Plain."}),
    (("a b", '"q"'), '"key"', {}),
    (('["a", "b"]',), "", {"text": '{"text": "x"}'}),
]


@pytest.mark.parametrize("wal", [False, True])
@pytest.mark.parametrize("source", ["sqlite", "jsonl"])
def test_langgraph_items_are_imported_unchanged(memory, tmp_path, source, wal):
    file = tmp_path / f"items.{source}"
    if source == "sqlite":
        connection = langgraph_file(file, [(*item, None, None) for item in ITEMS], wal)
        before = file.read_bytes()
    else:
        file.write_text("\n".join(json.dumps(dict(zip(("namespace", "key", "value"), i, strict=True))) for i in ITEMS))
    assert imported(memory, file, "langgraph") == (5, 0, 0)
    assert imported(memory, file, "langgraph") == (0, 5, 0)
    if source == "sqlite":
        assert file.read_bytes() == before
        connection.close()
    found = MemoryBaseStore(memory).search((), limit=10)
    wanted = {(item[0], item[1]): item[2] for item in ITEMS}
    assert {(item.namespace, item.key): item.value for item in found} == wanted


def test_existing_keys_are_kept_and_expired_items_skipped(memory, tmp_path):
    MemoryBaseStore(memory).put(("n",), "k", {"text": "Mine."})
    far = "2996-01-01 12:00:00"
    items = [
        (("n",), "k", {"text": "Theirs."}, None, None),
        (("n",), "old", {"a": 1}, "2020-01-01 12:00:00.5+00:00", 5),
        (("n",), "new", {"a": 2}, far, 90.5),
    ]
    langgraph_file(tmp_path / "s.db", items).close()
    report = import_as(memory.store, tmp_path / "s.db", ImportFormat.LANGGRAPH)
    assert (report.added, report.known) == (1, 0)
    assert report.skipped == (
        Skipped("'old' at location \"n\"", "it expired at 2020-01-01T12:00:00.500000+00:00"),
        Skipped("'k' at location \"n\"", "this key already has another value, which is kept"),
    )
    assert MemoryBaseStore(memory).get(("n",), "k").value == {"text": "Mine."}
    assert (found := memory.get("new").memory).expires_at == checked_time(f"{far}+00:00")
    assert found.metadata == {"ttl_minutes": 90.5}
    MemoryBaseStore(memory, ttl={"refresh_on_read": True}).get(("n",), "new")
    assert memory.get("new").memory.expires_at < found.expires_at


def test_basic_memory_observations_and_relations_become_memories(memory, tmp_path):
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "coffee.md").write_text(NOTE)
    (notes / "sub" / "Plain Note.md").write_text("- [fact] It has no frontmatter. #plain#short\n")
    (notes / ".trash").mkdir()
    (notes / ".trash" / "gone.md").write_text("- [fact] Deleted.\n")
    report = import_as(memory.store, notes, ImportFormat.BASIC_MEMORY)
    assert (report.added, report.known) == (6, 0)
    assert report.skipped == (
        Skipped(f"{notes / 'coffee.md'}, line 10", "6 lines are neither observation nor relation"),
    )
    note = {"note_tags": ["coffee", "brewing"], "note_type": "guide"}
    place = "drinks/coffee-brewing-methods"
    assert [(at, each.category, each.text, each.metadata) for at, each in placed(memory)] == [
        (place, "METHOD", "Pour over provides more clarity than French press", note),
        (
            place,
            "TECH_STACK",
            "Water temperature at 205°F extracts #brewing #heat",
            note | {"category": "tech stack", "context": "optimal range", "tags": ["brewing", "heat"]},
        ),
        (place, "TIP", "Grind fresh.\nNever the day before.", note),
        (place, "RELATION", "relates_to [[Coffee Bean Origins]]", note | RELATES),
        (place, "RELATION", '"contrasts with" [[Tea Brewing Methods]]', note | CONTRASTS),
        ("sub/plain-note", "FACT", "It has no frontmatter. #plain#short", {"tags": ["plain", "short"]}),
    ]
    assert memory.all_memories()[0].location_name == "Coffee Brewing Methods"
    assert imported(memory, notes, "basic-memory") == (0, 6, 1)


RELATES = {"relation": "relates_to", "target": "Coffee Bean Origins"}
CONTRASTS = {"relation": "contrasts with", "target": "Tea Brewing Methods", "context": "for beginners"}


@pytest.mark.parametrize("suffix", ["md", "sqlite"])
@given(given=st.lists(st.tuples(st.sampled_from([5, "5", ("a", 1), Thing(5), GAME]), memories(), texts), max_size=4))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_json_lines_return_the_same_memories(tmp_path_factory, suffix, given):
    folder = tmp_path_factory.mktemp("lines")
    with (
        SimpleMemoryManager.open(folder / f"a.{suffix}") as memory,
        SimpleMemoryManager.open(folder / f"b.{suffix}") as other,
    ):
        with memory.store.transaction() as draft:
            for place, each, name in given:
                draft.add(place, name, each)
        memory.refresh()
        count, exported = len(memory.all_memories()), json_lines(memory.all_memories())
        # JSON joins two halves of a surrogate pair.
        assume(not re.search(r"\\ud[89ab]\w\w\\ud[c-f]", exported))
        assert exported.count("\n") == count
        write_new(folder / "all.jsonl", exported.encode())
        if not count:
            return
        report = import_as(other.store, folder / "all.jsonl", ImportFormat.JSONL)
        assert report.added + report.known + len(report.skipped) == count
        if report.added == count:
            assert json_lines(other.all_memories()) == exported
        assert import_as(other.store, folder / "all.jsonl", ImportFormat.JSONL).added == 0


def test_line_needs_only_place_and_text(memory, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"place": ["a", 1], "text": "It is so."}\n')
    assert imported(memory, tmp_path / "a.jsonl", "jsonl") == (1, 0, 0)
    [(place, only)] = placed(memory)
    assert (place, only.title, only.persistence, only.category) == (("a", 1), "It is so", "permanent", "NOTE")


BAD = [
    ("jsonl", '{"place": 1, "text": "Good."}\n{"place": 1}', "line 2 is not a memory: it has no text"),
    ("jsonl", '{"place": 1, "text": 5}', "line 1 is not a memory: The text is 5, of the type int"),
    ("jsonl", '{"place": 1, "text": "a", "persistence": "core", "txt": ""}', "the field 'txt' is unknown"),
    ("jsonl", '{"place": 1, "text": "a", "valid_from": "yesterday"}', "line 1 is not a memory: The time is"),
    ("jsonl", '{"place": [], "text": "a"}', "line 1 is not a memory: The place is (), an empty path"),
    ("mem0", "[1]", "result 1 is not a memory of mem0: it is 1"),
    ("mem0", '{"memories": []}', "is not what mem0 returns"),
    (
        "mem0",
        '[{"memory": "Good.", "user_id": "u"}, {"memory": 5}]',
        "result 2 is not a memory of mem0: The",
    ),
    ("mem0", '[{"memory": "a", "user_id": 5}]', "its user_id is 5; it must be a string"),
    ("mem0", '[{"memory": "a\\u0000", "user_id": "u"}]', "has the control character '\\x00'"),
    ("mem0", '[{"memory": "a", "metadata": {"n": NaN}}]', "NaN is not a JSON value"),
    ("mem0", '[{"memory": "a", "expiration_date": "soon"}]', "its expiration_date is 'soon'"),
    ("mem0", "[" * 100_000, "is nested more than 100 deep"),
    ("langgraph", "Some text.", "line 1 is not JSON"),
    ("langgraph", '{"namespace": ["a"], "key": "k"}', "must have the fields namespace, key and value"),
    ("langgraph", '{"namespace": ["a.b"], "key": "k", "value": {}}', "the label 'a.b'"),
    ("langgraph", '{"namespace": [], "key": "k", "value": {}}', "its namespace is []"),
    ("langgraph", '{"namespace": ["a"], "key": "k", "value": "v"}', "its value is 'v'; it must be an object"),
    ("langgraph", '{"namespace": ["a"], "key": "k", "value": {}, "expires_at": 5}', "its expires_at is 5"),
    ("langgraph", '{"namespace": ["a"], "key": "k", "value": {}, "ttl_minutes": -1}', "The time to live is -1 minutes"),
    ("langgraph", "SQLite format 3\0 and no database", "is not a SQLite file of LangGraph's SqliteStore"),
]


@pytest.mark.parametrize(("file_format", "content", "message"), BAD)
def test_invalid_input_is_named_and_nothing_is_stored(tmp_path, file_format, content, message):
    file, store = tmp_path / "given", tmp_path / "Memories.md"
    file.write_text(content)
    done = CliRunner().invoke(app, ["import", str(file), "--from", file_format, "--file", str(store)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"zorkgpt: {file}")
    assert message in done.stderr
    assert not store.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"---\ntitle: x\n- [a] b\n", "line 1: the frontmatter has no end"),
        (b"- [a] caf\xe9\n", "is not UTF-8"),
        (b'---\npermalink: "a\\u0000"\n---\n- [a] b\n', "control character"),
        (b"- [a] good\n- [a] \x01\n", "line 2: The observation has the control character"),
    ],
)
def test_invalid_note_is_named_and_nothing_is_stored(tmp_path, content, message):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("- [fact] Good.\n")
    (tmp_path / "notes" / "b.md").write_bytes(content)
    store = tmp_path / "Memories.md"
    done = CliRunner().invoke(app, ["import", str(tmp_path / "notes"), "--from", "basic-memory", "--file", str(store)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"zorkgpt: {tmp_path / 'notes' / 'b.md'}" in done.stderr
    assert message in done.stderr
    assert not store.exists()


@given(st.binary(max_size=200), st.sampled_from(["mem0", "langgraph", "jsonl"]))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_imported_or_refused(memory, tmp_path, data, file_format):
    (tmp_path / "bytes").write_bytes(data)
    try:
        import_as(memory.store, tmp_path / "bytes", ImportFormat(file_format))
    except MemoryStoreError:
        assert memory.all_memories() == []


@given(st.lists(st.sampled_from(["- [a] b", "---", "title: x", "tags:", " - y", "```", "> q", "- [x] t", "\t", "# h"])))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_lines_are_a_note_or_refused(memory, tmp_path, lines):
    (tmp_path / "notes").mkdir(exist_ok=True)
    (tmp_path / "notes" / "n.md").write_text("\n".join(lines))
    try:
        import_as(memory.store, tmp_path / "notes", ImportFormat.BASIC_MEMORY)
    except MemoryStoreError:
        assert lines[0] == "---"


def test_export_keeps_existing_files(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        memory.remember(5, "It is here.", title="Here")
        memory.invalidate(memory.remember(5, "It is wrong.", title="Wrong"), "It is.")
    where = ["--file", str(tmp_path / "Memories.md")]
    printed = CliRunner().invoke(app, ["export", "--to", "jsonl", *where])
    assert [json.loads(line)["title"] for line in printed.stdout.splitlines()] == ["Here", "Wrong"]
    file = tmp_path / "out.jsonl"
    done = CliRunner().invoke(app, ["export", str(file), "--to", "jsonl", *where])
    assert (done.stdout, file.read_text()) == ("2 memories exported.\n", printed.stdout)
    for target in (file, tmp_path / "Memories.md"):
        before = target.read_bytes()
        done = CliRunner().invoke(app, ["export", str(target), *where])
        assert done.stderr == f"zorkgpt: {target} already exists. Name a new file.\n"
        assert target.read_bytes() == before


def test_documented_commands_work(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Path("mem0.json").write_text(MEM0)
    langgraph_file("store.sqlite", [(*item, None, None) for item in ITEMS]).close()
    Path("notes").mkdir()
    Path("notes/coffee.md").write_text(NOTE)
    [line] = re.findall(r"```json\n(.*)\n```", page)
    Path("all.jsonl").write_text(line)
    [commands] = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    lines = [shlex.split(command) for command in commands.splitlines() if command]
    assert len(lines) == 5
    for words in lines:
        if words[2] == "export":
            Path("all.jsonl").unlink(missing_ok=True)
        done = CliRunner().invoke(app, [*words[2:], "--file", "Memories.md"])
        assert (done.exit_code, done.stderr) == (0, "")
        assert re.match(r"\d+ memor(y|ies) (imported, |exported\.)", done.stdout)
    with SimpleMemoryManager.open("Memories.md") as memory:
        assert len(memory.all_memories()) == 2 + 5 + 5 + 1
        assert memory.get("Gate").memory.metadata == {"source": "manual"}
