"""Tests of the `memories` command."""

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.fixtures.memory import memory
from zorkgpt.cli.memory_changes import app
from zorkgpt.memory.ids import id_of_title
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.document import render


@pytest.fixture
def folder(tmp_path):
    with SimpleMemoryManager.open(tmp_path) as manager:
        manager.add_memory(5, "Hall [red]", memory("Sword", "core", text="A [bold]sword[/bold] \x1b[31mhangs here."))
        manager.add_memory(5, "Hall [red]", memory("Troll is friendly", category="DANGER"))
        manager.add_memory(6, "Attic", memory("Rope"))
        manager.invalidate_memory(5, "Troll is friendly", "It killed me", 25)
    return tmp_path


def run(folder, *arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--workdir", str(folder)])
    return done.exit_code, done.stdout, done.stderr


TROLL = (
    f"{id_of_title(5, 'Troll is friendly')}  [DANGER permanent, superseded: It killed me] "
    "Troll is friendly (episode 1, turn 3): The text of Troll is friendly."
)
SWORD = f"{id_of_title(5, 'Sword')}  [NOTE core] Sword (episode 1, turn 3): A [bold]sword[/bold] \ufffd[31mhangs here."
ROPE = f"{id_of_title(6, 'Rope')}  [NOTE permanent] Rope (episode 1, turn 3): The text of Rope."


def test_show_prints_memories_by_location(folder):
    hall = f"Hall [red] (5)\n  {SWORD}\n  {TROLL}\n"
    assert run(folder, "show", 5) == (0, hall, "")
    assert run(folder, "show") == (0, f"{hall}Attic (6)\n  {ROPE}\n", "")


def test_file_and_workdir_options_work_before_the_subcommand(folder):
    for given in (["--file", folder / "Memories.md"], ["--workdir", folder]):
        done = CliRunner().invoke(app, [*map(str, given), "show", "Attic"])
        assert (done.exit_code, done.stdout) == (0, f"Attic (6)\n  {ROPE}\n")


def test_check_lists_lines_that_are_not_memories(folder):
    assert run(folder, "check") == (0, "3 memories read, 0 lines not parsed and left unchanged.\n", "")
    file = folder / "Memories.md"
    file.write_text(file.read_text() + "\nMy own note.\n\n**[NOTE - CORE] Half an entry\n")
    code, output, _ = run(folder, "check")
    assert (code, output.splitlines()) == (
        1,
        [
            "line 27: text that is not a memory: 'My own note.'",
            "line 29: not a memory: the header has no *(Ep…, T…)* at its end",
            "3 memories read, 2 lines not parsed and left unchanged.",
        ],
    )


def test_stats_counts_memories(folder):
    assert run(folder, "stats") == (
        0,
        "2 locations, 3 memories\n"
        "  persistence: 1 core, 2 permanent\n"
        "  status: 2 ACTIVE, 1 SUPERSEDED\n"
        "  category: 1 DANGER, 2 NOTE\n"
        "  kind: 3 unknown\n"
        "  visits: 2\n",
        "",
    )


def test_search_matches_word_forms(folder):
    assert run(folder, "search", "ropes") == (0, f"Attic (6): {ROPE}\n", "")
    assert run(folder, "search", "xyzzy") == (0, "No matches.\n", "")


def test_search_can_be_filtered(folder):
    assert run(folder, "search", "rope sword", "--location", 6) == (0, f"Attic (6): {ROPE}\n", "")
    assert run(folder, "search", "rope", "--class", "core") == (0, "No matches.\n", "")
    assert run(folder, "search", "troll", "--status", "superseded", "--category", "danger")[1].endswith(f"{TROLL}\n")


@pytest.mark.parametrize("kind", ["md", "sqlite"])
def test_conversion_keeps_memories_and_history(folder, tmp_path, kind):
    middle, end = tmp_path / "middle.sqlite", tmp_path / f"end.{kind}"
    assert run(folder, "convert", middle) == (0, f"3 memories copied to {middle}.\n", "")
    done = CliRunner().invoke(app, ["convert", str(end), "--file", str(middle)])
    assert (done.exit_code, done.stdout) == (0, f"3 memories copied to {end}.\n")
    with SimpleMemoryManager.open(folder) as original, SimpleMemoryManager.open(end) as copy:
        assert render(copy.store.document) == render(original.store.document)
        assert list(copy.store.journal.records()) == list(original.store.journal.records())
        assert list(copy.store.journal.trials()) == list(original.store.journal.trials())
        assert copy.as_of(1, 20) == original.as_of(1, 20)
    again = CliRunner().invoke(app, ["convert", str(end), "--file", str(middle)])
    assert (again.exit_code, again.stderr) == (
        2,
        f"zorkgpt: {end} is not empty. Name a file that does not exist yet.\n",
    )


def test_exported_memories_can_be_imported(folder, tmp_path):
    code, output, _ = run(folder, "export", "--to", "jsonl")
    assert code == 0
    assert [json.loads(line)["title"] for line in output.splitlines()] == ["Sword", "Troll is friendly", "Rope"]
    (tmp_path / "all.jsonl").write_text(output)
    other = tmp_path / "other"
    other.mkdir()
    imported = "3 memories imported, 0 already known, 0 skipped.\n"
    assert run(other, "import", tmp_path / "all.jsonl") == (0, imported, "")
    known = "0 memories imported, 3 already known, 0 skipped.\n"
    assert run(other, "import", folder / "Memories.md") == (0, known, "")
    assert run(other, "export", "--to", "jsonl")[1] == output
    with SimpleMemoryManager.open(other) as copy, SimpleMemoryManager.open(folder) as original:
        assert copy.memory_cache == original.memory_cache


def test_export_without_format_prints_the_file(folder):
    assert run(folder, "export") == (0, (folder / "Memories.md").read_text(), "")


def test_location_can_be_renumbered(folder):
    assert run(folder, "move", 6, 60) == (0, "1 memory moved from location 6 to 60.\n", "")
    assert run(folder, "show", 60) == (0, f"Attic (60)\n  {ROPE}\n", "")
    assert "## Location 60: Attic\n" in (folder / "Memories.md").read_text()


def test_history_lists_changes(folder):
    code, output, _ = run(folder, "history", "troll is friendly")
    assert code == 0
    assert [line[20:] for line in output.splitlines() if line.startswith("20")] == [
        "added, Hall [red] (5) (by the player)",
        "invalidated, Hall [red] (5) (by the player)",
    ]
    assert f"    {TROLL}\n" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", 99], "No memories of location 99."),
        (["show", "game"], "No memories of the game."),
        (["move", 7, 8], "There is no location 7 in "),
        (["move", 5, 5], "Location 5 already has this number."),
        (["history", "No such"], "No memory has the id or title 'No such'."),
        (["import", "/nowhere/at-all"], "Can't read /nowhere/at-all: No such file or directory"),
        (["show", "Atics"], "No location is called 'Atics'. Did you mean\n  Attic (6)"),
        (["show", " "], "The location is blank."),
    ],
)
def test_invalid_input_exits_with_code_2(folder, arguments, message):
    code, output, error = run(folder, *arguments)
    assert (code, output) == (2, "")
    assert message in error


