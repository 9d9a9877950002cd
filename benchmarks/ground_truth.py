"""Measure how reliably commands without effect are recognized, along walkthroughs of stories.

    uv run python -m benchmarks.ground_truth [--every 1] [--publish]

At every step of a walkthrough, commands that can't have an effect are tried on a saved state: unknown words, missing
exits, taking fixed, absent or carried objects, and opening open objects. For the opposite error, the commands of the
walkthrough that are reported to have no effect, or no known effect, are listed. The stories are the bundled one and, if
ZORKGPT_ZORK1 is set, Zork I.
"""

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks.publish import Table, publish
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Transition
from session.outcome import failed, is_passive
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.directions import DIRECTIONS


def refusals(game: JerichoInterface) -> Iterator[tuple[str, str]]:
    """Yield (kind, command) of commands that should have no effect here."""
    scene, now = game.scene(), game.observe()
    yield from (("unknown verb", "qzxv lamp"), ("unknown noun", "take qzxv"), ("no sentence", "take with of"))
    yield from (("on oneself", f"{verb} me") for verb in ("take", "open", "push", "pull", "eat", "turn"))
    yield from (("no way", direction) for direction in DIRECTIONS)
    if scene is None:
        return
    absent = sorted(word for word, numbers in game.language.names.items() if not numbers & scene.in_scope)
    yield from (("absent", f"take {word}") for word in absent[::97])
    near = {word: numbers & scene.in_scope for word, numbers in sorted(game.language.names.items())}
    words = {number: word for word, numbers in near.items() if len(numbers) == 1 for number in numbers}
    yield from (("ambiguous", f"take {word}") for word, numbers in near.items() if len(numbers & scene.carried) > 1)
    for item in (*(now.visible or ()), *(now.carried or ())):
        attributes, word = scene.attributes.get(item.num, {}), words.get(item.num)
        if word is None or attributes.get("animate"):
            continue
        if attributes.get("fixed"):
            yield "fixed", f"take {word}"
        if item in (now.inventory or ()):
            yield "carried already", f"take {word}"
        if attributes.get("openable"):
            yield ("open already", f"open {word}") if attributes.get("open") else ("closed already", f"close {word}")


def has_no_known_effect(step: Transition) -> bool:
    before, after = step.before, step.after
    has_changes = any(not change.by_itself for change in (*step.moved, *step.changed))
    is_same = (before.location, before.inventory, before.score) == (after.location, after.inventory, after.score)
    return is_same and not has_changes


def measure(title: str, story: Path | None, seed: int, commands: list[str], every: int) -> list[str]:
    """Print the results for one story. Return its row of the published table."""
    tried, told, missed = Counter(), Counter(), defaultdict(Counter)
    vain, unnamed, took = [], [], 0.0
    with JerichoInterface(story, seed=seed) as game:
        game.act("look")
        game.reset()
        for number, command in enumerate(commands):
            state = game.save_state()
            for kind, refusal in refusals(game) if number % every == 0 else ():
                step = game.act(refusal)
                game.restore_state(state)
                if has_no_known_effect(step):
                    tried[kind] += 1
                    told[kind] += not step.unnamed_change
                    missed[kind][_said(step)] += step.unnamed_change
            begun = perf_counter()
            step = game.act(command)
            took += perf_counter() - begun
            line = f"{number} {command!r}: {_said(step)}"
            vain += [line] * failed(step)
            unnamed += [line] * (step.unnamed_change and not is_passive(command))
    rightly, all_of_them = sum(told.values()), sum(tried.values())
    print(f"\n{title}: {rightly} of {all_of_them} refusals recognized ({rightly / all_of_them:.1%})")
    for kind in tried:
        print(f"  {kind:<16}{told[kind]:>6} of {tried[kind]:<6}", dict((+missed[kind]).most_common(4)) or "")
    print(f"  {len(vain)} of {len(commands)} commands reported without effect:", *vain, sep="\n    ")
    print(f"  {len(unnamed)} reported without a known effect:", *unnamed, sep="\n    ")
    print(f"  {took / len(commands) * 1000:.2f} ms per command")
    return [title, f"{rightly:,} of {all_of_them:,} ({rightly / all_of_them:.1%})"]


def _said(step: Transition) -> str:
    return step.response.partition("\n")[0][:60]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    rows = [measure("Slack Water", None, BUNDLED_SEED, get_bundled_walkthrough(), given.every)]
    if zork := os.environ.get("ZORKGPT_ZORK1"):
        rows.append(measure("Zork I", Path(zork), ZORK1_SEED, get_zork1_walkthrough(), given.every))
    if given.publish:
        table = Table(columns=["story", "commands without effect that are recognized"], rows=rows)
        publish("ground_truth", "uv run python -m benchmarks.ground_truth", {"commands": table})


if __name__ == "__main__":
    main()
