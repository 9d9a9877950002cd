"""Tests of the rules player in small stories with clocks and random exits."""

from pathlib import Path

import pytest

from game_interface.story import find_story
from tests.fixtures.runs import a_run, turns_of
from tests.fixtures.stories import build

pytestmark = pytest.mark.slow

_HEADER = """
!% -v5
Constant Story "CLOCKS";
Constant Headline "^A test.^";
[ DrawStatusLine; ];
Include "Parser";
Include "VerbLib";
"""
_HUNGER = """
Object hall "Hall" with description "A hall. A larder is north.", n_to larder, has light;
Object larder "Larder" with description "A larder. The hall is south.", s_to hall, has light;
Object -> pebble "pebble" with name 'pebble';
Object -> loaf "loaf" with name 'loaf', after [; Eat: hunger.time_left = 400; "Your hunger is gone."; ], has edible;
Object hunger with time_left 0, time_out [; deadflag = 1; "^You collapse from hunger."; ];
[ Initialise; location = hall; StartTimer(hunger, 25); "You are hungry."; ];
Include "Grammar";
"""


def played(inform: str, folder: Path, source: str, *, episodes: int, turns: int, seed: int = 1) -> Path:
    story = find_story(build(inform, folder, _HEADER.lstrip() + source, 5))
    for _ in range(episodes):
        with a_run(folder / "run", turns=turns, story=story, seed=seed) as run:
            run.play_episode()
    return folder / "run"


def test_food_is_eaten_before_a_known_death_from_hunger(inform, tmp_path):
    run = played(inform, tmp_path, _HUNGER, episodes=3, turns=40)
    lengths = [len(turns_of(run, episode)) for episode in (1, 2, 3)]
    assert lengths == [26, 40, 40]
    actions = [turn.transition.action for turn in turns_of(run, 3)]
    assert actions.count("eat loaf") == 1
    assert "eat pebble" not in actions
    assert 16 <= actions.index("eat loaf") <= 26


_ROUNDABOUT = """
Object hall "Hall" with description "A hall. A spinning passage leads north.",
  n_to [; switch (random(3)) { 1: return cellar; 2: return attic; default: return vault; } ], has light;
Object cellar "Cellar" with description "A cellar. The hall is south.", s_to hall, has light;
Object attic "Attic" with description "An attic. The hall is south.", s_to hall, has light;
Object vault "Vault" with description "A vault. The hall is south.", s_to hall, has light;
[ Initialise; location = hall; "You are dizzy."; ];
Include "Grammar";
"""


def test_random_exit_is_walked_again_for_its_other_destinations(inform, tmp_path):
    run = played(inform, tmp_path, _ROUNDABOUT, episodes=1, turns=20, seed=8)
    seen = {turn.after.location_name for turn in turns_of(run)}
    assert seen == {"Hall", "Cellar", "Attic", "Vault"}


_FERRY = """
Object pier "Pier" with description "A pier. A meadow is west.", w_to meadow, has light;
Object meadow "Meadow" with description "A meadow. The pier is east.", e_to pier, has light;
Object heron "grey heron" pier with name 'grey' 'heron', stay 0,
  each_turn [; if (location ~= pier) rtrue; self.stay++;
    if (self has general) give self ~general; else give self general;
    if (self.stay == 8) { score = score + 5; remove self; "^The heron flies away and drops a pearl into your hands."; }
    "^The heron cocks its head."; ],
  has animate;
[ Initialise; location = meadow; "It is early."; ];
Include "Grammar";
"""


def test_player_waits_where_something_changes_by_itself(inform, tmp_path):
    run = played(inform, tmp_path, _FERRY, episodes=2, turns=30)
    waits = [turn.turn for turn in turns_of(run) if turn.transition.action == "wait"]
    assert 0 < len(waits) < 5
    scored = [next(turn.turn for turn in turns_of(run, episode) if turn.after.score == 5) for episode in (1, 2)]
    assert scored == [9, 8]
