"""Measure how many faults the memory's own tests notice: mutants of `zorkgpt/memory`, made by Cosmic Ray's operators.

Each mutant changes one operator, number, condition, loop or handler. It is tested by the tests that run its lines, in a
copy of the checkout. It is killed if one of them fails.

    uv run --group mutation python -m benchmarks.mutation --sample 300 --seed 1 --jobs 2
"""

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from queue import SimpleQueue

from benchmarks.publish import Table, publish

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "zorkgpt/memory"
TESTS = ("tests/memory", "tests/memory_dedup", "tests/memory_synthesis", "tests/test_entailment.py")
MOST_S = 200
"""The longest time for a mutant. Then it is unfinished, and counts as not killed."""
TEST_S = 40
LEFT_OUT = ("RemoveDecorator", "VariableInserter", "VariableReplacer")
"""Operators that need arguments, or make mutants that can't be imported."""
COMMAND = "uv run --group mutation python -m benchmarks.mutation --sample {} --seed 1"
_START = """
import sys, pytest
from hypothesis import Phase, settings
phases = [Phase.explicit, Phase.generate]
settings.register_profile("mutants", deadline=None, phases=phases, derandomize=True, max_examples=25)
sys.exit(pytest.main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Mutant:
    """One change of one file, and what became of it."""

    path: str
    operator: str
    occurrence: int
    line: int
    column: int
    last_line: int
    outcome: str = ""
    """killed, survived, unfinished, or untested where no test runs the line in its own thread."""
    by: str = ""
    """The test that killed it."""


def mutants(path: str) -> list[list[Mutant]]:
    """Return the mutants of a file, those of the same operator at the same position together."""
    from cosmic_ray.ast import get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    source = (ROOT / path).read_text(encoding="utf-8")
    skipped = annotations(source)
    nodes = list(walk(get_ast(source)))
    positions: dict[tuple[int, int, str], list[Mutant]] = defaultdict(list)
    for name in sorted(operator_names()):
        kind, _, variant = name.removeprefix("core/").partition("_")
        # Identity of numbers and texts is the interpreter's affair.
        if kind in LEFT_OUT or variant.endswith(("_Is", "_IsNot")) != variant.startswith("Is"):
            continue
        operator = get_operator(name)()
        occurrence = 0
        for node in nodes:
            for start, stop in operator.mutation_positions(node):
                if not any(first <= start < last for first, last in skipped):
                    positions[*start, kind].append(Mutant(path, name, occurrence, *start, stop[0]))
                occurrence += 1
    return list(positions.values())


def mutated(mutant: Mutant, source: str) -> str:
    """Return the source of the mutant's file with the change."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    return mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence) or source


