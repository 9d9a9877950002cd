"""Measure how many faults the tests of the memory detect, using mutants of `zorkgpt/memory` made by Cosmic Ray.

Each mutant changes one operator, number, condition, loop or handler. The tests that run the changed lines are run in a
copy of the checkout: the fast ones of each file first, up to a minute in total. The mutant is killed if one of them
fails. As in mutmut, only function bodies are changed: no constants, decorators or type annotations.

    uv run --group mutation python -m benchmarks.mutation --sample 300 --seed 1
"""

import argparse
import ast
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass, replace
from io import StringIO
from itertools import accumulate, chain, islice
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from benchmarks.publish import Table, publish

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "zorkgpt/memory"
TESTS = ("tests/memory", "tests/memory_dedup", "tests/memory_synthesis", "tests/test_entailment.py")
TESTS_S = 60
"""The total time of the tests of a mutant, as measured with coverage. Tests beyond it are left out."""
MAX_S = 400
"""The time limit for a mutant. A mutant that exceeds it is unfinished and counts as not killed."""
TEST_S = 120
FIXTURES_S = 0.02
"""The time that a test takes in addition to its call."""
FIRST = 12
"""The number of tests that run before the others are loaded. They kill most mutants."""
LEFT_OUT = ("RemoveDecorator", "VariableInserter", "VariableReplacer")
"""Operators that need arguments or make mutants that can't be imported."""
COMMAND = "uv run --group mutation python -m benchmarks.mutation --sample {} --seed {}"
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Mutant:
    """One change of one file, and its outcome."""

    path: str
    operator: str
    occurrence: int
    line: int
    column: int
    last_line: int
    outcome: str = ""
    """killed, survived, unfinished, or untested where no test runs the line in its own thread."""
    by: str = ""
    """The test that killed it; "" if none could be loaded."""


def mutants(path: str) -> list[list[Mutant]]:
    """Return the mutants of a file, grouped by operator and position."""
    from cosmic_ray.ast import get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    source = (ROOT / path).read_text(encoding="utf-8")
    inside, annotations = spans(source)
    nodes = list(walk(get_ast(source)))
    positions: dict[tuple[int, int, str], list[Mutant]] = defaultdict(list)
    for name in sorted(operator_names()):
        kind, _, variant = name.removeprefix("core/").partition("_")
        # Whether equal numbers or texts are identical depends on the interpreter.
        if kind in LEFT_OUT or variant.endswith(("_Is", "_IsNot")) != variant.startswith("Is"):
            continue
        operator = get_operator(name)()
        occurrence = 0
        for node in nodes:
            for start, stop in operator.mutation_positions(node):
                if is_within(start, inside) and not is_within(start, annotations):
                    positions[*start, kind].append(Mutant(path, name, occurrence, *start, stop[0]))
                occurrence += 1
    return list(positions.values())


