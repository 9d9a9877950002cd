"""Measure how many of the commands that a game refuses are rejected by the action check, and its false rejections.

    ZORKGPT_ZORK1=zork1.z5 uv run python benchmarks/critic.py [--actions 60] [--every 4] [--seed 0]

At every n-th state of the walkthrough, random actions of the parser's verbs, prepositions and names are checked and
then tried on the saved state. 60 % of the names are of objects in reach. An action has an effect if an object moved or
changed, the place or the score changed, or the player died, apart from effects that many actions there have. It is
refused if it has no effect, and the game's clock stopped or the text says so. Questions are counted separately. All
other actions count as accepted, although some may be refusals in unknown words. A rejection of an action with an
effect, or of a step of the walkthrough, is false.
"""

import argparse
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.sanitize import clean_command
from game_interface.models import Transition
from tests.fixtures.walkthrough import (
    BUNDLED_SEED,
    ZORK1_SEED,
    bundled_story_path,
    get_bundled_walkthrough,
    get_zork1_walkthrough,
)
from zorkgpt.action_check import ValidationResult, check_action
from zorkgpt.errors import CommandRefused

USUAL = (
    *("take {}", "open {}", "close {}", "drop {}", "read {}", "examine {}", "push {}", "turn on {}", "turn off {}"),
    *("wear {}", "eat {}", "enter {}", "climb {}", "put {} in {}", "give {} to {}", "unlock {} with {}"),
    *("attack {} with {}", "tie {} to {}", "take {} from {}"),
)
SHAPES = ("{verb}", "{verb} {one}", "{verb} {one}", "{verb} {word} {one}", "{verb} {one} {word} {other}")
WORDS = ("in", "on", "with", "to", "from", "under", "at", "up", "off", "down")
REFUSAL = re.compile(
    r"can't (see|take|be)|cannot be|you cannot|(are|is)n't here|is not here|(don't|aren't|not) (have|hold|carry|wear)"
    r"|already|(are|is) not something|no need to|fixed in place|don't see what"
    r"|must tell me how|portable|too (heavy|large)|securely|only do that|unable to|need to (be|take)"
    r"|supply a direction|don't know the word|what a concept|interesting idea|valiant attempt|must be holding",
    re.IGNORECASE,
)
QUESTION = re.compile(r"^(Which|What do you want|Who do you)", re.IGNORECASE)


@dataclass(frozen=True)
class Trial:
    """An action with the verdict of the check and the effect in the game."""

    place: str
    action: str
    verdict: ValidationResult
    step: Transition
    ticked: bool

    @property
    def effects(self) -> set[tuple]:
        step = self.step
        moved = {("moved", move.number, move.destination_number) for move in step.moved}
        changed = {("changed", change.number, change.attribute, change.value) for change in step.changed}
        went, scored = step.before.location != step.after.location, step.before.score != step.after.score
        flags = (("went", went), ("score", scored), ("died", step.died))
        return moved | changed | {(name,) for name, true in flags if true}


@dataclass
class Tally:
    """Counts of (class, rejected), times, and false rejections."""

    counts: Counter = field(default_factory=Counter)
    walked: int = 0
    false: list[Trial] = field(default_factory=list)
    walk_rejected: list[str] = field(default_factory=list)
    check_s: float = 0.0
    scene_s: float = 0.0

    def share(self, kind: str) -> str:
        rejected, passed = self.counts[kind, True], self.counts[kind, False]
        return f"{rejected} of {rejected + passed} ({rejected / max(1, rejected + passed):.1%})"


def actions(game: JerichoInterface, dice: random.Random) -> Iterator[str]:
    """Yield random actions for the current state without end."""
    language, scene = game.language, game.scene()
    things = scene.carried | scene.here if scene else frozenset()
    at_hand = sorted(word for word, numbers in language.names.items() if numbers & things)
    anything, verbs = sorted(language.names), sorted(language.verbs)

    def noun() -> str:
        return dice.choice(at_hand if at_hand and dice.random() < 0.6 else anything)

    while True:
        if dice.random() < 0.3:
            yield dice.choice(USUAL).format(noun(), noun())
        else:
            shape = dice.choice(SHAPES)
            yield shape.format(verb=dice.choice(verbs), one=noun(), word=dice.choice(WORDS), other=noun())


