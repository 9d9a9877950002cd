"""Write docs/licenses.md with the licenses of all dependencies. With `--check`, only compare it.

Run it with all extras installed, as after `uv sync --all-groups`. Packages that are not installed keep their lines.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).resolve().parents[1] / "docs" / "licenses.md"
MARK = "<!-- The tables below are written by scripts/list_licenses.py -->\n"
COPYLEFT = re.compile(r"\b(?:A|L)?GPL|GNU|MPL|EUPL|CDDL|EPL", re.IGNORECASE)
_LINE = re.compile(r"^\| `([^`]+)` \|.*\|$", re.MULTILINE)
_COMMON = {
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD License": "BSD",
    "3-Clause BSD License": "BSD-3-Clause",
    "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "ISC License (ISCL)": "ISC",
}


def license_of(name: str) -> str:
    """Return the license of a package, from its license expression, classifiers or free text."""
    package = metadata.metadata(name)
    classifiers = [each.split(" :: ")[-1] for each in package.get_all("Classifier") or () if each.startswith("License")]
    named = [package["License-Expression"]] if package["License-Expression"] else classifiers
    named = named or [(package["License"] or "").strip().partition("\n")[0]]
    return ", ".join(_COMMON.get(each, each) for each in named if each and each != "OSI Approved") or "not named"


def installed_with(extra: str) -> tuple[list[str], list[str]]:
    """Return the direct dependencies of an extra, and all its dependencies, sorted. "" means no extra."""
    direct = {name for name, _ in requirements("zorkgpt", frozenset({extra}))} if extra else set()
    direct |= {name for name, _ in requirements("zorkgpt", frozenset())}
    found: dict[str, frozenset[str]] = {}
    waiting = list(requirements("zorkgpt", frozenset({extra})))
    while waiting:
        name, extras = waiting.pop()
        if name in found and extras <= found[name]:
            continue
        found[name] = found.get(name, frozenset()) | extras
        waiting += requirements(name, found[name])
    return sorted(direct - {"zorkgpt"}), sorted(set(found) - {"zorkgpt"})


def requirements(name: str, extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    """Return the dependencies of a package with these extras, each with its own extras. Empty if not installed."""
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    asked = [Requirement(line) for line in lines]
    # One extra needs a newer Python version than the others.
    python = {"python_version": "3.13"} if name == "zorkgpt" else {}
    here = [
        each
        for each in asked
        if not each.marker or any(each.marker.evaluate({"extra": extra} | python) for extra in extras | {""})
    ]
    return [(canonicalize_name(each.name), frozenset(each.extras)) for each in here]


def is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def tables(before: str) -> str:
    """Return the Markdown of both tables. Packages that are not installed keep their lines from `before`."""
    extras = sorted(metadata.metadata("zorkgpt").get_all("Provides-Extra") or ())
    asked: dict[str, list[str]] = {}
    everything: set[str] = set()
    for extra in ("", *extras):
        direct, found = installed_with(extra)
        everything.update(found)
        for name in direct:
            if extra == "" or name not in installed_with("")[0]:
                asked.setdefault(name, []).append(f"`{extra}`" if extra else "always")
    known = {match[1]: match[0] for match in _LINE.finditer(before)}
    lines = ["\n## Direct dependencies\n", "| package | license | extras |", "| --- | --- | --- |"]
    lines += [
        f"| `{name}` | {license_of(name)} | {', '.join(by)} |" if is_installed(name) else known.get(name, "")
        for name, by in sorted(asked.items())
    ]
    by_license: dict[str, list[str]] = {}
    for name in sorted(everything - asked.keys()):
        if is_installed(name):
            by_license.setdefault(license_of(name), []).append(f"`{name}`")
    lines += ["\n## Indirect dependencies\n", "| license | packages |", "| --- | --- |"]
    lines += [f"| {name} | {', '.join(packages)} |" for name, packages in sorted(by_license.items())]
    return "\n".join(filter(None, lines)) + "\n"


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    begin = page.index(MARK) + len(MARK)
    written = page[:begin] + tables(page[begin:])
    if "--check" in sys.argv:
        return int(written != page)
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
