"""What starting costs, beside a bare interpreter in the same run.

    uv run python -m benchmarks.startup [--rounds 7]

Medians over rounds in which the commands take turns. "First turn" is from the start of the process to the first turn's
text in a pipe, in a fresh working directory.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "import zorkgpt": ["-c", "import zorkgpt"],
    "from zorkgpt import SimpleMemoryManager": ["-c", "from zorkgpt import SimpleMemoryManager"],
    "main.py --help": ["main.py", "--help"],
}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    taken: dict[str, list[float]] = {name: [] for name in [*COMMANDS, "first turn"]}
    for _ in range(rounds):
        for name, arguments in COMMANDS.items():
            taken[name].append(seconds(arguments))
        taken["first turn"].append(seconds_to_first_turn())
    bare = statistics.median(taken["bare interpreter"])
    print("| what | median ms | over the bare interpreter, ms | times |\n| --- | ---: | ---: | ---: |")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"| {name} | {median * 1000:.0f} | {(median - bare) * 1000:.0f} | {median / bare:.1f} |")


if __name__ == "__main__":
    main()