def test_folder_without_memories_is_refused(tmp_path):
    code, _, error = run(tmp_path, "show")
    assert code == 2
    assert "No memory file at" in error
    assert list(tmp_path.iterdir()) == []


def test_explain_shows_origin_and_changes(folder):
    code, output, _ = run(folder, "explain", "troll is friendly")
    lines = output.splitlines()
    assert (code, lines[:3]) == (0, ["Hall [red] (5)", f"  {TROLL}", "  Origin"])
    assert lines[3].startswith("    learned on 20")
    assert lines[4] == "  Changes"
    assert lines[5].startswith("    invalidated on 20")
    assert lines[5].endswith(": It killed me")
    [explanation] = json.loads(run(folder, "explain", "Troll is friendly", "--location", 5, "--json")[1])
    assert [change["kind"] for change in explanation["changes"]] == ["added", "invalidated"]
    assert explanation["memory"]["status"] == "SUPERSEDED"
    assert run(folder, "explain", "Axe")[0] == 2
    assert run(folder, "explain", "Rope", "--location", 5)[0] == 2


@pytest.mark.parametrize("place", ["5", "hall [RED]", "hall"])
def test_location_is_found_by_number_name_or_prefix(folder, place):
    assert run(folder, "show", place) == (0, f"Hall [red] (5)\n  {SWORD}\n  {TROLL}\n", "")
    assert run(folder, "search", "sword rope", "--location", place)[1] == f"Hall [red] (5): {SWORD}\n"
    assert run(folder, "pin", "Sword", "--location", place)[0] == 0


