#!/usr/bin/env bash
# textworld 1.7.0
# Expected: after the commands restart and yes, the inventory and the score of the state are those of a new game, or None.
# Behavior: the story starts again, but the state keeps inventory and score of the game before. They stay wrong until reset().
# Output: "You are carrying: a lamp." and 1, while the story says that the player carries nothing
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check textworld==1.7.0
venv/bin/python -W ignore - <<'PYTHON'
import sys

import textworld
from textworld.generator.game import Event, Quest

maker = textworld.GameMaker()
hall = maker.new_room("hall")
maker.set_player(hall)
things = [maker.new(type="o", name=name) for name in ("lamp", "rope")]
hall.add(*things)
taken = [maker.new_fact("in", thing, maker.inventory) for thing in things]
maker.quests = [Quest(win_events=[Event(conditions={fact})], reward=1) for fact in taken]
options = textworld.GameOptions()
options.path = "./game/story.z8"
options.seeds = 1
path = textworld.generator.compile_game(maker.build(), options)
env = textworld.start(path, textworld.EnvInfos(score=True, won=True, inventory=True))
env.reset()
for command in ("take lamp", "restart", "yes"):
    env.step(command)
state, _, _ = env.step("inventory")
seen = state.inventory, state.score, state.feedback.split("\n")[1].strip()
described = "You are carrying: a lamp.", 1, "You are carrying nothing."
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
