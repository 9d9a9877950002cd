"""What a release needs: one version, the Python versions that are tested, and known licenses."""

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


def test_the_changelog_begins_with_the_version():
    [newest, *_] = re.findall(r"^## (\S+) - (?:unreleased|\d{4}-\d\d-\d\d)$", CHANGELOG, re.M)
    assert newest == PROJECT["version"] == metadata.version("zorkgpt")


def test_every_named_python_version_is_tested_on_linux_and_macos():
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each]
    matrix = workflow("ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix == {"os": ["ubuntu-latest", "macos-latest"], "python": named}
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_workflows_run_the_checks_of_a_commit():
    steps = {step.get("run") for step in workflow("ci.yml")["jobs"]["checks"]["steps"]}
    checks = re.findall(r"^uv run .*(?:check \.|mypy|lint-imports)$", CHECKS, re.M)
    assert len(checks) == 4
    assert set(checks) <= steps
    assert workflow("release.yml")["jobs"]["publish"]["needs"] == "ci"


def test_the_page_of_licenses_lists_every_direct_dependency():
    """The others change with every release of somebody else; for them see the next test."""
    asked = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    wanted = {re.match(r"[\w-]+", each)[0] for each in asked}
    listed = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", PAGE, re.M))
    assert wanted - {"zorkgpt"} <= listed.keys()
    installed = {each.metadata["Name"].lower().replace("_", "-") for each in metadata.distributions()}
    wrong = {name: license_of(name) for name in wanted & installed & listed.keys() if license_of(name) != listed[name]}
    assert wrong == {}, "run: uv run --all-groups python -m scripts.list_licenses"


def test_every_license_that_is_not_permissive_is_explained():
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


def test_downloads_from_the_hub_name_one_commit():
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