def test_ambiguous_location_lists_candidates(folder):
    with SimpleMemoryManager.open(folder) as manager:
        manager.add_memory(7, "Attic", memory("Barrel"))
    assert run(folder, "show", "att") == (
        2,
        "",
        "zorkgpt: Several locations match 'att'. Give the number of one:\n  Attic (6)\n  Attic (7)\n",
    )
    assert [line for line in run(folder, "show")[1].splitlines() if line[0] != " "] == [
        "Hall [red] (5)",
        "Attic (6)",
        "Attic (7)",
    ]


@pytest.fixture
def quoted(folder):
    with SimpleMemoryManager.open(folder) as manager:
        manager.add_memory(6, "Attic", memory("“open trunk” works"))
        manager.add_memory(6, "Attic", memory("“open chest” fails"))
    return folder


@pytest.mark.parametrize("command", ["explain", "history", "pin", "hide"])
@pytest.mark.parametrize("given", [id_of_title(6, "“open trunk” works"), '"OPEN trunk" works', "trunk"])
def test_memory_is_found_by_id_title_or_part_of_title(quoted, command, given):
    code, output, error = run(quoted, command, given)
    assert (code, error) == (0, "")
    assert "“open trunk” works" in output
    assert "chest" not in output


@pytest.mark.parametrize("command", ["explain", "history", "pin", "hide"])
def test_ambiguous_or_unknown_memory_lists_candidates(quoted, command):
    trunk, chest = (f"{id_of_title(6, title)}  {title}" for title in ("“open trunk” works", "“open chest” fails"))
    several = f"Several memories match 'open'. Give the id of one:\n  {trunk}, Attic (6)\n  {chest}, Attic (6)\n"
    assert run(quoted, command, "open") == (2, "", f"zorkgpt: {several}")
    code, output, error = run(quoted, command, '"opne trunk" work')
    assert (code, output) == (2, "")
    assert error.startswith(f"zorkgpt: No memory has the id or title '\"opne trunk\" work'. Did you mean\n  {trunk}")


def test_removed_memory_can_be_explained(folder):
    with SimpleMemoryManager.open(folder) as manager:
        rope = manager.get("Rope", 6).memory
        with manager.store.transaction() as draft:
            draft.remove(6, rope)
    code, output, _ = run(folder, "explain", "rope")
    assert (code, output.splitlines()[1]) == (0, "  Rope: no longer remembered")


def test_memories_without_subcommand_shows_statistics(folder, tmp_path):
    code, output, error = run(folder)
    assert (code, error) == (0, "")
    assert output.startswith("2 locations, 3 memories\n")
    assert "memories explain MEMORY" in output
    empty = tmp_path / "empty"
    empty.mkdir()
    code, output, error = run(empty)
    assert (code, error) == (0, "")
    assert output.startswith("No memories yet")


@pytest.fixture
def two_turns(tmp_path):
    state = SimpleNamespace(episode_id=3, turn_count=0)
    with SimpleMemoryManager(game_state=state, path=tmp_path / "Memories.md") as manager:
        for state.turn_count, title in ((4, "Sword"), (9, "Rope")):
            manager.add_memory(5, "Hall", memory(title))
    return tmp_path


def test_show_as_of_turn(two_turns):
    sword = f"{id_of_title(5, 'Sword')}  [NOTE permanent] Sword (episode 1, turn 3): The text of Sword."
    rope = f"{id_of_title(5, 'Rope')}  [NOTE permanent] Rope (episode 1, turn 3): The text of Rope."
    assert run(two_turns, "show", "--as-of", "3:8") == (0, f"Hall (5)\n  {sword}\n", "")
    assert run(two_turns, "show", 5, "--as-of", "3:9")[1] == f"Hall (5)\n  {sword}\n  {rope}\n"
    assert run(two_turns, "show", "--as-of", "3:3") == (2, "", "zorkgpt: No memories as of 3:3.\n")


