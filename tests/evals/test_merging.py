"""Tests of merging the memories of several episodes as if they had been played one after another."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.memory import Answers, remember
from zorkgpt.evals.merging import MemoriesAfterEpisode, merge_memories, time_of
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.entailment.compare import is_plainly_unsure, relation_of
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.history import Trial
from zorkgpt.memory.storage.markdown import MarkdownStore, sidecar
from zorkgpt.memory.storage.tables import Trials

ATTIC = 7


def memory_of(title: str, text: str, episode: int, turn: int = 1, **fields) -> Memory:
    given = {"category": "DISCOVERY", "score_change": 0, "persistence": "permanent"}
    return Memory(title=title, text=text, episode=episode, turns=str(turn), **given | fields)


def write_memories(folder: Path, *memories: Memory, base: Path | None = None) -> Path:
    """Write a memory file with these memories at one place, after the contents of another file."""
    path = folder / "Memories.md"
    folder.mkdir(parents=True)
    for suffix in ("", ".sqlite"):
        if base is not None and (known := Path(f"{base}{suffix}")).is_file():
            Path(f"{path}{suffix}").write_bytes(known.read_bytes())
    with SimpleMemoryManager.open(path) as memory:
        for memory_to_add in memories:
            assert memory.add_memory(ATTIC, "Attic", memory_to_add)
    return path


def merged(folder: Path, *files: Path, base: Path | None = None) -> list[Memory]:
    target = folder / "merged" / "Memories.md"
    target.parent.mkdir(parents=True)
    episodes = [MemoriesAfterEpisode(number, path) for number, path in enumerate(files, 2)]
    merge_memories(base or folder / "none.md", episodes, target)
    return MarkdownStore(target).lasting.memories(ATTIC)


LAMP = "The lamp lights the whole attic."


def test_repeated_memory_is_counted_for_both_episodes(tmp_path):
    first = write_memories(tmp_path / "2", memory_of("Lamp", LAMP, 2, 5))
    second = write_memories(
        tmp_path / "3", memory_of("Lamp", LAMP, 3, 9), memory_of("Rope", "A rope hangs from a beam.", 3, 9)
    )
    lamp, rope = merged(tmp_path, first, second)
    assert (lamp.observation_count, lamp.first_episode, lamp.episode, lamp.turns) == (2, 2, 3, "5→9")
    assert (rope.title, rope.observation_count) == ("Rope", 1)


def test_paraphrase_is_merged(tmp_path):
    first = write_memories(tmp_path / "2", memory_of("Dial", "Turn the dial to open the gate.", 2))
    second = write_memories(tmp_path / "3", memory_of("The dial", "Turning the dial opens the gate.", 3))
    [dial] = merged(tmp_path, first, second)
    assert (dial.text, dial.observation_count) == ("Turn the dial to open the gate.", 2)


def test_memory_of_the_base_is_counted_once(tmp_path):
    base = write_memories(tmp_path / "base", memory_of("Lamp", LAMP, 1))
    found = [write_memories(tmp_path / str(number), memory_of("Lamp", LAMP, number, 4), base=base) for number in (2, 3)]
    [lamp] = merged(tmp_path, *found, base=base)
    assert (lamp.observation_count, lamp.first_episode, lamp.episode) == (3, 1, 3)


def test_episodes_without_memories_leave_no_file(tmp_path):
    nothing, target = tmp_path / "none.md", tmp_path / "merged.md"
    merge_memories(nothing, [MemoriesAfterEpisode(2, nothing)], target)
    assert not target.exists()


def test_visits_are_added_up(tmp_path):
    def file(name: str, visits: int, episodes: str) -> Path:
        path = tmp_path / f"{name}.md"
        path.write_text(
            f"# Location Memories\n\n## Location 7: Attic\n**Visits:** {visits} | **Episodes:** {episodes}\n"
        )
        return path

    base, found = file("base", 1, "1"), [file("2", 3, "1, 2"), file("3", 2, "1, 3"), file("4", 1, "1, 4")]
    target = tmp_path / "merged.md"
    merge_memories(base, [MemoriesAfterEpisode(number, path) for number, path in enumerate(found, 2)], target)
    heading = MarkdownStore(target).lasting.headings([ATTIC])[ATTIC]
    assert (heading.visits, heading.episodes) == (5, (1, 2, 3, 4))


def test_episode_of_an_invalidation_is_kept(tmp_path):
    base = write_memories(tmp_path / "base", memory_of("Lamp", LAMP, 1))
    again = write_memories(tmp_path / "2", memory_of("Lamp", LAMP, 2, 4), base=base)
    wrong = write_memories(tmp_path / "3", base=base)
    with SimpleMemoryManager(path=wrong, game_state=SimpleNamespace(episode_id=3, turn_count=7)) as memory:
        assert memory.invalidate_memory(ATTIC, "Lamp", "It has burnt out.", turn=7)
    [lamp] = merged(tmp_path, again, wrong, base=base)
    assert (lamp.episode, lamp.superseded_in_episode, lamp.superseded_at_turn) == (2, 3, 7)


def test_invalidated_memory_stays_invalid(tmp_path):
    things = "Lamp", "Rope", "Bell"
    base = write_memories(
        tmp_path / "base", *(memory_of(thing, f"A {thing} hangs from the beam.", 1) for thing in things)
    )
    first = write_memories(tmp_path / "2", base=base)
    with SimpleMemoryManager.open(first) as memory:
        for thing in things:
            assert memory.invalidate_memory(ATTIC, thing, f"The {thing} is broken", turn=3)
    memories = merged(tmp_path, first, write_memories(tmp_path / "3", base=base), base=base)
    assert [(memory.title, memory.status, memory.invalidation_reason) for memory in memories] == [
        (thing, "SUPERSEDED", f"The {thing} is broken") for thing in things
    ]


def test_memory_seen_again_later_is_believed_again(tmp_path):
    base = write_memories(tmp_path / "base", memory_of("Lamp", LAMP, 1))
    first = write_memories(tmp_path / "2", base=base)
    with SimpleMemoryManager.open(first) as memory:
        assert memory.invalidate_memory(ATTIC, "Lamp", "It is broken", turn=3)
    again = write_memories(tmp_path / "3", memory_of("Lamp", LAMP, 3, 8), base=base)
    wrong, lamp = merged(tmp_path, first, again, base=base)
    assert (wrong.status, lamp.status, lamp.observation_count) == ("SUPERSEDED", "ACTIVE", 1)


def test_removed_memory_is_gone_unless_seen_again(tmp_path):
    rope = memory_of("Rope", "A rope hangs from a beam.", 1)
    base = write_memories(tmp_path / "base", memory_of("Lamp", LAMP, 1), rope)
    seen = write_memories(tmp_path / "2", replace(rope, episode=2), base=base)
    removed = write_memories(tmp_path / "3", base=base)
    with SimpleMemoryManager.open(removed) as memory:
        for title in ("Lamp", "Rope"):
            assert memory.forget(title, ATTIC)
    assert [memory.title for memory in merged(tmp_path, seen, removed, base=base)] == ["Rope"]


def test_failures_of_several_episodes_invalidate_a_memory(tmp_path):
    base = write_memories(tmp_path / "base", memory_of("Lever", "Pulling it opens the hatch.", 1, action="pull lever"))
    found = []
    for episode in (2, 3):
        path = write_memories(tmp_path / str(episode), base=base)
        path.write_text(path.read_text().replace("(Ep1, T1, +0", "(Ep1, T1, +0, tried 1x"))
        found.append(path)
        trial = Trial(episode, 4, ATTIC, "Lever", "pull lever", "died", False, (0, 1))
        Trials(sidecar(path)).append([trial])
    for path in found:
        text = path.read_text().replace("tried 1x", "worked 0/1, died 1")
        path.write_text(text)
    [lever] = merged(tmp_path, *found, base=base)
    assert (lever.tried, lever.worked, lever.died, lever.status) == (2, 0, 2, "SUPERSEDED")
    trials = list(Trials(sidecar(tmp_path / "merged" / "Memories.md")).trials())
    assert [(trial.episode, trial.after) for trial in trials] == [(2, (0, 1)), (3, (0, 2))]


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        pytest.param("nothing", "SUPERSEDED", id="a failure is believed less"),
        pytest.param("died", "ACTIVE", id="a death is kept beside what worked"),
    ],
)
def test_more_frequent_outcome_in_the_same_state_wins(tmp_path, outcome, status):
    works = memory_of("Pull", "The hatch opens.", 2, action="pull lever", outcome="changed", observation_count=5)
    fails = memory_of("Pull in vain", "Nothing comes of it.", 3, action="pull lever", outcome=outcome)
    found = write_memories(tmp_path / "2", works), write_memories(tmp_path / "3", fails)
    for order in permutations(found):
        memories = merged(tmp_path / str(found.index(order[0])), *order)
        assert {memory.title: memory.status for memory in memories} == {"Pull": "ACTIVE", "Pull in vain": status}


@pytest.mark.parametrize(("pinned", "when"), [(False, ["1 not carried"]), (True, [])])
def test_outcomes_in_different_states_get_conditions(tmp_path, pinned, when):
    rope = Claim(Relation.CARRIED, 1, "rope")
    found = []
    for episode, fact, outcome in (
        (2, remember("Up leads to the crown", category="SUCCESS"), {"location_changed": True, "location_after": 8}),
        (3, remember("Up is too hard", category="FAILURE"), {"nothing_changed": True, "state": (rope,)}),
    ):
        found.append(write_memories(tmp_path / str(episode)))
        state = SimpleNamespace(episode_id=episode, turn_count=0, action_history=[], action_reasoning_history=[])
        with SimpleMemoryManager(path=found[-1], game_state=state, synthesizer=Answers(fact)) as memory:
            memory.record_action_outcome(ATTIC, "Attic", "up", "It is steep.", outcome | {"turn": 1})
            if pinned:
                memory.edit_memory(ATTIC, fact.memory_title, Edit(pinned=True))
    assert {memory.title: [claim.short for claim in memory.when] for memory in merged(tmp_path, *found)} == {
        "Up leads to the crown": when,
        "Up is too hard": ["1 carried"],
    }


OPENS, DENIES = "The lever opens the gate.", "The lever does not open the gate."


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        ({}, {"text": DENIES}, [("SUPERSEDED", 1), ("ACTIVE", 1)]),
        ({"observation_count": 3}, {"text": DENIES}, [("TENTATIVE", 3), ("TENTATIVE", 1)]),
        ({"observation_count": 5}, {"text": DENIES}, [("ACTIVE", 5), ("SUPERSEDED", 1)]),
        ({}, {"text": f"{OPENS} It is heavy."}, [("SUPERSEDED", 1), ("ACTIVE", 2)]),
        ({"vetoed": True}, {"text": OPENS}, [("ACTIVE", 1)]),
        ({"status": "TENTATIVE"}, {"text": OPENS}, [("SUPERSEDED", 1), ("ACTIVE", 2)]),
    ],
    ids=["newer", "open", "older", "refined", "hidden", "confirmed"],
)
def test_later_memory_relates_to_earlier_as_in_one_file(tmp_path, earlier, later, expected):
    first = write_memories(tmp_path / "2", memory_of("Lever", OPENS, 2, **earlier))
    second = write_memories(tmp_path / "3", memory_of("Lever", episode=3, **later))
    assert [(memory.status, memory.observation_count) for memory in merged(tmp_path, first, second)] == expected


@pytest.mark.parametrize("text", [OPENS, f"{OPENS[:-1]}!"])
def test_later_episode_settles_a_conflict(tmp_path, text):
    earlier = [
        write_memories(tmp_path / "2", memory_of("Lever", OPENS, 2, observation_count=3)),
        write_memories(tmp_path / "3", memory_of("Lever", DENIES, 3)),
    ]
    later = write_memories(tmp_path / "4", memory_of("Lever", text, 4, observation_count=3))
    memories = merged(tmp_path / "settled", *earlier, later)
    assert [(memory.status, memory.observation_count) for memory in memories] == [("ACTIVE", 6), ("SUPERSEDED", 1)]


def test_ephemeral_memories_are_kept_in_the_journal_only(tmp_path):
    door = memory_of("Door", "The door is open.", 3, persistence="ephemeral")
    found = [tmp_path / "2" / "Memories.md", write_memories(tmp_path / "3", memory_of("Lamp", LAMP, 3), door)]
    assert [memory.title for memory in merged(tmp_path, *found)] == ["Lamp"]
    records = MarkdownStore(tmp_path / "merged" / "Memories.md").journal.records()
    assert sorted(record.change.memory.title for record in records) == ["Door", "Lamp"]


def test_merging_is_deterministic_and_repeatable(tmp_path):
    found = [
        write_memories(
            tmp_path / str(number),
            memory_of("Lamp", LAMP, number),
            memory_of(f"Mark {number}", f"A {number} is cut.", number),
        )
        for number in (2, 3, 4)
    ]
    written = []
    for name in ("memory", "other"):
        merged(tmp_path / name, *found)
        folder = tmp_path / name / "merged"
        written.append({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    assert written[0] == written[1]
    assert written[0].keys() == {"Memories.md", "Memories.md.sqlite"}
    assert time_of(4).isoformat(timespec="milliseconds").encode() in written[0]["Memories.md.sqlite"]
    base = tmp_path / "memory" / "merged" / "Memories.md"
    again = write_memories(tmp_path / "5", memory_of("Lamp", LAMP, 5), base=base)
    target = tmp_path / "again" / "Memories.md"
    target.parent.mkdir()
    merge_memories(base, [MemoriesAfterEpisode(5, again)], target)
    memories = MarkdownStore(target).lasting.memories(ATTIC)
    assert [(memory.title, memory.observation_count) for memory in memories] == [
        ("Lamp", 4),
        ("Mark 2", 1),
        ("Mark 3", 1),
        ("Mark 4", 1),
    ]
    # The journal agrees with the file.
    assert MarkdownStore(target).journal.lasting() == {ATTIC: memories}
    assert base.read_bytes() == written[0]["Memories.md"]


SOME = "lamp lamps lights lit lighting not never opens open opened the north south you to of hero's hero"
WORDS = st.sampled_from(SOME.split())


@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, min_size=1, max_size=6))
def test_plainly_unsure_texts_are_unsure(first, second):
    for older, newer in permutations((" ".join(first), " ".join(second))):
        if is_plainly_unsure(older, newer):
            assert relation_of(older, newer) == "unsure"
