#!/usr/bin/env bash
# textworld 1.7.0
# Expected: after a victory, another step says that the game is done and won, or raises an error.
# Behavior: the step says that the game is neither done nor won. The story waits for an answer to its final question.
# Output: (True, True) for the last command, then (False, False)
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
env.step("take lamp")
seen = [(done, state.won) for state, _, done in map(env.step, ("take rope", "look"))]
described = [(True, True), (False, False)]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