def trials(game: JerichoInterface, count: int, dice: random.Random, answering: bool) -> list[Trial]:
    saved, scene, before = game.save_state(), game.scene(), game.observe()
    done: list[Trial] = []
    for action in actions(game, dice):
        if len(done) == count:
            return done
        try:
            clean_command(action)
        except CommandRefused:
            continue
        verdict = check_action(action, game.language, scene, answering=answering)
        step = game.act(action)
        place = before.location_name
        done.append(Trial(place, action, verdict, step, step.after.moves != before.moves))
        game.restore_state(saved)
    return done


def sort_out(done: list[Trial], tally: Tally) -> None:
    """Classify the trials at a state. Effects of many actions are attributed to the world and ignored."""
    ticked = [trial for trial in done if trial.ticked]
    counts = Counter(effect for trial in ticked for effect in trial.effects)
    common = {effect for effect, count in counts.items() if count >= max(2, len(ticked) / 4)}
    for trial in done:
        text = trial.step.response
        if trial.effects - common:
            kind = "effect"
        elif QUESTION.match(text):
            kind = "question"
        else:
            kind = "refused" if not trial.ticked or REFUSAL.search(text) else "accepted"
        tally.counts[kind, not trial.verdict.valid] += 1
        if kind in ("effect", "accepted") and not trial.verdict.valid:
            tally.false.append(trial)


def measure(path: str | Path, seed: int, walkthrough: list[str], given: argparse.Namespace) -> Tally:
    tally, dice = Tally(walked=len(walkthrough)), random.Random(given.seed)
    with JerichoInterface(path, seed=seed) as game:
        text = game.reset()
        for index, action in enumerate(walkthrough):
            started = perf_counter()
            scene = game.scene()
            seen = perf_counter()
            verdict = check_action(action, game.language, scene, answering="?" in text)
            tally.check_s += perf_counter() - seen
            tally.scene_s += seen - started
            if not verdict.valid:
                tally.walk_rejected.append(action)
            if index % given.every == 0:
                sort_out(trials(game, given.actions, dice, "?" in text), tally)
            text = game.act(action).response
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=60, help="a state")
    parser.add_argument("--every", type=int, default=4, help="steps of the walkthrough")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print rejections of what was accepted")
    given = parser.parse_args()
    stories = {"Slack Water": (bundled_story_path(), BUNDLED_SEED, get_bundled_walkthrough())}
    if zork := os.environ.get("ZORKGPT_ZORK1"):
        stories["Zork I"] = (zork, ZORK1_SEED, get_zork1_walkthrough())
    tallies = {name: measure(*story, given) for name, story in stories.items()}
    print("|  | " + " | ".join(tallies) + " |\n| --- |" + " --- |" * len(tallies))
    rows = {
        "walkthrough steps rejected": lambda one: f"{len(one.walk_rejected)} of {one.walked}",
        "actions with an effect rejected": lambda one: one.share("effect"),
        "accepted actions without effect rejected": lambda one: one.share("accepted"),
        "refused actions rejected": lambda one: one.share("refused"),
        "questions back rejected": lambda one: one.share("question"),
        "µs a check": lambda one: f"{one.check_s / one.walked * 1e6:.0f}",
        "µs to see what is here, once a turn": lambda one: f"{one.scene_s / one.walked * 1e6:.0f}",
    }
    for label, row in rows.items():
        print(f"| {label} | " + " | ".join(row(one) for one in tallies.values()) + " |")
    if given.show:
        for trial in (trial for one in tallies.values() for trial in one.false):
            print(f"\n{trial.place}: {trial.action}\n  {trial.verdict.reason}")
            print(f"  {' '.join(trial.step.response.split())} {sorted(map(str, trial.effects)) or ''}")


if __name__ == "__main__":
    main()