def mutated(mutant: Mutant, source: str) -> str:
    """Return the source of the mutant's file with the change."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    return mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence) or source


def is_python(mutant: Mutant) -> bool:
    """Return whether the mutant can be compiled and differs from the original program."""
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


Position = tuple[int, int]
"""A line number and a column number."""
Span = tuple[Position, Position]


def spans(source: str) -> tuple[list[Span], list[Span]]:
    """Return the spans of the function bodies and of the type annotations."""
    nodes = list(ast.walk(ast.parse(source)))
    functions = [node.body for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    notes = [note for node in nodes for name in ("annotation", "returns") if (note := getattr(node, name, None))]
    return (
        [_span(body[0], body[-1]) for body in functions],
        [_span(note, note) for note in notes if isinstance(note, ast.expr)],
    )


def _span(first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> Span:
    return (first.lineno, first.col_offset), (last.end_lineno, last.end_col_offset)


def is_within(position: Position, some: list[Span]) -> bool:
    return any(first <= position < last for first, last in some)


@dataclass(frozen=True)
class Coverage:
    """Which tests run which lines, and how long they take."""

    lines: dict[str, dict[int, set[str]]]
    """By path and number of the line."""
    size: Counter[str]
    """The number of lines that a test runs."""
    seconds: dict[str, float]

    @classmethod
    def read(cls, file: Path) -> "Coverage":
        import coverage

        data = coverage.CoverageData(str(file))
        data.read()
        lines: dict[str, dict[int, set[str]]] = {}
        for name in data.measured_files():
            path = Path(name).relative_to(ROOT).as_posix() if Path(name).is_absolute() else name
            lines[path] = {
                line: {context.rpartition("|")[0] for context in contexts} - {""}
                for line, contexts in data.contexts_by_lineno(name).items()
            }
        size = Counter(chain.from_iterable(chain.from_iterable(by_line.values()) for by_line in lines.values()))
        took = re.findall(r"^([\d.]+)s call +(.+)$", log_of(file).read_text(encoding="utf-8"), re.MULTILINE)
        return cls(lines, size, {test: float(duration) for duration, test in took})

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the statement of a mutant.

        The tests of each test file are ranked by the share of their lines that is in the mutant's file. Fast tests and
        tests of a high rank come first.
        """
        lines = self.lines.get(mutant.path, {})
        inside = Counter(chain.from_iterable(lines.values()))
        tests = set().union(*(lines.get(line, ()) for line in statement(mutant)))
        seconds = {test: FIXTURES_S + self.seconds.get(test, 0) for test in tests}
        rank: Counter[str] = Counter()
        cost = {}
        for test in sorted(tests, key=lambda test: (-inside[test] / self.size[test], test)):
            name = test.partition("::")[0]
            rank[name] += 1
            cost[test] = rank[name] * seconds[test]
        in_order = sorted(cost, key=lambda test: (cost[test], test))
        sums = accumulate(seconds[test] for test in in_order)
        return [test for test, sum_s in zip(in_order, sums, strict=True) if sum_s <= TESTS_S] or in_order[:1]


def statement(mutant: Mutant) -> range:
    """Return the lines of the smallest statement around a mutant, or only its header if it has a body."""
    around = [
        (node.lineno, (node.body[0].lineno - 1 if isinstance(getattr(node, "body", None), list) else node.end_lineno))
        for node in ast.walk(ast.parse((ROOT / mutant.path).read_text(encoding="utf-8")))
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= node.end_lineno
    ]
    first, last = max((each for each in around if each[1] >= mutant.line), default=(mutant.line, mutant.line))
    return range(first, max(first, last) + 1)


def tested(mutant: Mutant, tests: list[str], copy: Path) -> Mutant:
    """Test the mutant in this copy of the checkout, and return it with its outcome."""
    if not tests:
        return replace(mutant, outcome="untested")
    path = copy / mutant.path
    path.write_text(mutated(mutant, path.read_text(encoding="utf-8")), encoding="utf-8")
    try:
        code, output = run(copy, tests[:FIRST])
        if code == 0 and len(tests) > FIRST:
            code, output = run(copy, tests[FIRST:])
    finally:
        # copy2 restores the modification time, so the compiled file counts as up to date again.
        shutil.copy2(ROOT / mutant.path, path)
    if code is None:
        return replace(mutant, outcome="unfinished")
    if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return replace(mutant, outcome="survived")
    lines = (line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    failed = [line.partition(" ")[2].partition(" - ")[0] for line in lines]
    return replace(mutant, outcome="killed", by=next(iter(failed), ""))


def run(copy: Path, tests: list[str]) -> tuple[int | None, str]:
    """Run tests in a fork of this process until one fails. The exit code is None if they take too long."""
    output = copy.with_name("output")
    process = _FORK.Process(target=run_in_fork, args=(tests, output))
    process.start()
    process.join(MAX_S)
    code = process.exitcode
    # This also ends every process that the tests have started.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    return code, output.read_text(encoding="utf-8", errors="replace")


def run_in_fork(tests: list[str], output: Path) -> None:
    """Run tests in this order, and exit."""

    class InOrder:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            place = {test: number for number, test in enumerate(tests)}
            items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])

    os.setsid()
    with output.open("w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    # The compiled file of a mutant could be mistaken for that of the next one.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    options = ("-n0", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", f"--timeout={TEST_S}")
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    sys.exit(pytest.main([*options, "--hypothesis-profile=mutants", *files], [InOrder()]))


