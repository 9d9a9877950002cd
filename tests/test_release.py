"""Tests of release requirements: versions, Python versions and licenses."""

import ast
import re
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import yaml

from scripts.list_licenses import COPYLEFT, license_of
from zorkgpt.embeddings.weights import REVISION

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG, CHECKS = ((ROOT / name).read_text("utf-8") for name in ("CHANGELOG.md", "scripts/check"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = (ROOT / "docs" / "licenses.md").read_text("utf-8")


def workflow(name: str) -> dict:
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text("utf-8"))


def test_changelog_starts_with_the_version():
    [newest, *_] = re.findall(r"^## (\S+) - (?:unreleased|\d{4}-\d\d-\d\d)$", CHANGELOG, re.M)
    assert newest == PROJECT["version"] == metadata.version("zorkgpt")


def test_declared_python_versions_are_tested():
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each]
    matrix = workflow("ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix == {"os": ["ubuntu-latest", "macos-latest"], "python": named}
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_workflows_run_the_checks():
    steps = {step.get("run") for step in workflow("ci.yml")["jobs"]["checks"]["steps"]}
    checks = re.findall(r"^uv run .*(?:check \.|mypy|lint-imports)$", CHECKS, re.M)
    assert len(checks) == 4
    assert set(checks) <= steps
    assert workflow("release.yml")["jobs"]["publish"]["needs"] == "ci"


def test_licenses_of_direct_dependencies_are_listed():
    """Indirect dependencies change too often. See the next test for them."""
    asked = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    wanted = {re.match(r"[\w-]+", each)[0] for each in asked}
    listed = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", PAGE, re.M))
    assert wanted - {"zorkgpt"} <= listed.keys()
    installed = {each.metadata["Name"].lower().replace("_", "-") for each in metadata.distributions()}
    wrong = {name: license_of(name) for name in wanted & installed & listed.keys() if license_of(name) != listed[name]}
    assert wrong == {}, "run: uv run --all-groups python -m scripts.list_licenses"


def test_non_permissive_licenses_are_explained():
    prose = PAGE.partition("<!--")[0].lower()
    listed = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", PAGE, re.M)
    listed += [
        (name, named)
        for named, names in re.findall(r"^\| ([^|`]+) \| (`.+`) \|$", PAGE, re.M)
        for name in re.findall(r"`([^`]+)`", names)
    ]
    copyleft = [name for name, named in listed if COPYLEFT.search(named)]
    assert {"jericho", "certifi"} <= set(copyleft)
    assert [name for name in copyleft if name.removesuffix("-binary") not in prose] == []


def test_hub_downloads_name_a_commit():
    assert re.fullmatch(r"[0-9a-f]{40}", REVISION)
    downloads = ("hf_hub_download", "snapshot_download", "SentenceTransformer")
    calls = [
        node
        for path in (ROOT / "zorkgpt").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in downloads
    ]
    assert len(calls) == 2
    assert all("revision" in [each.arg for each in call.keywords] for call in calls)
