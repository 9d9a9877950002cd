"""Tests of the architecture page."""

import ast
import re
from collections import Counter
from pathlib import Path

import networkx
import pytest

from benchmarks.frames import measured

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = ("zorkgpt", "session", "managers", "orchestration", "game_interface")
GLOSSARY = re.findall(r"^\| ([a-z ]+) \| .+ \| `([\w/]+\.py)` `(\w+)` \|$", PAGE, re.MULTILINE)
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def defined_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return functions | {name for name, _ in defined_types(path)}


def test_glossary_is_sorted_without_duplicates():
    words = [word for word, _, _ in GLOSSARY]
    assert len(words) >= 30
    assert words == sorted(set(words))


@pytest.mark.parametrize(("word", "module", "name"), GLOSSARY)
def test_every_glossary_term_has_a_definition(word, module, name):
    assert name in defined_in(ROOT / module)


def imports_of(path: Path) -> set[str]:
    """Return the modules of the product that a module imports anywhere, also in functions and for type checkers."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} & NAMES.keys() or {node.module}
    return found & NAMES.keys()


NAMES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}


def test_no_module_imports_itself_through_others():
    graph = networkx.DiGraph((name, other) for name, path in NAMES.items() for other in imports_of(path) - {name})
    assert graph.number_of_edges() > 1_000
    assert [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1] == []


TYPE_PARAMETERS = {"TypeVar", "ParamSpec"}


def defined_types(path: Path) -> list[tuple[str, bool]]:
    """Return the public classes and type aliases of a module, with whether they are type parameters.

    A type parameter is local to its function, so several modules may have one with the same name.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [(node.name, None) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [(target.id, node.value) for target in targets if isinstance(target, ast.Name)]
    return [
        (name.lstrip("_"), isinstance(value, ast.Call) and ast.unparse(value.func) in TYPE_PARAMETERS)
        for name, value in found
        if re.fullmatch(r"_*[A-Z]\w*[a-z]\w*", name)
    ]


@pytest.mark.slow
def test_class_names_are_unique():
    types = [each for path in MODULES for each in defined_types(path)]
    names = Counter(name for name, is_parameter in types if not is_parameter)
    assert len(names) > 500
    assert [name for name, times in names.items() if times > 1] == []
    assert names.keys().isdisjoint(name for name, is_parameter in types if is_parameter)


def test_every_module_on_the_page_exists():
    named = set(re.findall(r"`((?:[\w]+/)*\w+\.py)`", PAGE))
    there = {path.relative_to(ROOT).as_posix() for path in [*MODULES, *ROOT.glob("*.py"), *ROOT.glob("tests/**/*.py")]}
    assert len(named) > 30
    assert [
        name for name in sorted(named) if not any(path == name or path.endswith(f"/{name}") for path in there)
    ] == []


@pytest.mark.parametrize("package", [path.parent for path in MODULES if path.name == "__init__.py"], ids=str)
def test_every_module_in_a_package_docstring_exists(package):
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    named = re.findall(r"`([\w/]+\.py)`", docstring)
    assert [name for name in named if not (package / name).exists() and not (ROOT / name).exists()] == []


def test_turn_reaches_the_memory_file_in_eleven_frames(tmp_path):
    frames = measured(tmp_path)
    assert list(frames) == ["new", "seen again", "replaced"]
    assert all(stack[-1].startswith("files.py: ") for stack in frames.values())
    assert max(map(len, frames.values())) <= 11