def measure_coverage(file: Path) -> None:
    """Run the tests once, and record which lines each of them runs and how long it takes."""
    # Coverage deletes every file whose name begins with the name of the data file and a dot.
    config = file.with_name(f"settings-of-{file.name}")
    config.write_text(f"[run]\nsource = {PACKAGE}\ndata_file = {file}\nrelative_files = True\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", *TESTS, "--durations=0"]
    with log_of(file).open("w") as log:
        options = ["--cov", f"--cov-config={config}", "--cov-context=test", "--cov-report="]
        subprocess.run([*command, *options], cwd=ROOT, check=True, stdout=log)


def log_of(coverage_file: Path) -> Path:
    return coverage_file.with_name(f"log-of-{coverage_file.name}")


def prepare(copy: Path) -> None:
    """Copy the tracked files, change to the copy, and load what the tests share: packages and a PostgreSQL server."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = list(filter(None, tracked.decode().split("\0")))
    for name in names:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    os.environ |= {"PYTHONPATH": str(copy), "PYTEST_XDIST_TESTRUNUID": str(os.getpid())}
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("mutants", deadline=None, phases=phases, derandomize=True, max_examples=25)
    from tests.fixtures.stores import postgres_server

    postgres_server(str(os.getpid()))
    with redirect_stdout(StringIO()) as printed:
        code = pytest.main(["-q", "-n0", "--collect-only", *TESTS])
    if code != pytest.ExitCode.OK:
        raise SystemExit(printed.getvalue())
    # Each fork loads the project's own modules again, because one of them is mutated.
    own = {name.partition("/")[0].removesuffix(".py") for name in names}
    for module in [name for name in sys.modules if name.partition(".")[0] in own]:
        del sys.modules[module]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--coverage", type=Path, help="coverage data with contexts; it is measured if it is missing")
    parser.add_argument(
        "--output", type=Path, help="a JSON line for each mutant; those that it has are not tested again"
    )
    given = parser.parse_args()
    given.coverage, given.output = (path and path.absolute() for path in (given.coverage, given.output))
    with tempfile.TemporaryDirectory() as folder:
        coverage_file = given.coverage or Path(folder) / "coverage"
        if not coverage_file.exists():
            measure_coverage(coverage_file)
        measured = Coverage.read(coverage_file)
        chance = random.Random(given.seed)
        files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / PACKAGE).rglob("*.py"))
        positions = [position for path in files for position in mutants(path)]
        shuffled = (chance.choice(position) for position in chance.sample(positions, len(positions)))
        sample = list(islice(filter(is_python, shuffled), given.sample))
        print(f"{len(positions):,} positions in {len(files)} files", flush=True)
        output = given.output or Path(folder) / "mutants.jsonl"
        known = [Mutant(**json.loads(line)) for line in output.read_text().splitlines()] if output.exists() else []
        done = {replace(mutant, outcome="", by=""): mutant for mutant in known}
        copy = Path(folder) / "copy"
        prepare(copy)
        for mutant in sample:
            if mutant not in done:
                done[mutant] = tested(mutant, measured.tests(mutant), copy)
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(done[mutant])) + "\n")
        results = [done[mutant] for mutant in sample]
        # A test that also fails without a mutant kills nothing.
        killing = sorted({mutant.by for mutant in results if mutant.by})
        all_pass = run(copy, killing)[0] == 0
        failing = [] if all_pass else [test for test in killing if run(copy, [test])[0] != 0]
    report([replace(each, outcome="invalid") if each.by in failing else each for each in results], given.seed)


def report(results: list[Mutant], seed: int) -> None:
    """Print each mutant that was not killed, and publish how many were."""
    for mutant in results:
        if mutant.outcome != "killed":
            print(f"{mutant.path}:{mutant.line}:{mutant.column} {mutant.operator} {mutant.outcome} {mutant.by}")
    counts = Counter(mutant.outcome for mutant in results)
    rows = [[outcome, str(number), f"{number / len(results):.0%}"] for outcome, number in counts.most_common()]
    table = Table(columns=["mutants", "number", "share"], rows=rows)
    publish("mutation", COMMAND.format(len(results), seed), {"outcomes": table})


if __name__ == "__main__":
    main()
