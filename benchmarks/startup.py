"""Measure the start-up time, compared with a bare interpreter in the same run.

    uv run python -m benchmarks.startup [--rounds 7]

The figures are medians over rounds. Each round runs all commands. "First turn" is the time from the start of the
process to the first turn in a pipe, in a new working directory. Its CPU time is that of the whole episode. The last
line compares the CPU time of importing the memory with that of importing pydantic, its largest dependency, both without
the time of the bare interpreter.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "import zorkgpt": ["-c", "import zorkgpt"],
    "from pydantic import BaseModel": ["-c", "import pydantic; from pydantic import BaseModel"],
    "import zorkgpt.memory.manager": ["-c", "import zorkgpt.memory.manager"],
    "main.py --help": ["main.py", "--help"],
}


def processor_seconds() -> float:
    """Return the CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(arguments: list[str]) -> float:
    started = perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - started


def seconds_to_first_turn() -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-u", "main.py", "--workdir", folder, "--episodes", "1", "--max-turns", "5"]
        started = perf_counter()
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line.startswith("[1.1]"):
                    elapsed = perf_counter() - started
                    process.stdout.read()
                    return elapsed
    raise RuntimeError("no turn was played")


def measured(rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the median wall time and CPU time of each command, in seconds."""
    measures = {name: partial(seconds, arguments) for name, arguments in COMMANDS.items()}
    measures["first turn"] = seconds_to_first_turn
    taken: dict[str, list[float]] = {name: [] for name in measures}
    computed: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            before = processor_seconds()
            taken[name].append(measure())
            computed[name].append(processor_seconds() - before)
    clock, processor = (
        {name: statistics.median(times) for name, times in found.items()} for found in (taken, computed)
    )
    return clock, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    clock, processor = measured(parser.parse_args().rounds)
    bare = clock["bare interpreter"]
    print("| what | median ms | over the bare interpreter, ms | times | processor, ms |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, median in clock.items():
        over = f"{(median - bare) * 1000:.0f} | {median / bare:.1f} | {processor[name] * 1000:.0f}"
        print(f"| {name} | {median * 1000:.0f} | {over} |")
    memory, pydantic = (
        processor[name] - processor["bare interpreter"]
        for name in ("import zorkgpt.memory.manager", "from pydantic import BaseModel")
    )
    print(f"\nThe memory's import takes {memory / pydantic:.2f} times pydantic's processor time.")


if __name__ == "__main__":
    main()
