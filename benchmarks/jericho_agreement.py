"""Find differences between the interface and Jericho in inventory, score and place, and which side the text confirms.

    uv run python -m benchmarks.jericho_agreement STORY_OR_FOLDER ... [--publish]

The benchmark plays Jericho's walkthroughs. At each difference, `inventory`, `score` or `look` is played on a saved
state. The text confirms a side if it prints only the objects, number or name of that side.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import jericho

from benchmarks.publish import Table, publish
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.names import heading_in
from game_interface.models import Observation

_ASKED = {"inventory": "inventory", "score": "score", "place": "look"}


def stories(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.glob("*.z[3-8]")) if path.is_dir() else [path]


def confirmed_by(kind: str, printed: str, ours: set[str], theirs: set[str]) -> str:
    """Return which side the text of the story confirms: "ours", "Jericho's" or "neither"."""
    if kind == "score":
        said = {number.lstrip("+") for number in re.findall(r"(?<![\w-])-?\d+", printed)}
    elif kind == "place":
        heading = heading_in(printed) or ""
        said = {name for name in ours | theirs if name and name == heading}
    else:
        said = {name for name in ours | theirs if name and re.search(rf"\b{re.escape(name)}\b", printed)}
    sides = [bool(ours & said) and not (theirs - ours) & said, bool(theirs & said) and not (ours - theirs) & said]
    return {(True, False): "ours", (False, True): "Jericho's"}.get((sides[0], sides[1]), "neither")


def our_values(now: Observation) -> dict[str, set[str]]:
    return {
        "inventory": {item.name for item in now.inventory or ()},
        "score": {str(now.score)},
        "place": {now.vehicle.name if now.vehicle else now.location_name},
    }


def differences(path: Path) -> tuple[int, Counter[tuple[str, str]]]:
    """Return the number of steps, and (kind, confirmed side) → number of steps with a difference."""
    env = jericho.FrotzEnv(str(path))
    commands, seed, found = env.get_walkthrough(), env.bindings["seed"] or 1, Counter()
    steps = 0
    env.seed(seed)
    env.reset()
    with JerichoInterface(path, seed=seed) as game:
        game.reset()
        for command in commands:
            steps += 1
            _, _, _, info = env.step(command)
            step = game.act(command)
            now = step.after
            there, held = env.get_player_location(), env.get_inventory()
            holder = (now.vehicle or now.location) if there is not None else now.location
            same = {
                "inventory": sorted(item.num for item in now.inventory or ()) == sorted(each.num for each in held),
                "score": now.score == info["score"],
                "place": (holder and holder.num) == (there and there.num),
            }
            theirs = {
                "inventory": {each.name.strip() for each in held},
                "score": {str(info["score"])},
                "place": {there.name.strip() if there else ""},
            }
            ours = our_values(now)
            for kind in (kind for kind, is_same in same.items() if not is_same):
                state = env.get_state()
                printed = env.step(_ASKED[kind])[0]
                env.set_state(state)
                found[kind, confirmed_by(kind, printed, ours[kind], theirs[kind])] += 1
            if step.finished:
                break
    env.close()
    return steps, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    rows = []
    for path in stories(given.paths):
        steps, found = differences(path)
        told = [f"{kind}: {count} steps, the text confirms {side}" for (kind, side), count in sorted(found.items())]
        rows.append([path.stem, str(steps), "; ".join(told) or "none"])
        print(*rows[-1], sep="  ")
    if given.publish:
        table = Table(columns=["story", "steps", "differences from Jericho"], rows=rows)
        publish("jericho_agreement", "uv run python -m benchmarks.jericho_agreement FOLDER", {"stories": table})


if __name__ == "__main__":
    main()