@pytest.mark.parametrize("episode", ["4", "0", "nosuch", "../runs", "3:8"])
def test_show_as_of_unknown_episode_is_refused(two_turns, episode):
    message = f"zorkgpt: --as-of {episode}:9: there is no episode {episode}.\n"
    assert run(two_turns, "show", "--as-of", f"{episode}:9") == (2, "", message)


def test_show_as_of_episode_without_changes(two_turns):
    log = two_turns / "runs" / "4" / "episode_log.jsonl"
    log.parent.mkdir(parents=True)
    log.touch()
    assert run(two_turns, "show", 5, "--as-of", "4:1")[1].endswith("The text of Rope.\n")


@pytest.mark.parametrize("given", ["3", ":3", "3:", "3:x", "3:-1", "", "3:" + "9" * 5000, "9" * 5000 + ":3"])
def test_show_as_of_invalid_turn_is_refused(two_turns, given):
    message = f"zorkgpt: --as-of {given} is not EPISODE:TURN, such as 3:120.\n"
    assert run(two_turns, "show", "--as-of", given) == (2, "", message)


def test_hidden_memory_is_named_like_any_other(folder):
    with SimpleMemoryManager.open(folder) as manager:
        manager.add_memory(5, "Hall [red]", memory("Sword stand"))
    assert run(folder, "hide", "stand")[0] == 0
    code, _, message = run(folder, "hide", "Swor", "--undo")
    assert code == 2
    assert "Several memories match 'Swor'" in message


def test_pin_hide_and_edit(folder):
    code, output, _ = run(folder, "pin", "sword", "--reason", "true")
    assert (code, output) == (0, f"Hall [red] (5): {SWORD.replace('[NOTE core]', '[NOTE core, pinned]')}\n")
    assert "*(Ep1, T3, +0, pinned)*" in (folder / "Memories.md").read_text()
    assert run(folder, "pin", "Sword", "--undo")[1] == f"Hall [red] (5): {SWORD}\n"
    assert run(folder, "hide", "Rope")[1] == f"Attic (6): {ROPE.replace('permanent]', 'permanent, hidden]')}\n"
    assert run(folder, "hide", "Rope", "--undo")[1] == f"Attic (6): {ROPE}\n"
    arguments = ("--text", "It is long.", "--category", "discovery", "--class", "Core", "--status", "tentative")
    output = run(folder, "edit", "Rope", *arguments)[1]
    assert (
        output
        == f"Attic (6): {id_of_title(6, 'Rope')}  [DISCOVERY core, tentative] Rope (episode 1, turn 3): It is long.\n"
    )
    story = run(folder, "explain", "Rope")[1]
    assert [line.split(" on ")[0].strip() for line in story.splitlines()[5:]] == [
        "hidden",
        "no longer hidden",
        "edited",
    ]
    assert "(by a person)" in story


def test_invalid_edits_are_refused(folder):
    with SimpleMemoryManager.open(folder) as manager:
        manager.add_memory(6, "Attic", memory("Sword"))
    before = (folder / "Memories.md").read_bytes()
    wrong = [
        (("edit", "Rope"), "Nothing to change"),
        (("edit", "Rope", "--status", "gone"), "it must be one of ACTIVE, TENTATIVE, SUPERSEDED"),
        (("edit", "Rope", "--text", "Mine.", "--expect", "Another text."), "changed in the meantime"),
        (("pin", "Axe"), "No memory has the id or title 'Axe'."),
        (("pin", "Sword"), f"{id_of_title(6, 'Sword')}  Sword, Attic (6)"),
        (("pin", "Rope", "--location", 5), "No memory at location 5 has the id or title 'Rope'."),
    ]
    for arguments, message in wrong:
        code, _, error = run(folder, *arguments)
        assert code == 2
        assert message in error
    assert (folder / "Memories.md").read_bytes() == before