def is_python(mutant: Mutant) -> bool:
    """Return whether the mutant can be compiled, and is another program."""
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    try:
        return ast.dump(ast.parse(mutated(mutant, source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def walk(node):
    """Yield the nodes in the order in which Cosmic Ray counts them."""
    yield node
    for child in getattr(node, "children", ()):
        yield from walk(child)


def annotations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where the types are, which nothing reads at run time."""
    notes = []
    for node in ast.walk(ast.parse(source)):
        notes += [getattr(node, name, None) for name in ("annotation", "returns")]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            notes += node.body
    spans = (note for note in notes if isinstance(note, ast.AST))
    return [((note.lineno, note.col_offset), (note.end_lineno, note.end_col_offset)) for note in spans]


def measured_lines(file: Path) -> dict[str, dict[int, list[str]]]:
    """Return the tests that run each line of each file, in the order in which they are tried.

    First comes the test of each file of tests that runs the most of this file and the least of others, then the next.
    """
    import coverage

    data = coverage.CoverageData(str(file))
    data.read()
    tests: dict[str, dict[int, set[str]]] = {}
    size: dict[str, int] = defaultdict(int)
    for name in data.measured_files():
        path = Path(name).relative_to(ROOT).as_posix() if Path(name).is_absolute() else name
        tests[path] = {
            line: {context.rpartition("|")[0] for context in contexts} - {""}
            for line, contexts in data.contexts_by_lineno(name).items()
        }
        for test in chain.from_iterable(tests[path].values()):
            size[test] += 1
    return {path: ordered(lines, size) for path, lines in tests.items()}


def ordered(lines: dict[int, set[str]], size: dict[str, int]) -> dict[int, list[str]]:
    """Return the tests of each line of a file in the order in which they are tried."""
    inside = Counter(chain.from_iterable(lines.values()))
    in_order: dict[int, list[str]] = {}
    for line, tests in lines.items():
        taken: Counter[str] = Counter()
        ranks = {}
        for test in sorted(tests, key=lambda test: (-inside[test] / size[test], test)):
            name = test.partition("::")[0]
            taken[name] += 1
            ranks[test] = taken[name]
        in_order[line] = sorted(ranks, key=lambda test: (ranks[test], -inside[test] / size[test], test))
    return in_order


def near(mutant: Mutant, lines: dict[int, list[str]], path: Path) -> list[str]:
    """Return the tests of a mutant: of its statement, or of the whole file where it is run by an import."""
    tests = {test: None for line in statement(mutant, path) for test in lines.get(line, ())}
    if not tests and is_top_level(mutant, path):
        tests = {test: None for line in sorted(lines) for test in lines[line]}
    return list(tests)


def statement(mutant: Mutant, path: Path) -> range:
    """Return the lines of the smallest statement around a mutant, or of its head."""
    around = [
        (node.lineno, (node.body[0].lineno - 1 if isinstance(getattr(node, "body", None), list) else node.end_lineno))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= node.end_lineno
    ]
    first, last = max((each for each in around if each[1] >= mutant.line), default=(mutant.line, mutant.line))
    return range(first, max(first, last) + 1)


def is_top_level(mutant: Mutant, path: Path) -> bool:
    """Return whether a line is outside of every function."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return not any(
        isinstance(node, functions) and node.body[0].lineno <= mutant.line <= node.end_lineno for node in ast.walk(tree)
    )


def tested(mutant: Mutant, tests: list[str], copy: Path) -> Mutant:
    """Return the mutant with what became of it, tested in this copy of the checkout."""
    if not tests:
        return replace(mutant, outcome="untested")
    path = copy / mutant.path
    source = path.read_bytes()
    path.write_text(mutated(mutant, source.decode()), encoding="utf-8")
    try:
        code, output = run(copy, tests)
    finally:
        path.write_bytes(source)
    if code is None:
        return replace(mutant, outcome="unfinished")
    if code == 0:
        return replace(mutant, outcome="survived")
    lines = (line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    failed = [line.partition(" ")[2].partition(" - ")[0] for line in lines]
    return replace(mutant, outcome="killed", by=next(iter(failed), output[-300:]))


def run(copy: Path, tests: list[str]) -> tuple[int | None, str]:
    """Run tests in a copy up to the first that fails. The code is None if they take too long."""
    options = ("-n0", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", f"--timeout={TEST_S}")
    command = [sys.executable, "-c", _START, *options, "--hypothesis-profile=mutants", *tests]
    process = subprocess.Popen(
        command,
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=MOST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return process.returncode, output


def measure_coverage(file: Path) -> None:
    """Run the tests once and note which of them runs which line."""
    # Coverage erases every file whose name begins with that of the data and a dot.
    config = file.with_name(f"settings-of-{file.name}")
    config.write_text(f"[run]\nsource = {PACKAGE}\ndata_file = {file}\nrelative_files = True\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", *TESTS, "--cov", f"--cov-config={config}"]
    subprocess.run([*command, "--cov-context=test", "--cov-report="], cwd=ROOT, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--coverage", type=Path, help="coverage data with contexts; it is measured if it is missing")
    parser.add_argument(
        "--output", type=Path, help="a JSON line for each mutant; those that it has are not tested again"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        coverage_file = given.coverage or Path(folder) / "coverage"
        if not coverage_file.exists():
            measure_coverage(coverage_file)
        lines = measured_lines(coverage_file)
        chance = random.Random(given.seed)
        files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / PACKAGE).rglob("*.py"))
        positions = [position for path in files for position in mutants(path)]
        shuffled = (chance.choice(position) for position in chance.sample(positions, len(positions)))
        sample = list(islice(filter(is_python, shuffled), given.sample))
        print(f"{len(positions):,} positions in {len(files)} files", flush=True)
        output = given.output or Path(folder) / "mutants.jsonl"
        known = [Mutant(**json.loads(line)) for line in output.read_text().splitlines()] if output.exists() else []
        copies: SimpleQueue[Path] = SimpleQueue()
        for job in range(given.jobs):
            copy = Path(folder) / str(job)
            copy.mkdir()
            tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
            for name in filter(None, tracked.decode().split("\0")):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
            copies.put(copy)

        def test(mutant: Mutant) -> Mutant:
            copy = copies.get()
            try:
                done = tested(mutant, near(mutant, lines.get(mutant.path, {}), ROOT / mutant.path), copy)
            finally:
                copies.put(copy)
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(done)) + "\n")
            return done

        done = {replace(mutant, outcome="", by=""): mutant for mutant in known}
        with ThreadPoolExecutor(given.jobs) as pool:
            fresh = list(pool.map(test, (mutant for mutant in sample if mutant not in done)))
        results = [done[mutant] for mutant in sample if mutant in done] + fresh
        report(results, copies.get())


def report(results: list[Mutant], copy: Path) -> None:
    """Print how many were killed, and each that was not."""
    killers = sorted({mutant.by for mutant in results if mutant.by.startswith("tests/")})
    # A test that fails without a mutant, run alone, kills nothing.
    failing = [test for test in killers if run(copy, [test])[0] != 0]
    killed = [mutant for mutant in results if mutant.outcome == "killed" and mutant.by not in failing]
    for mutant in results:
        if mutant not in killed:
            print(f"{mutant.path}:{mutant.line}:{mutant.column} {mutant.operator} {mutant.outcome} {mutant.by}")
    counts = Counter(
        "killed" if mutant in killed else mutant.outcome.replace("killed", "invalid") for mutant in results
    )
    rows = [[outcome, str(number), f"{number / len(results):.0%}"] for outcome, number in counts.most_common()]
    table = Table(columns=["mutants", "number", "share"], rows=rows)
    publish("mutation", COMMAND.format(len(results)), {"outcomes": table})


if __name__ == "__main__":
    main()
