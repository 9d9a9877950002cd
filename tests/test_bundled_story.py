"""Tests of the bundled story in a real interpreter."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.fixtures.slackwater import PROFILE, ROOT, WALKTHROUGH, Play

# Jericho warns about every story that is not in its list.
pytestmark = pytest.mark.filterwarnings("ignore:Game .* is not fully supported")

INTO_THE_HOUSE = [
    *("north", "north", "east", "take clapper", "northwest", "examine window", "open window", "south", "take lamp"),
    *("take bread", "take iron key"),
]
BELOW = [*INTO_THE_HOUSE, "south", "west", "turn on lamp", "open trap door", "down"]
TO_THE_TROLL = [*BELOW, "north", "north"]
BRINE = ["north", "west", "north", "take bottle", "south", "fill bottle", "east", "south"]
TO_THE_MARSH = ["north", "west", "west"]
TO_THE_STAITHE = [*TO_THE_MARSH, "north", "west", "south", "west"]
TO_THE_WALL = WALKTHROUGH[: WALKTHROUGH.index("say ebbandry")]

NEWCOMER = (ROOT / "tests" / "data" / "slackwater_newcomer.txt").read_text("utf-8").splitlines()
"""Commands of a newcomer, one per line, with [Room] where that room must have been reached."""
NOT_UNDERSTOOD = (
    *("not a verb", "any such thing", "idn't understand", "nly understood", "hich do you mean", "What do you want"),
    *("want to talk to someone", "said too little", "aren't holding", "not sure what"),
)


@pytest.fixture
def play() -> Iterator[Play]:
    episode = Play()
    yield episode
    episode.close()


# The file


def test_compiled_story_matches_its_source(inform):
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts" / "build_story", "--check"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_profile_numbers_match_object_names(play):
    assert PROFILE["player_object"] == play.value("player")
    assert [play.memory.name(n) for n in PROFILE["vehicle_objects"]] == ["punt"]
    assert play.memory.name(PROFILE["dark_object"]) == "(darkness object)"


def test_profile_attributes(play):
    facts = [("small window", "door"), ("sea chest", "container"), ("short sword", "static"), ("pear", "edible")]
    assert [play.has(*fact) for fact in facts] == [True, True, False, True]
    assert play.has("notice", "readable")
    assert play.has("brass key", "shiny")
    assert play.has("Orchard", "light")
    assert not play.has("Cellar", "light")
    assert play.has("oak door", "locked")
    play(*INTO_THE_HOUSE, "turn on lamp")
    assert play.has("storm lamp", "on")
    assert play.has("small window", "open")


def test_things_are_named_by_the_last_word(play):
    known = {entry.text for entry in play.machine.dictionary}
    library = {0, play.number("Object"), play.number("Class"), play.number("compass")}
    things = [n for n in range(1, play.machine.object_count + 1) if play.memory.parent(n) not in library]
    names = [play.memory.name(n) for n in things if n != PROFILE["player_object"]]
    assert len(names) > 60
    assert [name for name in names if name.split()[-1][:9] not in known] == []


# What a newcomer tries


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_story_understands_words_of_its_texts(seed):
    play = Play(seed)
    misunderstood, strayed = [], []
    for line in NEWCOMER:
        if line.startswith("["):
            strayed += [(line, play.room)] * (play.room != line.strip("[]"))
            continue
        response = play(line)
        if any(phrase in response for phrase in NOT_UNDERSTOOD):
            misunderstood.append((play.room, line, response.strip()))
    assert (misunderstood, strayed) == ([], [])
    assert (play.ended, play.value("score")) == ("victory", 100)
    play.close()


def test_newcomer_commands_cover_every_room(play):
    rooms = set()
    for line in NEWCOMER:
        if not line.startswith("["):
            play(line)
            rooms.add(play.value("real_location"))
    assert len(rooms) == 29
    assert sum(not line.startswith("[") for line in NEWCOMER) >= 300


@pytest.mark.parametrize("room", ["Causeway End", "Kitchen", "Cellar", "Open Mere"])
def test_mentioned_scenery_is_concealed(play, room):
    walk = iter(WALKTHROUGH)
    while play.room != room:
        play(next(walk))
    for noun in ("boots", "hat", "hands", "reeve", "accounts", "house"):
        assert "any such thing" not in play.response_to(f"examine {noun}")
    assert "boots" not in play.response_to("look")
    assert "boots" not in play.response_to("take all")


@pytest.mark.parametrize("question", ["climb", "unlock", "examine"])
def test_direction_as_answer_is_a_move(play, question):
    assert "What do you want" in play(question)
    play("n")
    assert play.room == "Hollow Lane"


def test_question_is_answered_with_a_noun(play):
    assert "Waist high" in play("examine", "milestone")
    play("n", "n", "examine")
    assert "notice under" in play("notice")


def test_help_and_about(play):
    assert "INVENTORY" in play("help")
    assert "an errand in twenty-nine rooms" in play("about")
    assert play.value("turns") == 0


def test_repeated_hint_says_more(play):
    play("read letter")
    nudge, more, solution = (play("hint") for _ in range(3))
    assert "window" not in nudge
    assert "window" in more
    assert "OPEN WINDOW" not in more
    assert "OPEN WINDOW" in solution
    assert play("hint") == solution
    assert play.value("turns") == 1


def test_hints_follow_progress(play):
    hints = []
    for command in WALKTHROUGH[:-1]:
        play(command)
        if (hint := play.response_to("hint")) not in hints:
            hints.append(hint)
    assert len(hints) >= 14
    assert "Is it where it belongs?" in hints[-1]


def test_hint_in_the_dark(play):
    play(*BELOW[:-3], "open trap door", "down")
    assert "light" in play.response_to("hint")


# The walkthrough


@pytest.mark.parametrize("seed", range(1, 11))
def test_walkthrough_reaches_100_points_and_victory(seed):
    play = Play(seed)
    last = play(*WALKTHROUGH)
    assert "****  You have won  ****" in last
    assert "scored 100 out of a possible 100" in last
    assert (play.value("score"), play.ended, PROFILE["max_score"]) == (100, "victory", 100)
    play.close()


def test_memory_matches_text_at_every_step(play):
    for turn, command in enumerate(WALKTHROUGH, start=1):
        play(command)
        assert play.value("turns") == turn
        assert play.value("location") == play.value("real_location")
        if play.ended is None:
            assert play.room in play.response_to("look")
            assert f"scored {play.value('score')} out of a possible 100, in {turn} turn" in play.response_to("score")


def test_same_seed_gives_the_same_transcript():
    transcripts = []
    for _ in range(2):
        play = Play(7)
        transcripts.append([play(command) for command in ["take penny", *["wait"] * 30]])
        play.close()
    assert transcripts[0] == transcripts[1]


def test_no_status_line_or_prompt_is_printed(play):
    assert play("north").strip().splitlines()[0] == "Hollow Lane"
    assert ">" not in play("look")


# What a memory can learn


def test_winning_requires_twenty_rooms(play):
    rooms = {play.value("location")}
    for command in WALKTHROUGH:
        play(command)
        rooms.add(play.value("location"))
    assert len(rooms) >= 20


def test_window_is_examined_opened_and_entered(play):
    play("north", "north", "east", "northwest")
    assert "look more closely" in play("open window")
    assert "shut" in play("enter window")
    play("examine window")
    assert "shut" in play("enter window")
    play("open window", "enter window")
    assert (play.room, play.value("score")) == ("Kitchen", 7)


def test_sword_and_lamp_return_after_a_restart(play):
    places = [play.holder("short sword"), play.holder("storm lamp")]
    play(*INTO_THE_HOUSE, "south", "take sword", "drop sword")
    play.env.reset()
    assert [play.holder("short sword"), play.holder("storm lamp")] == places == ["Hall", "Kitchen"]


def test_lamp_warns_and_goes_out(play):
    play(*INTO_THE_HOUSE, "turn on lamp")
    text = "".join(play("wait") for _ in range(400))
    warnings = ["flickers", "turning red", "gutters", "goes out"]
    assert [warning for warning in warnings if warning in text] == warnings
    assert "no oil left" in play("turn on lamp")


def test_dark_cellar_is_deadly(play):
    play(*BELOW[:-3], "open trap door", "down")
    assert play.value("location") == PROFILE["dark_object"]
    assert play.room == "Cellar"
    play("wait", "wait")
    assert play.ended is None
    assert "You have died" in play("wait")
    assert play.ended == "death"


def test_known_way_leaves_the_dark_alive(play):
    play(*BELOW[:-3], "open trap door", "down", "north", "west", "west")
    assert (play.room, play.ended) == ("Salt Pans", None)


def test_trap_door_closes_behind_the_player(play):
    assert "bar drop" in play(*BELOW)
    assert "barred" in play("up")
    assert "barred" in play("open trap door")
    assert play.room == "Cellar"
    play("north", "west", "west", "east", "north", "west", "northeast", "south", "south", "west", "open trap door")
    assert play.has("trap door", "open")


@pytest.mark.parametrize("gift", ["bread", "iron key"])
def test_troll_accepts_a_gift_and_kills_later(play, gift):
    play(*TO_THE_TROLL)
    assert "puts an arm across" in play("north", "north")
    assert "gratefully" in play(f"give {gift} to troll")
    assert play.ended is None
    assert "You have died" in play("north")


def test_troll_fears_the_bottle_and_brine_kills_it(play):
    play(*BRINE, *TO_THE_TROLL)
    assert "flinches" in play("give bottle to troll")
    play("give iron key to troll")
    before = play.value("score")
    play("throw brine at troll")
    assert (play.value("score") - before, play.holder("iron key")) == (6, "Toll Arch")
    play("north")
    assert play.room == "Salt Gallery"


def test_fresh_water_only_earns_thanks(play):
    play(
        "north",
        "west",
        "north",
        "take bottle",
        "south",
        "east",
        "north",
        "west",
        "fill bottle",
        "east",
        "south",
        "south",
    )
    assert "Thank you" in play(*TO_THE_TROLL, "pour water on troll")
    play("north")
    assert play.room == "Toll Arch"


def test_advice_about_the_troll_can_be_read(play):
    assert "BRINE" in play(*INTO_THE_HOUSE, "south", "west", "read ledger")
    assert "TROLLS" in play("east", "north", "north", "southwest", "east", "south", "west", "north", "read slate")


@pytest.mark.parametrize("command", ["open door", "north", "pull nails", "break door", "unlock door with letter"])
def test_front_door_cannot_be_opened(play, command):
    play("north", "north", command)
    assert (play.room, play.has("front door", "open")) == ("Front Yard", False)


def test_tree_cannot_be_climbed(play):
    assert "can't be climbed" in play("north", "north", "east", "climb tree")
    assert "can't be climbed" in play("up")


def test_wrong_key_does_not_open(play):
    play(*BELOW, "north", "east", "take brass key", "west", "west", "west")
    play("east", "north", "west", "northeast", "south", "south", "up")
    assert "wrong key" in play("unlock oak door with iron key")
    assert play.has("oak door", "locked")
    play("unlock oak door with brass key", "open oak door", "east")
    assert play.room == "Reeve's Chamber"


def test_bottle_is_filled_elsewhere(play):
    assert "nothing here" in play(*BRINE[:4], "fill bottle")
    play("south", "fill bottle")
    assert play.holder("brine") == "glass bottle"
    play("empty bottle", "east", "north", "west", "fill bottle")
    assert play.holder("fresh water") == "glass bottle"


def test_open_chest_takes_each_treasure_once(play):
    play(*TO_THE_MARSH, "north", "west", "south", "take amber", "north", "east", "south", "east", "east", "south")
    play(*INTO_THE_HOUSE, "south")
    before = play.value("score")
    assert "You lay the amber bead in the chest" in play("open chest")
    gained = play.value("score") - before
    play("put lamp in chest", "take amber")
    assert (gained, play.value("score") - before) == (5, 5)
    assert [play.holder("storm lamp"), play.holder("amber bead")] == ["sea chest", "sea chest"]


def test_points_are_awarded_once(play):
    play("read letter", "read letter", "drop letter", "take letter", "read letter")
    assert play.value("score") == 1


def test_four_rooms_are_named_marsh(play):
    rooms = []
    for command in TO_THE_STAITHE:
        play(command)
        rooms.append((play.room, play.value("location")))
    marshes = [number for name, number in rooms if name == "Marsh"]
    assert len(set(marshes)) == len(marshes) == 4


def test_punt_moves_after_its_rope_is_cut(play):
    play(*TO_THE_STAITHE)
    assert "made fast with a tarred rope" in play("west")
    play("enter punt", "west")
    assert play.room == "Staithe"


@pytest.mark.parametrize("commands", [["cut rope", "west"], ["west"], ["enter punt", "west"]])
def test_sword_cuts_the_rope_of_the_punt(play, commands):
    play(*INTO_THE_HOUSE, "south", "take sword", "north", "north", "southwest", "east", "south", "south")
    play(*TO_THE_STAITHE, *commands)
    assert (play.room, play.holder("punt"), play.holder("(self object)")) == ("Open Mere", "Open Mere", "punt")
    play("north", "exit", "north")
    assert play.room == "Ruined Chapel"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_jackdaw_steals_shiny_things_and_its_nest_returns_them(seed):
    play = Play(seed)
    play("take penny", "north")
    for _ in range(60):
        play("wait")
    assert play.holder("copper penny") == "jackdaw's nest"
    play(*INTO_THE_HOUSE[1:], "south", "up", "up", "take penny")
    assert play.holder("copper penny") == "(self object)"
    play.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_clapper_protects_from_the_jackdaw(seed):
    play = Play(seed)
    play("north", "north", "east", "take clapper", "west", "south", "south", "take penny", "north")
    for _ in range(60):
        play("wait")
    assert play.holder("copper penny") == "(self object)"
    play.close()


def test_magic_word_is_only_in_the_chapel(play):
    before = WALKTHROUGH.index("read inscription")
    transcript = [play(command) for command in WALKTHROUGH]
    assert "EBBANDRY" in transcript[before]
    assert not [text for text in transcript[:before] if "ebbandry" in text.lower()]


def test_magic_word_works_only_at_the_listening_wall(play):
    assert "Nothing here has an ear" in play("say ebbandry")
    play(*(command for command in TO_THE_WALL if command != "read inscription"), "push wall", "east")
    assert play.room == "Salt Gallery"
    play("say ebbandry", "east")
    assert play.room == "Strongroom"


def test_word_that_was_read_is_said_on_the_way(play):
    assert "word that is cut in the chapel" in play(*TO_THE_WALL, "east")
    assert play.room == "Strongroom"


def test_troll_is_passed_with_brine_in_hand(play):
    play(*BRINE, *TO_THE_TROLL)
    before = play.value("score")
    play("north")
    assert (play.room, play.value("score") - before) == ("Salt Gallery", 6)


@pytest.mark.parametrize("command", ["fill bottle", "take brine", "push pans"])
def test_bottle_is_filled_at_the_pans(play, command):
    play(*BRINE[:5], command)
    assert play.holder("brine") == "glass bottle"


def test_brass_key_opens_the_oak_door_at_once(play):
    play(*WALKTHROUGH[: WALKTHROUGH.index("unlock oak door with brass key")], "open oak door", "east")
    assert play.room == "Reeve's Chamber"


@pytest.mark.parametrize(
    "commands",
    [
        ["south", "south"],
        ["north", "north", "west", "down", "down"],
        ["north", "north", "east", "northwest", "eat berries"],
        [*TO_THE_MARSH, "west", "west"],
        [*TO_THE_TROLL, "attack troll", "attack troll"],
        [*TO_THE_WALL, "west", "west"],
        [*WALKTHROUGH[: WALKTHROUGH.index("cut rope") + 1], "west", "south", "south"],
    ],
    ids=["causeway", "well", "berries", "green twice", "troll struck twice", "pit", "sluice"],
)
def test_deadly_step_ends_the_game(play, commands):
    play(*commands[:-1])
    assert play.ended is None
    assert "****  You have died  ****" in play(commands[-1])
    assert play.ended == "death"


def test_last_treasure_wins(play):
    assert "under water" in play("go home")
    play(*WALKTHROUGH[:-1])
    assert (play.ended, play.value("score")) == (None, 91)
    play(WALKTHROUGH[-1])
    assert (play.ended, play.value("score")) == ("victory", 100)


def test_punt_is_entered_and_left_by_walking(play):
    play(*WALKTHROUGH[: WALKTHROUGH.index("cut rope") + 1], "exit")
    assert "step into the punt" in play("west")
    assert "step ashore" in play("north", "north")
    play("south", "south", "east")
    assert (play.room, play.holder("(self object)")) == ("Staithe", "punt")
    play("east")
    assert (play.room, play.holder("(self object)")) == ("Marsh", "Marsh")
