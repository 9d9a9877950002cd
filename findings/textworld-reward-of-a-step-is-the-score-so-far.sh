#!/usr/bin/env bash
# textworld 1.7.0
# Expected: env.step returns the reward of this command, so that the sum of the rewards is the score.
# Behavior: it returns the score so far, again with each command. The sum of the rewards is greater than the score.
# Output: rewards 1, 1 and 1 with a score of 1
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
seen = [(reward, state.score) for state, reward, _ in map(env.step, ("take lamp", "look", "look"))]
described = [(1, 1), (1, 1), (1, 1)]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
